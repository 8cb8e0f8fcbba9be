/**
 * The model files: their place, their content, and their digest. `npm run convert` writes them.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Names of the models. */
export const DETECTOR = 'centernet';
export const POSES = 'movenet-lightning';

/** The SHA-256 of each file, in the order of the digest. */
export const MODELS = Object.freeze({
  [DETECTOR]: '6b0c307ec81a5797e5bacebf959885057653fc99e360d2ac0fc3f1df9ace3a04',
  [POSES]: 'f86e7a1876ef731f7504ed1cbfd20a87129e67e295e418637194a289704b8e59',
});

/**
 * @param {string} name of a model
 * @returns {string} the path of its file
 */
export function modelFile(name) {
  return fileURLToPath(new URL(`../models/${name}.onnx`, import.meta.url));
}

/**
 * @param {Uint8Array} bytes
 * @returns {string} SHA-256 in hexadecimal
 */
export function checksum(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * @param {string} name of a model
 * @returns {Promise<Buffer>} the content of its file
 */
export async function readModel(name) {
  const bytes = await readFile(modelFile(name));
  if (checksum(bytes) !== MODELS[name]) throw new Error(`${modelFile(name)} is damaged or of another version: run \`make setup\``);
  return bytes;
}

/** @returns {Promise<string>} SHA-256 of all model files, one after the other, in hexadecimal */
export async function digest() {
  return checksum(Buffer.concat(await Promise.all(Object.keys(MODELS).map(readModel))));
}
