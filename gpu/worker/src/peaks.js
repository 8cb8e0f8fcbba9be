/**
 * The output of the network by cells, and the cells with the best scores.
 *
 * @typedef {object} Cells
 * @property {Float32Array} scores of each class in each cell, 0..1: CLASSES for each cell, row by row
 * @property {Float32Array} reach how far the box of a cell reaches left, up, right and down, in pixels
 * @property {number} columns cells in a row
 *
 * @typedef {object} Peak
 * @property {number} cls class index
 * @property {number} cell index
 * @property {number} score 0..1
 */
import { VOCABULARY } from './vocabulary.js';

const CLASSES = VOCABULARY.length;

/**
 * Returns the cells with the best score of a class among their eight neighbors.
 * @param {Cells} cells
 * @param {number} least lowest score of a peak
 * @param {number} most largest number of peaks
 * @returns {Peak[]} best score first; equal scores in the order of their cells
 */
export function peaks({ scores, columns }, least, most) {
  const size = scores.length;
  const rows = size / CLASSES / columns;
  const found = [];
  for (let at = 0; at < size; at++) {
    if (scores[at] < least) continue;
    const cls = at % CLASSES;
    const cell = (at - cls) / CLASSES;
    if (tops(scores, at, cell % columns, Math.floor(cell / columns), columns, rows)) found.push({ cls, cell, score: scores[at] });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, most);
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
      if (scores[at + (dy * columns + dx) * CLASSES] > scores[at]) return false;
    }
  }
  return true;
}
