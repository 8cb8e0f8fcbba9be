/**
 * Object detection: CenterNet on MobileNetV3, 80 COCO classes.
 *
 * The network is convolutional. It was made for 512x512 pixels, is more accurate with more of
 * them, and runs only on the part of a square that the frame fills. The published model
 * selects its rows in several passes over 1.3 million cells. peaks() returns the same rows in
 * a tenth of the time.
 */
import { suppress } from './boxes.js';
import { letterbox } from './image.js';
import { DETECTOR } from './models.js';
import { peaks } from './peaks.js';
import { execute, loadModel } from './runtime.js';

/** Longest side of the input of the network, in pixels. */
export const LONGEST = 640;
/** The network halves its input five times. */
export const STRIDE = 32;
/** Below this score rows are noise. */
const MIN_SCORE = 0.05;
/** Largest number of rows of a frame, best scores first. */
const MAX_ROWS = 100;
/** Pixels of a cell of the outputs. */
const CELL = 4;

/**
 * @param {import('onnxruntime-node').InferenceSession} model
 * @param {Float32Array} values RGB, 0..255, color by color
 * @param {number} width pixels, a multiple of STRIDE
 * @param {number} height pixels, a multiple of STRIDE
 * @returns {Promise<import('./peaks.js').Cells>}
 */
export async function runNetwork(model, values, width, height) {
  const { scores, reach } = await execute(model, 'images', values, [1, 3, height, width]);
  return { scores, reach, columns: width / CELL, rows: height / CELL };
}

export class Detector {
  #model;
  #input = new Float32Array(LONGEST * LONGEST * 3);

  /** @param {import('onnxruntime-node').InferenceSession} model */
  constructor(model) {
    this.#model = model;
  }

  /** @returns {Promise<Detector>} */
  static async load() {
    return new Detector(await loadModel(DETECTOR));
  }

  /**
   * @param {import('./image.js').Image} image
   * @param {Set<number>} classes the requested class indices
   * @returns {Promise<import('./boxes.js').Detection[]>} best score first, one box per object
   */
  async detect(image, classes) {
    const placement = letterbox(image, LONGEST, STRIDE, this.#input);
    const { width, height } = placement.paper;
    const cells = await runNetwork(this.#model, this.#input.subarray(0, width * height * 3), width, height);
    const found = [];
    for (const peak of peaks(cells, MIN_SCORE, MAX_ROWS)) {
      const box = boxOf(peak, cells, placement);
      if (box && classes.has(peak.cls)) found.push({ cls: peak.cls, score: Math.min(1, peak.score), box });
    }
    return suppress(found);
  }
}

/**
 * @param {import('./peaks.js').Peak} peak
 * @param {import('./peaks.js').Cells} cells
 * @param {import('./image.js').Placement} placement
 * @returns {[number, number, number, number] | null} null for a box outside of the frame
 */
function boxOf({ cell }, { reach, columns, rows }, placement) {
  const x = (cell % columns) * CELL, y = Math.floor(cell / columns) * CELL;
  const [left, up, right, down] = [0, 1, 2, 3].map((side) => reach[side * rows * columns + cell]);
  const x1 = unit((x - left - placement.x) / placement.width);
  const y1 = unit((y - up - placement.y) / placement.height);
  const x2 = unit((x + right - placement.x) / placement.width);
  const y2 = unit((y + down - placement.y) / placement.height);
  return x2 <= x1 || y2 <= y1 ? null : [x1, y1, x2, y2];
}

/** @param {number} value */
function unit(value) {
  return Math.min(1, Math.max(0, value));
}
