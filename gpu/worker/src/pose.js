/**
 * Body pose: MoveNet Lightning on a square around one person.
 *
 * The network returns maps of CELLS rows and columns. joints() reads them as the published
 * model does.
 */
import { cropSquare } from './image.js';
import { POSES } from './models.js';
import { execute, loadModel } from './runtime.js';
import { JOINTS } from './vocabulary.js';

export const SIDE = 192;
/** Rows and columns of the maps. */
const CELLS = 48;
const AREA = CELLS * CELLS;
/** Distance in cells at which a place counts half as much as one at no distance: of the published model. */
const NEAR = 1.8;
/** The square is larger than the body by this factor, so that raised arms fit. */
const MARGIN = 1.25;
/** Below this score a box is rarely a person, and its pose would be a guess. */
export const MIN_PERSON_SCORE = 0.3;
/** Largest number of poses in one frame, best boxes first: each takes about 10 ms. */
export const MAX_POSES = 8;

/**
 * @typedef {object} Maps
 * @property {Float32Array} center how much each cell is the middle of the body in front
 * @property {Float32Array} heat 0..1, how much each cell shows the first joint, then the next
 * @property {Float32Array} regress cells down to the first joint of the body with its middle in a cell,
 *   then to the right, then those of the next joint
 * @property {Float32Array} offset the same from a cell that shows a joint to its exact place
 */

export class PoseEstimator {
  #model;
  #input = new Float32Array(SIDE * SIDE * 3);

  /** @param {import('onnxruntime-node').InferenceSession} model */
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
   * @returns {Promise<Float32Array>} JOINTS times x, y, score; x and y normalized to the frame, clamped to it
   */
  async estimate(image, box) {
    const { width, height } = image;
    const side = MARGIN * Math.max((box[2] - box[0]) * width, (box[3] - box[1]) * height);
    const x = ((box[0] + box[2]) * width - side) / 2;
    const y = ((box[1] + box[3]) * height - side) / 2;
    cropSquare(image, { x, y, side }, SIDE, this.#input);
    const maps = await execute(this.#model, 'image', this.#input, [1, 3, SIDE, SIDE]);
    const out = joints(/** @type {Maps} */ (maps));
    for (let j = 0; j < out.length; j += 3) {
      out[j] = unit((x + out[j] * side) / width);
      out[j + 1] = unit((y + out[j + 1] * side) / height);
      out[j + 2] = unit(out[j + 2]);
    }
    return out;
  }
}

/**
 * Finds the body in the middle. A joint is where its heat is high, near the place that the body's
 * middle points to.
 * @param {Maps} maps
 * @returns {Float32Array} JOINTS times x, y, score, all 0..1 or slightly beyond
 */
export function joints({ center, heat, regress, offset }) {
  const out = new Float32Array(JOINTS * 3);
  const middle = best((cell) => center[cell]);
  for (let joint = 0; joint < JOINTS; joint++) {
    const down = joint * 2 * AREA, right = down + AREA;
    const y = Math.floor(middle / CELLS) + regress[down + middle];
    const x = (middle % CELLS) + regress[right + middle];
    const cell = best((at) => heat[joint * AREA + at] / (Math.hypot((at % CELLS) - x, Math.floor(at / CELLS) - y) + NEAR));
    out[joint * 3] = ((cell % CELLS) + offset[right + cell]) / CELLS;
    out[joint * 3 + 1] = (Math.floor(cell / CELLS) + offset[down + cell]) / CELLS;
    out[joint * 3 + 2] = heat[joint * AREA + cell];
  }
  return out;
}

/** @param {(cell: number) => number} value */
function best(value) {
  let top = 0;
  for (let cell = 1, most = value(0); cell < AREA; cell++) {
    const here = value(cell);
    if (here > most) [top, most] = [cell, here];
  }
  return top;
}

/** @param {number} value */
function unit(value) {
  return Math.min(1, Math.max(0, value));
}
