/**
 * Colour names of what is inside a box.
 */
import { COLORS } from './vocabulary.js';

/** Share of the box, around its centre, that is looked at: corners are background. */
const CORE = 0.7;
/** Pixels looked at along one side at most. */
const SAMPLES = 48;

const index = Object.fromEntries(COLORS.map((name, at) => [name, at]));

/**
 * @param {import('./image.js').Image} image
 * @param {number[]} box normalised to the frame
 * @returns {Float32Array} share of each name of COLORS among the pixels, summing to 1
 */
export function colorShares(image, box) {
  const shares = new Float32Array(COLORS.length);
  const span = (low, high, size) => {
    const margin = ((high - low) * (1 - CORE)) / 2;
    return [(low + margin) * size, (high - margin) * size];
  };
  const [left, right] = span(box[0], box[2], image.width);
  const [top, bottom] = span(box[1], box[3], image.height);
  const columns = Math.max(1, Math.min(SAMPLES, Math.floor(right - left)));
  const rows = Math.max(1, Math.min(SAMPLES, Math.floor(bottom - top)));
  for (let r = 0; r < rows; r++) {
    const y = Math.min(image.height - 1, Math.floor(top + ((r + 0.5) * (bottom - top)) / rows));
    for (let c = 0; c < columns; c++) {
      const x = Math.min(image.width - 1, Math.floor(left + ((c + 0.5) * (right - left)) / columns));
      const at = (y * image.width + x) * 3;
      shares[colorOf(image.data[at], image.data[at + 1], image.data[at + 2])] += 1;
    }
  }
  return shares.map((count) => count / (rows * columns));
}

/**
 * Names a colour by hue, saturation and value, the borders set by eye.
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
  if (hue < 15 || hue >= 345) return saturation < 0.5 && value > 0.65 ? index.pink : index.red;
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
