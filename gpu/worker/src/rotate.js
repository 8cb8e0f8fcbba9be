/**
 * A second look at a frame: the detector finds some objects in a turned picture that it does not
 * find in an upright one (docs/performance.md).
 */
import { suppress } from './boxes.js';
import { sampleInto } from './image.js';

/** Degrees, clockwise, by which the frame is turned. Other angles were measured, too. */
const ANGLES = [-8, 8, 180];
const BLACK = 0;

/**
 * @param {import('./image.js').Image} image
 * @param {(image: import('./image.js').Image) => Promise<import('./boxes.js').Detection[]>} detect
 * @returns {Promise<import('./boxes.js').Detection[]>} what it finds in the frame and in the turned
 *   ones, in places of the frame; best score first, one box per object
 */
export async function detectTurned(image, detect) {
  const found = await detect(image);
  for (const degrees of ANGLES) {
    for (const { box, ...rest } of await detect(turn(image, degrees))) found.push({ ...rest, box: turnBack(box, image, degrees) });
  }
  return suppress(found.filter(({ box: [x1, y1, x2, y2] }) => x2 > x1 && y2 > y1));
}

/**
 * Turns a picture around its center. The result has the same size: corners are cut off.
 * @param {import('./image.js').Image} image
 * @param {number} degrees clockwise
 * @returns {import('./image.js').Image}
 */
export function turn(image, degrees) {
  const { width, height } = image;
  const data = new Uint8Array(image.data.length);
  const place = turned(width, height, -degrees);
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to += 3) {
      const [fromX, fromY] = place(x + 0.5, y + 0.5);
      sampleInto(data, to, 1, image, fromX - 0.5, fromY - 0.5, BLACK);
    }
  }
  return { width, height, data };
}

/**
 * @param {number[]} box normalized to the turned picture
 * @param {{width: number, height: number}} image the upright picture
 * @param {number} degrees
 * @returns {[number, number, number, number]} the box of the same size around the same point of the
 *   upright picture, clamped to it
 */
export function turnBack([x1, y1, x2, y2], { width, height }, degrees) {
  const [x, y] = turned(width, height, -degrees)(((x1 + x2) / 2) * width, ((y1 + y2) / 2) * height);
  const unit = (value) => Math.min(1, Math.max(0, value));
  const [dx, dy] = [(x2 - x1) / 2, (y2 - y1) / 2];
  return [unit(x / width - dx), unit(y / height - dy), unit(x / width + dx), unit(y / height + dy)];
}

/** @returns {(x: number, y: number) => [number, number]} turns a point around the center of a picture, clockwise */
function turned(width, height, degrees) {
  const cos = Math.cos((degrees * Math.PI) / 180), sin = Math.sin((degrees * Math.PI) / 180);
  return (x, y) => {
    const dx = x - width / 2, dy = y - height / 2;
    return [width / 2 + cos * dx - sin * dy, height / 2 + sin * dx + cos * dy];
  };
}
