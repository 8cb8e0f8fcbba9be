/**
 * Names of the colors inside a box.
 */
import { area } from './boxes.js';
import { COLORS, COLUMNS, QUARTERS } from './vocabulary.js';

/** Share of the box, around its center, that is sampled: corners are background. */
const CORE = 0.7;
/** Largest number of sampled pixels along one side. */
const SAMPLES = 48;
/** The same for a quarter of a body, which is narrower than its box: arms are bent. */
const QUARTER = { width: 0.5, height: 0.9, columns: 24, rows: 16 };
/** Size of the sampled surroundings of a box, as a multiple of its width and height. */
const AROUND = 1.3;
/** Part of the core of a box that counts as background. */
const BACKGROUND = 0.3;
/** Largest share of the box in its sampled surroundings: above it, the box has no surroundings. */
const MOST = 0.95;
/**
 * Hue from which red is orange, in degrees. Red cars, clothes and signs are from 20 degrees
 * below 0 to 5 above; a safety vest that people call orange is around 11.
 */
const ORANGE = 8;

const index = Object.fromEntries(COLORS.map((name, at) => [name, at]));

/**
 * @param {import('./image.js').Image} image
 * @param {number[]} box normalized to the frame
 * @param {boolean} body whether the box shows a person, whose clothes have separate colors
 * @returns {Float32Array} share of each of COLUMNS among the pixels. The shares of the
 *   box sum to 1, and so do those of each quarter of a body. Without a body the quarters are 0.
 */
export function colorShares(image, box, body = false) {
  const shares = new Float32Array(COLUMNS.length);
  count(image, box, { width: CORE, height: CORE, columns: SAMPLES, rows: SAMPLES }, shares.subarray(0, COLORS.length));
  withoutBackground(image, box, shares.subarray(0, COLORS.length));
  if (!body) return shares;
  const [left, top, right, bottom] = box;
  const height = (bottom - top) / QUARTERS;
  for (let q = 0; q < QUARTERS; q++) {
    const part = [left, top + q * height, right, top + (q + 1) * height];
    count(image, part, QUARTER, shares.subarray((q + 1) * COLORS.length, (q + 2) * COLORS.length));
  }
  return shares;
}

/**
 * Subtracts the colors around a box from those of the box: a white car on grass is not green.
 * @param {import('./image.js').Image} image
 * @param {number[]} box normalized to the frame
 * @param {Float32Array} shares of the core of the box, by COLORS, changed in place
 */
function withoutBackground(image, box, shares) {
  const grid = { width: 1, height: 1, columns: SAMPLES, rows: SAMPLES };
  const around = new Float32Array(COLORS.length);
  const [x, y, dx, dy] = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, ((box[2] - box[0]) * AROUND) / 2, ((box[3] - box[1]) * AROUND) / 2];
  const wider = [Math.max(0, x - dx), Math.max(0, y - dy), Math.min(1, x + dx), Math.min(1, y + dy)];
  if (area(box) / area(wider) > MOST) return; // the box fills the frame
  count(image, wider, grid, around, box);
  let rest = 0;
  shares.forEach((share, at) => {
    shares[at] = Math.max(0, share - BACKGROUND * around[at]);
    rest += shares[at];
  });
  shares.forEach((share, at) => { shares[at] = share / rest; });
}

/**
 * @param {import('./image.js').Image} image
 * @param {number[]} box normalized to the frame
 * @param {{width: number, height: number, columns: number, rows: number}} grid the sampled share
 *   of the box, and the largest number of pixels
 * @param {Float32Array} shares the result, by COLORS
 * @param {number[]} [except] a box inside this one that is skipped
 */
function count(image, box, grid, shares, except = [0, 0, 0, 0]) {
  const range = (low, high, size, core) => {
    const margin = ((high - low) * (1 - core)) / 2;
    return [(low + margin) * size, (high - margin) * size];
  };
  const [left, right] = range(box[0], box[2], image.width, grid.width);
  const [top, bottom] = range(box[1], box[3], image.height, grid.height);
  const columns = Math.max(1, Math.min(grid.columns, Math.floor(right - left)));
  const rows = Math.max(1, Math.min(grid.rows, Math.floor(bottom - top)));
  const [x1, y1, x2, y2] = except.map((edge, i) => edge * (i % 2 ? image.height : image.width));
  let seen = 0;
  for (let r = 0; r < rows; r++) {
    const y = Math.min(image.height - 1, Math.floor(top + ((r + 0.5) * (bottom - top)) / rows));
    const beside = y >= y1 && y < y2;
    for (let c = 0; c < columns; c++) {
      const x = Math.min(image.width - 1, Math.floor(left + ((c + 0.5) * (right - left)) / columns));
      if (beside && x >= x1 && x < x2) continue;
      const at = (y * image.width + x) * 3;
      shares[colorOf(image.data[at], image.data[at + 1], image.data[at + 2])]++;
      seen++;
    }
  }
  for (let i = 0; i < shares.length && seen > 0; i++) shares[i] /= seen;
}

/**
 * Names a color by hue, saturation and value. The limits were set by eye.
 * @param {number} red 0..255
 * @param {number} green 0..255
 * @param {number} blue 0..255
 * @returns {number} index in COLORS
 */
export function colorOf(red, green, blue) {
  const max = Math.max(red, green, blue);
  const chroma = max - Math.min(red, green, blue);
  const value = max / 255;
  const saturation = max === 0 ? 0 : chroma / max;
  if (value < 0.18) return index.black;
  if (saturation < 0.16) return grayOf(value);
  const hue = hueOf(red, green, blue, max, chroma);
  if (saturation < 0.28 && value < 0.35) return index.black;
  if (hue < ORANGE || hue >= 345) return saturation < 0.5 && value > 0.65 ? index.pink : index.red;
  if (hue < 42) return value < 0.6 || saturation < 0.45 ? index.brown : index.orange;
  if (hue < 70) return value < 0.4 ? index.brown : index.yellow;
  if (hue < 165) return index.green;
  if (hue < 255) return index.blue;
  if (hue < 300) return index.purple;
  return value > 0.6 ? index.pink : index.purple;
}

/** @param {number} value 0..1 */
function grayOf(value) {
  if (value < 0.25) return index.black;
  return value > 0.75 ? index.white : index.gray;
}

/**
 * @param {number} red
 * @param {number} green
 * @param {number} blue
 * @param {number} max
 * @param {number} chroma
 * @returns {number} degrees, 0..360
 */
function hueOf(red, green, blue, max, chroma) {
  if (chroma === 0) return 0;
  if (max === red) return (60 * ((green - blue) / chroma) + 360) % 360;
  if (max === green) return 60 * ((blue - red) / chroma) + 120;
  return 60 * ((red - green) / chroma) + 240;
}
