/**
 * Boxes of a frame: removes boxes that show the same object again.
 *
 * @typedef {object} Detection
 * @property {number} cls class index
 * @property {number} score raw score of the model, 0..1
 * @property {[number, number, number, number]} box x1, y1, x2, y2, normalized to the frame
 */

/** Two boxes of one class that overlap more than this show one object. */
const SAME_OVERLAP = 0.45;
/** A box that lies inside another of its class by this share is a part of it. */
const SAME_INSIDE = 0.8;

/**
 * Keeps the best box of each object, per class. Equal scores keep their order, so
 * the result depends on the input alone.
 * @param {Detection[]} detections in any order
 * @returns {Detection[]} best score first
 */
export function suppress(detections) {
  const kept = [];
  for (const candidate of [...detections].sort((a, b) => b.score - a.score)) {
    if (!kept.some((other) => other.cls === candidate.cls && sameObject(other.box, candidate.box))) {
      kept.push(candidate);
    }
  }
  return kept;
}

/**
 * @param {number[]} a
 * @param {number[]} b
 * @returns {boolean}
 */
function sameObject(a, b) {
  const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  if (width <= 0 || height <= 0) return false;
  const shared = width * height;
  const areaA = area(a), areaB = area(b);
  return shared / (areaA + areaB - shared) > SAME_OVERLAP || shared / Math.min(areaA, areaB) > SAME_INSIDE;
}

/**
 * @param {number[]} box
 * @returns {number}
 */
export function area(box) {
  return (box[2] - box[0]) * (box[3] - box[1]);
}
