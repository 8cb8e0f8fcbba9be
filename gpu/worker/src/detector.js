/**
 * Object detection: CenterNet on MobileNetV3, 80 COCO classes.
 *
 * The network is convolutional and was made for 512x512 pixels. It runs only on the part of
 * them that the frame fills, which for 16:9 is 37% less work than the square. The published
 * model selects its rows in several passes over 1.3 million cells. peaks() returns the same
 * rows in a tenth of the time.
 */
import { suppress } from './boxes.js';
import { letterbox } from './image.js';
import { DETECTOR } from './models.js';
import { peaks } from './peaks.js';
import { execute, loadModel } from './tensorflow.js';

/** Longest side of the input of the network, in pixels. */
export const LONGEST = 512;
/** The network halves its input five times. */
const STRIDE = 32;
/** Below this score rows are noise. */
const MIN_SCORE = 0.05;
/** Largest number of rows of a frame, best scores first. */
const MAX_ROWS = 100;

const INPUT = 'tower_0/images';
/** The outputs: the score of each class in each cell, and how far its box reaches. */
const OUTPUTS = ['tower_0/keypoints', 'tower_0/wh'];
/** Where the network enlarges its cells: the node with the new size, and the pixels of a cell after it. */
const ENLARGED = [
  ['tower_0/CenternetHead/c5_upsample/up_sampling2d/mul', 16],
  ['tower_0/CenternetHead/c4_upsample/up_sampling2d_1/mul', 8],
  ['tower_0/CenternetHead/c3_upsample/up_sampling2d_2/mul', 4],
];
/** Pixels of a cell of the outputs. */
const CELL = 4;

/**
 * @param {import('@tensorflow/tfjs-converter').GraphModel} model
 * @param {Float32Array} values RGB, 0..255
 * @param {number} width pixels, a multiple of STRIDE
 * @param {number} height pixels, a multiple of STRIDE
 * @returns {import('./peaks.js').Cells}
 */
export function runNetwork(model, values, width, height) {
  const sizes = ENLARGED.map(([node, pixels]) => [node, { values: Int32Array.of(height / pixels, width / pixels), shape: [2] }]);
  const input = { values, shape: [1, height, width, 3] };
  const [scores, reach] = execute(model, { [INPUT]: input, ...Object.fromEntries(sizes) }, OUTPUTS);
  return { scores, reach, columns: width / CELL };
}

export class Detector {
  #model;
  #input = new Float32Array(LONGEST * LONGEST * 3);

  /** @param {import('@tensorflow/tfjs-converter').GraphModel} model */
  constructor(model) {
    this.#model = model;
  }

  /** @returns {Promise<Detector>} warmed up: the first inference compiles and is slow */
  static async load() {
    const detector = new Detector(await loadModel(DETECTOR));
    detector.detect({ width: 1, height: 1, data: new Uint8Array(3) }, new Set());
    return detector;
  }

  /**
   * @param {import('./image.js').Image} image
   * @param {Set<number>} classes the requested class indices
   * @returns {import('./boxes.js').Detection[]} best score first, one box per object
   */
  detect(image, classes) {
    const placement = letterbox(image, LONGEST, STRIDE, this.#input);
    const { paper } = placement;
    const values = this.#input.subarray(0, paper.width * paper.height * 3);
    const cells = runNetwork(this.#model, values, paper.width, paper.height);
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
function boxOf({ cell }, { reach, columns }, placement) {
  const x = (cell % columns) * CELL, y = Math.floor(cell / columns) * CELL;
  const [left, up, right, down] = reach.subarray(cell * 4, cell * 4 + 4);
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
