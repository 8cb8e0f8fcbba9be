/**
 * One inference thread: decodes a frame and runs the models on it. It gets one Work at a
 * time and answers each with `{result}` or `{error}`. It sends `{ready}` first.
 *
 * @typedef {object} Work
 * @property {Uint8Array} frame a JPEG or PPM file
 * @property {Set<number>} classes requested class indices
 * @property {boolean} pose estimate the pose of people
 * @property {boolean} color name the colors of every box
 * @property {boolean} rotations examine the frame in turned views, too
 * @property {boolean} shades compute the brightness of the frame
 *
 * @typedef {import('./boxes.js').Detection & {joints?: Float32Array, colors?: Float32Array}} DetailedDetection
 *
 * @typedef {object} FrameResult
 * @property {DetailedDetection[]} detections
 * @property {Uint8Array} [shades]
 */
import { parentPort } from 'node:worker_threads';
import { colorShares, whiteOf } from './colors.js';
import { Detector } from './detector.js';
import { JpegDecoder } from './jpeg.js';
import { readPpm } from './ppm.js';
import { MAX_POSES, MIN_PERSON_SCORE, PoseEstimator } from './pose.js';
import { detectTurned } from './rotate.js';
import { shadesOf } from './shades.js';
import { PERSON } from './vocabulary.js';

const jpeg = new JpegDecoder();
const detector = await Detector.load();
/** @type {Promise<PoseEstimator> | undefined} loaded when first needed: most questions need no poses */
let estimator;

parentPort.on('message', async (work) => {
  try {
    parentPort.postMessage({ result: await run(work) });
  } catch (err) {
    parentPort.postMessage({ error: err.message });
  }
});
parentPort.postMessage({ ready: true });

/**
 * @param {Work} work
 * @returns {Promise<FrameResult>}
 */
async function run({ frame, classes, pose, color, rotations, shades }) {
  const image = readPpm(frame) ?? await jpeg.decode(frame);
  const detect = (view) => detector.detect(view, classes);
  /** @type {DetailedDetection[]} */
  const detections = await (rotations ? detectTurned(image, detect) : detect(image));
  if (color && detections.length > 0) {
    const white = whiteOf(image);
    for (const found of detections) found.colors = colorShares(image, white, found.box, found.cls === PERSON);
  }
  if (pose) await addPoses(image, detections);
  return { detections, shades: shades ? shadesOf(image) : undefined };
}

/**
 * @param {import('./image.js').Image} image
 * @param {DetailedDetection[]} detections
 */
async function addPoses(image, detections) {
  const people = detections.filter(({ cls, score }) => cls === PERSON && score >= MIN_PERSON_SCORE);
  if (people.length === 0) return;
  // The decoder's pixels are valid until its next call. That cannot come before this frame
  // is answered, because the pool sends a thread one frame at a time.
  estimator ??= PoseEstimator.load();
  const poses = await estimator;
  for (const person of people.slice(0, MAX_POSES)) person.joints = await poses.estimate(image, person.box);
}
