/**
 * Colors inside a box.
 *
 * A pixel belongs to a color name by a degree of 0..1, and to two names between them: hue decides
 * for a pixel with chroma, lightness relative to the scene's white for one without. A pixel counts
 * by how much more frequent its color is inside the box than around it, so that a white car on
 * grass is not green. The limits were set on the labeled clips; the coordinates are CIE Lab.
 */
import { COLORS, COLUMNS, QUARTERS } from './vocabulary.js';

/** Sampled part of a box, around its center: corners are background. */
const CORE = { width: 0.7, height: 0.7, columns: 32, rows: 32 };
/** The same for a quarter of a body, which is narrower than its box: arms are bent. */
const QUARTER = { width: 0.5, height: 0.9, columns: 24, rows: 16 };
/** The surroundings of a box, as a multiple of its width and height. */
const AROUND = { width: 1.4, height: 1.4, columns: 32, rows: 32 };
/** A box with fewer sampled pixels around it fills the frame: all its pixels count alike. */
const MIN_AROUND = 60;
/** Below this mean weight the box looks like its surroundings, and all its pixels count alike. */
const MIN_WEIGHT = 0.08;
/** Bits of red, green and blue by which two pixels have the same color. */
const BIN_BITS = 3;
const BINS = 1 << (3 * BIN_BITS);

/** The scene's white is the lightness that this share of the frame does not exceed, and not darker than DARKEST. */
const WHITE_SHARE = 0.92, DARKEST_WHITE = 55;
/** Lightness of white in a well-lit picture. */
const USUAL_WHITE = 95;
/** Step between the pixels that the scene's white is read from. */
const WHITE_STEP = 8;

/**
 * @param {import('./image.js').Image} image
 * @returns {number} lightness of the scene's white, 55..100
 */
export function whiteOf({ width, height, data }) {
  const counts = new Uint32Array(256);
  let total = 0;
  for (let y = 0; y < height; y += WHITE_STEP) {
    for (let x = 0; x < width; x += WHITE_STEP, total++) {
      const at = (y * width + x) * 3;
      counts[Math.round(table[cellOf(data, at) * ENTRY + LIGHTNESS] * 2.55)]++;
    }
  }
  let level = -1;
  for (let below = 0; below <= WHITE_SHARE * (total - 1);) below += counts[++level];
  return Math.max(DARKEST_WHITE, level / 2.55);
}

/**
 * @param {import('./image.js').Image} image
 * @param {number} white lightness of the scene's white
 * @param {number[]} box normalized to the frame
 * @param {boolean} body whether the box shows a person, whose clothes have separate colors
 * @returns {Float32Array} how much of the box has each of COLUMNS, 0..1. Between two names a pixel
 *   counts for both, or for neither in full. Without a body the quarters are 0.
 */
export function colorShares(image, white, box, body = false) {
  const shares = new Float32Array(COLUMNS.length);
  const around = sample(image, box, AROUND, box);
  const surroundings = around < MIN_AROUND ? null : countBins(around, new Float32Array(BINS));
  const add = (part, grid, at) => {
    weigh(sample(image, part, grid), surroundings, white, shares.subarray(at * COLORS.length, (at + 1) * COLORS.length));
  };
  add(box, CORE, 0);
  const height = (box[3] - box[1]) / QUARTERS;
  for (let q = 0; body && q < QUARTERS; q++) add([box[0], box[1] + q * height, box[2], box[1] + (q + 1) * height], QUARTER, q + 1);
  return shares;
}

/**
 * @param {number} count of the sampled pixels
 * @param {Float32Array | null} around share of each bin around the box
 * @param {number} white
 * @param {Float32Array} shares the result, by COLORS
 */
function weigh(count, around, white, shares) {
  const weights = countBins(count, inside);
  let mean = 0;
  for (let bin = 0; bin < BINS; bin++) {
    const share = weights[bin];
    if (share === 0) continue;
    weights[bin] = around ? (share / (share + around[bin])) ** 2 : 1;
    mean += share * weights[bin];
  }
  if (mean < MIN_WEIGHT) weights.fill(mean = 1);
  for (let i = 0; i < count; i++) addMemberships(cells[i] * ENTRY, white, weights[binOf(cells[i])], shares);
  for (let i = 0; i < shares.length; i++) shares[i] = Math.min(1, shares[i] / (mean * count));
}

// The sampled pixels of a part, by their cells of the table, and the shares of its bins. A frame
// has up to a hundred boxes: new arrays for each took most of the time.
const cells = new Uint32Array(AROUND.columns * AROUND.rows);
const inside = new Float32Array(BINS);

/**
 * Fills cells.
 * @param {import('./image.js').Image} image
 * @param {number[]} box normalized to the frame
 * @param {{width: number, height: number, columns: number, rows: number}} grid the sampled share
 *   of the box, cut off at the frame, and the number of pixels
 * @param {number[]} [except] a box inside this one that is skipped
 * @returns {number} how many pixels were sampled
 */
function sample({ width, height, data }, [left, top, right, bottom], grid, except = NOTHING) {
  const across = range(left, right, grid.width), down = range(top, bottom, grid.height);
  const stepX = across.length / grid.columns, stepY = down.length / grid.rows;
  let count = 0;
  for (let r = 0; r < grid.rows; r++) {
    const y = down.from + (r + 0.5) * stepY;
    const row = Math.min(height - 1, Math.floor(y * height)) * width;
    const beside = y >= except[1] && y < except[3];
    for (let c = 0; c < grid.columns; c++) {
      const x = across.from + (c + 0.5) * stepX;
      if (!beside || x < except[0] || x >= except[2]) cells[count++] = cellOf(data, (row + Math.min(width - 1, Math.floor(x * width))) * 3);
    }
  }
  return count;
}

