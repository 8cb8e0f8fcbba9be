/**
 * Pixels: turns a decoded frame into the input of a model.
 *
 * @typedef {object} Image
 * @property {number} width pixels
 * @property {number} height pixels
 * @property {Uint8Array} data RGB, 3 bytes per pixel, row by row
 */

/** Gray of the part of a crop outside of the frame. */
const OUTSIDE = 114;

/**
 * Place of a frame on the paper, which is the input of a model.
 * @typedef {object} Placement
 * @property {number} x left edge, pixels
 * @property {number} y top edge, pixels
 * @property {number} width
 * @property {number} height
 * @property {{width: number, height: number}} paper
 */

/**
 * Centers the frame on black, as the detector was trained, and keeps its aspect ratio. The paper
 * has a strip of black along the longer sides: without it the detector is less accurate
 * (docs/performance.md). A frame longer than the model allows is shrunk first. A smaller one is
 * not enlarged, because enlarging costs accuracy.
 * @param {Image} image
 * @param {number} longest side allowed, pixels: a multiple of step
 * @param {number} step both sides of the paper are multiples of it, and the strips are at least half of it
 * @param {Float32Array} out longest*longest*3; its beginning is overwritten, color by color
 * @returns {Placement}
 */
export function letterbox(image, longest, step, out) {
  const { width, height, data } = shrink(image, longest);
  const sheet = (side, strips) => Math.min(longest, Math.ceil((side + strips) / step) * step);
  const paper = { width: sheet(width, width < height ? step / 2 : 0), height: sheet(height, width < height ? 0 : step / 2) };
  const x = (paper.width - width) >> 1;
  const y = (paper.height - height) >> 1;
  const area = paper.width * paper.height;
  out.fill(0, 0, area * 3);
  for (let row = 0, from = 0; row < height; row++) {
    for (let to = (y + row) * paper.width + x, end = to + width; to < end; to++, from += 3) {
      out[to] = data[from];
      out[area + to] = data[from + 1];
      out[2 * area + to] = data[from + 2];
    }
  }
  return { x, y, width, height, paper };
}

/**
 * Shrinks by averaging areas, so that no source pixel is dropped.
 * @param {Image} image
 * @param {number} side longest side allowed, pixels
 * @returns {Image} the same image when it already fits
 */
export function shrink(image, side) {
  const longest = Math.max(image.width, image.height);
  if (longest <= side) return image;
  const width = Math.max(1, Math.round((image.width * side) / longest));
  const height = Math.max(1, Math.round((image.height * side) / longest));
  const data = new Uint8Array(width * height * 3);
  for (let y = 0, to = 0; y < height; y++) {
    const top = Math.floor((y * image.height) / height);
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * image.height) / height));
    for (let x = 0; x < width; x++, to += 3) {
      const left = Math.floor((x * image.width) / width);
      const right = Math.max(left + 1, Math.floor(((x + 1) * image.width) / width));
      averageInto(data, to, image, left, top, right, bottom);
    }
  }
  return { width, height, data };
}

/**
 * @param {Uint8Array} data
 * @param {number} to
 * @param {Image} image
 * @param {number} left
 * @param {number} top
 * @param {number} right
 * @param {number} bottom
 */
function averageInto(data, to, image, left, top, right, bottom) {
  let red = 0, green = 0, blue = 0;
  for (let y = top; y < bottom; y++) {
    for (let x = left, from = (y * image.width + left) * 3; x < right; x++, from += 3) {
      red += image.data[from];
      green += image.data[from + 1];
      blue += image.data[from + 2];
    }
  }
  const count = (right - left) * (bottom - top);
  data[to] = Math.round(red / count);
  data[to + 1] = Math.round(green / count);
  data[to + 2] = Math.round(blue / count);
}

/**
 * Cuts a square out of a frame and scales it bilinearly. The part outside of the frame is gray.
 * @param {Image} image
 * @param {{x: number, y: number, side: number}} square in pixels of the frame; may reach beyond it
 * @param {number} side of the result, pixels
 * @param {Float32Array} out side*side*3, overwritten, color by color
 */
export function cropSquare(image, square, side, out) {
  const scale = square.side / side;
  for (let y = 0, to = 0; y < side; y++) {
    const sy = square.y + (y + 0.5) * scale - 0.5;
    for (let x = 0; x < side; x++, to++) {
      const sx = square.x + (x + 0.5) * scale - 0.5;
      sampleInto(out, to, side * side, image, sx, sy, OUTSIDE);
    }
  }
}

/**
 * Reads a pixel between others, bilinearly.
 * @param {Float32Array | Uint8Array} out
 * @param {number} to index of its red
 * @param {number} step from one color to the next
 * @param {Image} image
 * @param {number} x
 * @param {number} y
 * @param {number} outside brightness beyond the picture
 */
export function sampleInto(out, to, step, image, x, y, outside) {
  const { width, height, data } = image;
  if (x < -0.5 || y < -0.5 || x > width - 0.5 || y > height - 0.5) {
    out[to] = out[to + step] = out[to + 2 * step] = outside;
    return;
  }
  const x0 = Math.max(0, Math.floor(x)), y0 = Math.max(0, Math.floor(y));
  const x1 = Math.min(width - 1, x0 + 1), y1 = Math.min(height - 1, y0 + 1);
  const fx = Math.max(0, x - x0), fy = Math.max(0, y - y0);
  const a = (y0 * width + x0) * 3, b = (y0 * width + x1) * 3;
  const c = (y1 * width + x0) * 3, d = (y1 * width + x1) * 3;
  for (let k = 0; k < 3; k++) {
    const upper = data[a + k] * (1 - fx) + data[b + k] * fx;
    const lower = data[c + k] * (1 - fx) + data[d + k] * fx;
    out[to + k * step] = Math.round(upper * (1 - fy) + lower * fy);
  }
}
