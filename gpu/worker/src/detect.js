/**
 * The model `detect` of the protocol: its tensors and its metadata. Turns a request into
 * frames for the pool, and their results into a response.
 *
 * Inputs:
 *   FRAMES          BYTES [N], a JPEG or PPM file each
 *   TERMS           BYTES [K], class names
 *   WANT_POSE       BOOL [1], optional
 *   WANT_ROTATIONS  BOOL [1], optional: the frames are examined in three turned views, too; boxes are
 *                   in places of the frame
 *
 * Outputs. Those with M rows have a row for each detection, by frame and then by
 * descending score. The last three are sent only when requested.
 *   BOXES        [M,4]      x1, y1, x2, y2 in 0..1
 *   SCORES       [M]        raw
 *   TERM_INDEX   [M]
 *   FRAME_INDEX  [M]
 *   KNOWN_TERMS  [K]
 *   KEYPOINTS    [M,17,3]   x, y, score; zeros where no pose was estimated
 *   COLORS       [M,55]     how much of a box has each of COLUMNS, 0..1; a pixel may count for two
 *   SHADES       [N,32,32]  the brightness of the parts of each frame, 0 to 31
 */
import { readFileSync } from 'node:fs';
import { byteValues, bytesElements, ProtocolError } from './protocol.js';
import { PLATFORM } from './runtime.js';
import { CELLS } from './shades.js';
import { COLUMNS, JOINTS, VOCABULARY, classOf } from './vocabulary.js';

export const MODEL = 'detect';
export const VERSION = '1';

/** Name and version of this program, from its package file. */
export const program = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** Largest number of frames of one request. */
export const MAX_FRAMES = 64;
const MAX_TERMS = 256;

const OUTPUTS = [
  { name: 'BOXES', datatype: 'FP32', shape: [-1, 4] },
  { name: 'SCORES', datatype: 'FP32', shape: [-1] },
  { name: 'TERM_INDEX', datatype: 'INT32', shape: [-1] },
  { name: 'FRAME_INDEX', datatype: 'INT32', shape: [-1] },
  { name: 'KEYPOINTS', datatype: 'FP32', shape: [-1, JOINTS, 3] },
  { name: 'COLORS', datatype: 'FP32', shape: [-1, COLUMNS.length] },
  { name: 'KNOWN_TERMS', datatype: 'BOOL', shape: [-1] },
  { name: 'SHADES', datatype: 'UINT8', shape: [-1, CELLS, CELLS] },
];

/**
 * Metadata of the model. `parameters` holds the values without a field in the protocol:
 *   vocabulary, colors  comma-separated lists in index order
 *   model, digest       the name of the weights and their SHA-256
 *   license             the license of the weights
 *   worker              the name of this program
 *   formats             of the frames
 *   max_concurrency     the number of frames processed at once
 *
 * @param {number} threads
 * @param {string} digest
 */
export function metadata(threads, digest) {
  return {
    name: MODEL,
    versions: [VERSION],
    platform: PLATFORM,
    inputs: [
      { name: 'FRAMES', datatype: 'BYTES', shape: [-1] },
      { name: 'TERMS', datatype: 'BYTES', shape: [-1] },
      { name: 'WANT_POSE', datatype: 'BOOL', shape: [1] },
      { name: 'WANT_ROTATIONS', datatype: 'BOOL', shape: [1] },
    ],
    outputs: OUTPUTS,
    parameters: {
      model: 'centernet-mobilenetv3-640',
      digest,
      license: 'MIT',
      worker: `${program.name}/${program.version}`,
      vocabulary: VOCABULARY.join(','),
      colors: COLUMNS.join(','),
      formats: 'jpeg,ppm',
      max_concurrency: String(threads),
    },
  };
}

/**
 * @param {ReturnType<import('./protocol.js').parseRequest>} request
 * @param {(works: import('./thread.js').Work[]) => Promise<import('./thread.js').FrameResult[]>} run
 * @returns {Promise<import('./protocol.js').Output[]>}
 * @throws {ProtocolError}
 */