const NOTHING = [0, 0, 0, 0];

/** @returns {{from: number, length: number}} the share of a range around its center, within 0..1 */
function range(low, high, share) {
  const middle = (low + high) / 2, reach = ((high - low) * share) / 2;
  const from = Math.max(0, middle - reach);
  return { from, length: Math.min(1, middle + reach) - from };
}

/**
 * @param {number} count of cells
 * @param {Float32Array} shares the result: share of each bin
 */
function countBins(count, shares) {
  shares.fill(0);
  for (let i = 0; i < count; i++) shares[binOf(cells[i])]++;
  for (let bin = 0; bin < BINS; bin++) shares[bin] /= count;
  return shares;
}

/** @param {number} cell */
function binOf(cell) {
  const drop = TABLE_BITS - BIN_BITS, mask = (1 << BIN_BITS) - 1;
  const red = cell >> (2 * TABLE_BITS + drop), green = (cell >> (TABLE_BITS + drop)) & mask, blue = (cell >> drop) & mask;
  return (red << (2 * BIN_BITS)) | (green << BIN_BITS) | blue;
}

// A color is looked up by six bits of red, green and blue: computing it for each pixel took as long
// as the network. An entry is computed when it is first used: the lightness, the degree of having no
// chroma, and the memberships. Those of white and gray depend on the scene, too.
const TABLE_BITS = 6, LIGHTNESS = 0, COLORLESS = 1, FIRST = 2;
const ENTRY = FIRST + COLORS.length;
const table = new Float32Array((1 << (3 * TABLE_BITS)) * ENTRY);
const computed = new Uint8Array(1 << (3 * TABLE_BITS));
const index = Object.fromEntries(COLORS.map((name, at) => [name, at]));

/**
 * @param {Uint8Array} data
 * @param {number} at index of the pixel's red
 * @returns {number} its cell in the table
 */
function cellOf(data, at) {
  const shift = 8 - TABLE_BITS;
  const red = data[at] >> shift, green = data[at + 1] >> shift, blue = data[at + 2] >> shift;
  const cell = (red << (2 * TABLE_BITS)) | (green << TABLE_BITS) | blue;
  if (computed[cell] === 0) {
    computed[cell] = 1;
    const middle = (value) => (value + 0.5) * (1 << shift);
    table.set(describe(labOf(middle(red), middle(green), middle(blue))), cell * ENTRY);
  }
  return cell;
}

/**
 * @param {number} at index of an entry in the table
 * @param {number} white lightness of the scene's white
 * @param {number} weight
 * @param {Float32Array} sums by COLORS
 */
function addMemberships(at, white, weight, sums) {
  for (let i = 0; i < COLORS.length; i++) sums[i] += weight * table[at + FIRST + i];
  const relative = Math.min(100, (table[at + LIGHTNESS] * USUAL_WHITE) / white);
  sums[index.white] += weight * table[at + COLORLESS] * above(relative, 62, 80);
  sums[index.gray] += weight * table[at + COLORLESS] * above(table[at + LIGHTNESS], 20, 32) * (1 - above(relative, 78, 92));
}

/**
 * @param {number[]} lab lightness 0..100, a, b
 * @returns {number[]} an entry of the table, with 0 for white and gray
 */
function describe([lightness, a, b]) {
  const chroma = Math.hypot(a, b);
  const angle = ((Math.atan2(b, a) * 180) / Math.PI + 360) % 360;
  const hue = (low, high) => hueWithin(angle, low, high);
  const light = (low, high) => above(lightness, low, high);
  const pure = (low, high) => above(chroma, low, high);
  const tinted = pure(7, 16), lit = light(8, 18);
  const memberships = {
    black: (1 - light(22, 34)) * (1 - 0.8 * pure(18, 34)),
    white: 0,
    red: hue(0, 43) * pure(9, 20) * light(6, 14) * (1 - light(66, 78)),
    green: hue(112, 192) * tinted * lit,
    yellow: hue(80, 112) * pure(10, 24) * light(28, 46),
    blue: hue(220, 305) * tinted * lit,
    brown: hue(40, 82) * tinted * lit * (1 - light(50, 62)) * (1 - pure(50, 65)),
    orange: hue(44, 78) * pure(10, 24) * light(28, 42),
    pink: Math.max(hue(335, 370), hue(-5, 30) * light(55, 68)) * tinted * light(40, 55),
    purple: hue(305, 345) * tinted * lit,
    gray: 0,
  };
  return [lightness, 1 - pure(9, 18), ...COLORS.map((name) => memberships[name])];
}

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 * @returns {number} 0 up to low, 1 from high on, linear between
 */
function above(value, low, high) {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}

/**
 * @param {number} angle degrees
 * @param {number} low
 * @param {number} high
 * @returns {number} 1 from low to high, 0 from ten degrees beyond, linear between
 */
function hueWithin(angle, low, high) {
  const off = Math.abs(((angle - (low + high) / 2 + 540) % 360) - 180) - (high - low) / 2;
  return 1 - above(off, 0, 10);
}

/**
 * Converts sRGB to CIE Lab with the white of D65 (IEC 61966-2-1, ISO/CIE 11664-4).
 * @param {number} red 0..255
 * @param {number} green 0..255
 * @param {number} blue 0..255
 * @returns {number[]} lightness 0..100, a, b
 */
function labOf(red, green, blue) {
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = [red / 255, green / 255, blue / 255].map(linear);
  const root = (value) => (value > 216 / 24389 ? Math.cbrt(value) : ((24389 / 27) * value + 16) / 116);
  const x = root((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.950456);
  const y = root(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = root((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.088754);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
