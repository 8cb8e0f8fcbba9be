/**
 * Body pose: MoveNet Lightning on a square around one person.
 */
import { cropSquare } from './image.js';
import { POSES } from './models.js';
import { execute, loadModel } from './tensorflow.js';
import { JOINTS } from './vocabulary.js';

const SIDE = 192;
/** The square is larger than the body by this factor, so that raised arms fit. */
const MARGIN = 1.25;
/** Below this score a box is rarely a person, and its pose would be a guess. */
export const MIN_PERSON_SCORE = 0.3;
/** Largest number of poses in one frame, best boxes first: each takes about 30 ms. */
export const MAX_POSES = 8;

export class PoseEstimator {
  #model;
  #input = new Int32Array(SIDE * SIDE * 3);

  /** @param {import('@tensorflow/tfjs-converter').GraphModel} model */
  constructor(model) {
    this.#model = model;
  }

  /** @returns {Promise<PoseEstimator>} */
  static async load() {
    return new PoseEstimator(await loadModel(POSES));
  }

  /**
   * @param {import('./image.js').Image} image
   * @param {number[]} box of the person, normalized to the frame
   * @returns {Float32Array} JOINTS times x, y, score; x and y normalized to the frame, clamped to it
   */
  estimate(image, box) {
    const { width, height } = image;
    const side = MARGIN * Math.max((box[2] - box[0]) * width, (box[3] - box[1]) * height);
    const x = ((box[0] + box[2]) * width - side) / 2;
    const y = ((box[1] + box[3]) * height - side) / 2;
    cropSquare(image, { x, y, side }, SIDE, this.#input);
    const [joints] = execute(this.#model, { input: { values: this.#input, shape: [1, SIDE, SIDE, 3] } }, ['Identity:0']);
    const out = new Float32Array(JOINTS * 3);
    for (let j = 0; j < JOINTS * 3; j += 3) {
      out[j] = unit((x + joints[j + 1] * side) / width);
      out[j + 1] = unit((y + joints[j] * side) / height);
      out[j + 2] = unit(joints[j + 2]);
    }
    return out;
  }
}

/** @param {number} value */
function unit(value) {
  return Math.min(1, Math.max(0, value));
}