export async function detect(request, run) {
  const wants = wanted(request.outputs);
  const terms = readTerms(input(request, 'TERMS'));
  const frames = readFrames(input(request, 'FRAMES'));
  const pose = flag(request, 'WANT_POSE');
  const rotations = flag(request, 'WANT_ROTATIONS');
  const classes = terms.map(classOf);
  const asked = new Set(classes.filter((cls) => cls >= 0));
  // When the request has no class of the model, no inference is needed.
  const shades = wants('SHADES');
  const results = asked.size === 0 && !shades ? [] : await run(
    frames.map((frame) => ({ frame, classes: asked, pose: pose && wants('KEYPOINTS'), color: wants('COLORS'), rotations, shades })),
  );
  return toOutputs(results, classes).filter(({ name }) => wants(name, pose));
}

/**
 * @param {Set<string> | null} names
 * @returns {(name: string, pose?: boolean) => boolean} whether an output is wanted
 */
function wanted(names) {
  if (names === null) return (name, pose = true) => !['COLORS', 'SHADES'].includes(name) && (name !== 'KEYPOINTS' || pose);
  for (const name of names) {
    if (!OUTPUTS.some((output) => output.name === name)) throw new ProtocolError(400, `unknown output ${name}`);
  }
  return (name) => names.has(name);
}

/**
 * @param {ReturnType<import('./protocol.js').parseRequest>} request
 * @param {string} name
 */
function input(request, name) {
  const tensor = request.inputs.get(name);
  if (!tensor) throw new ProtocolError(400, `input ${name}: required`);
  return tensor;
}

/**
 * @param {ReturnType<import('./protocol.js').parseRequest>} request
 * @param {string} name of an optional input
 */
function flag(request, name) {
  const tensor = request.inputs.get(name);
  return tensor !== undefined && byteValues(tensor, 'BOOL')[0] !== 0;
}

/**
 * @param {import('./protocol.js').Tensor} tensor
 * @returns {string[]}
 */
function readTerms(tensor) {
  const terms = bytesElements(tensor).map((term) => term.toString('utf8'));
  if (terms.length === 0 || terms.length > MAX_TERMS) throw new ProtocolError(400, `input TERMS: 1 to ${MAX_TERMS} terms`);
  if (new Set(terms).size !== terms.length) throw new ProtocolError(400, 'input TERMS: a term occurs twice');
  return terms;
}

/**
 * @param {import('./protocol.js').Tensor} tensor
 * @returns {Uint8Array[]} copies, so that a thread is sent its frame and not the whole body
 */
function readFrames(tensor) {
  const count = tensor.shape[0] ?? 0;
  if (count < 1 || count > MAX_FRAMES) throw new ProtocolError(400, `input FRAMES: 1 to ${MAX_FRAMES} frames`);
  return bytesElements(tensor).map((bytes) => new Uint8Array(bytes));
}

/**
 * @param {import('./thread.js').FrameResult[]} results of each frame
 * @param {number[]} classes class index of each term, -1 when unknown
 * @returns {import('./protocol.js').Output[]} in the order of OUTPUTS
 */
function toOutputs(results, classes) {
  const rows = results.flatMap(({ detections }, frame) => detections.map((detection) => ({ frame, ...detection })));
  const none = { joints: new Float32Array(JOINTS * 3), colors: new Float32Array(COLUMNS.length) };
  const values = {
    BOXES: rows.flatMap(({ box }) => box),
    SCORES: rows.map(({ score }) => score),
    TERM_INDEX: rows.map(({ cls }) => classes.indexOf(cls)),
    FRAME_INDEX: rows.map(({ frame }) => frame),
    KEYPOINTS: rows.flatMap(({ joints }) => Array.from(joints ?? none.joints)),
    COLORS: rows.flatMap(({ colors }) => Array.from(colors ?? none.colors)),
    KNOWN_TERMS: classes.map((cls) => (cls >= 0 ? 1 : 0)),
    SHADES: results.flatMap(({ shades }) => Array.from(shades ?? [])),
  };
  const lengths = { KNOWN_TERMS: classes.length, SHADES: results.length };
  return OUTPUTS.map(({ name, datatype, shape }) => ({
    name,
    datatype,
    shape: [lengths[name] ?? rows.length, ...shape.slice(1)],
    values: values[name],
  }));
}
