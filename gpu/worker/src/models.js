/**
 * The model files: their place, their content, and their digest.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

// The exports of the package do not include its models: they are found beside its entry
// point.
const modelDir = path.join(path.dirname(createRequire(import.meta.url).resolve('@vladmandic/human')), '..', 'models');

/** Names of the models, in the order of the digest. */
export const DETECTOR = 'centernet';
export const POSES = 'movenet-lightning';

/**
 * @param {string} name of a file pair under the package's models folder
 * @returns {Promise<{topology: Buffer, weights: Buffer}>} the JSON, and all weight files in the order it lists
 */
export async function readModel(name) {
  const topology = await readFile(path.join(modelDir, `${name}.json`));
  const files = JSON.parse(topology.toString('utf8')).weightsManifest.flatMap((group) => group.paths);
  return { topology, weights: Buffer.concat(await Promise.all(files.map((file) => readFile(path.join(modelDir, file))))) };
}

/** @returns {Promise<string>} SHA-256 of all model files, in hexadecimal */
export async function digest() {
  const hash = createHash('sha256');
  for (const name of [DETECTOR, POSES]) {
    const { topology, weights } = await readModel(name);
    hash.update(topology).update(weights);
  }
  return hash.digest('hex');
}
