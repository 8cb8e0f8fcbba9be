/**
 * Object detection: CenterNet on MobileNetV3, 512x512, 80 COCO classes.
 */
import { suppress } from './boxes.js';
import { letterbox } from './image.js';
import { DETECTOR } from './models.js';
import { execute, loadModel } from './tensorflow.js';

const SIDE = 512;
/** Columns of a row that the model gives: x1, y1, x2, y2, score, class. */
const COLUMNS = 6;
const ROWS = 100;
/** Below this score rows are noise; keeping them would only cost bytes. */
export const MIN_SCORE = 0.05;

export class Detector {
  #model;
  #input = new Float32Array(SIDE * SIDE * 3);

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
   * @param {Set<number>} classes the class indices that are asked for
   * @returns {import('./boxes.js').Detection[]} best score first, one box per object
   */
  detect(image, classes) {
    const placement = letterbox(image, SIDE, this.#input);
    const rows = execute(this.#model, this.#input, [1, SIDE, SIDE, 3], 'float32', 'tower_0/detections');
    const found = [];
    for (let row = 0; row < ROWS; row++) {
      const detection = readRow(rows, row * COLUMNS, placement);
      if (detection && classes.has(detection.cls)) found.push(detection);
    }
    return suppress(found);
  }
}

/**
 * @param {Float32Array} rows
 * @param {number} at
 * @param {import('./image.js').Placement} placement
 * @returns {import('./boxes.js').Detection | null} null for noise and for what lies on the border
 */
function readRow(rows, at, placement) {
  const score = rows[at + 4];
  if (!(score >= MIN_SCORE)) return null;
  const x1 = unit((rows[at] - placement.x) / placement.width);
  const y1 = unit((rows[at + 1] - placement.y) / placement.height);
  const x2 = unit((rows[at + 2] - placement.x) / placement.width);
  const y2 = unit((rows[at + 3] - placement.y) / placement.height);
  if (x2 <= x1 || y2 <= y1) return null;
  return { cls: rows[at + 5], score: Math.min(1, score), box: [x1, y1, x2, y2] };
}

/** @param {number} value */
function unit(value) {
  return Math.min(1, Math.max(0, value));
}
