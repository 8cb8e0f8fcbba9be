/**
 * The output of the network by cells, and the cells with the best scores.
 *
 * @typedef {object} Cells
 * @property {Float32Array} scores 0..1, of all cells for the first class, row by row, then for the next
 * @property {Float32Array} reach how far the box of a cell reaches, in pixels: of all cells to the left,
 *   then up, right and down
 * @property {number} columns cells in a row
 * @property {number} rows
 *
 * @typedef {object} Peak
 * @property {number} cls class index
 * @property {number} cell index
 * @property {number} score 0..1
 */

/**
 * Returns the cells with the best score of a class among their eight neighbors.
 * @param {Cells} cells
 * @param {number} least lowest score of a peak
 * @param {number} most largest number of peaks
 * @returns {Peak[]} best score first; equal scores in the order of their cells
 */
export function peaks({ scores, columns, rows }, least, most) {
  const cells = columns * rows;
  const found = [];
  for (let at = 0; at < scores.length; at++) {
    if (scores[at] < least) continue;
    const cell = at % cells;
    if (tops(scores, at, cell % columns, Math.floor(cell / columns), columns, rows)) {
      found.push({ cls: Math.floor(at / cells), cell, score: scores[at] });
    }
  }
  return found.sort((a, b) => b.score - a.score || a.cell - b.cell).slice(0, most);
}

/**
 * @param {Float32Array} scores
 * @param {number} at index of a score
 * @param {number} x its column
 * @param {number} y its row
 * @param {number} columns
 * @param {number} rows
 * @returns {boolean} whether no neighbor has a higher one
 */
function tops(scores, at, x, y, columns, rows) {
  for (let dy = y > 0 ? -1 : 0; dy <= (y < rows - 1 ? 1 : 0); dy++) {
    for (let dx = x > 0 ? -1 : 0; dx <= (x < columns - 1 ? 1 : 0); dx++) {
      if (scores[at + dy * columns + dx] > scores[at]) return false;
    }
  }
  return true;
}
