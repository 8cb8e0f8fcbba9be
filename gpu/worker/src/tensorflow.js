/**
 * The tensor runtime: TensorFlow.js on its WebAssembly backend, one thread an
 * instance (its own multi-threaded build crashes in Node).
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import wasm from '@tensorflow/tfjs-backend-wasm';
import converter from '@tensorflow/tfjs-converter';
import tf from '@tensorflow/tfjs-core';
import { readModel } from './models.js';

const runtimeDir = path.dirname(createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm'));

/** Makes the backend ready; call once in a thread, before anything else here. */
export async function startRuntime() {
  tf.enableProdMode();
  wasm.setThreadsCount(1);
  wasm.setWasmPaths(runtimeDir + path.sep);
  if (!(await tf.setBackend('wasm'))) throw new Error('the WebAssembly backend cannot start');
  await tf.ready();
}

/**
 * The backend takes means number by number, over what it turns round first. Those over
 * a whole picture, a tenth of all the time, are pooled instead.
 */
const MEAN = 'PooledMean';
converter.registerOp(MEAN, ({ inputs: [x, axes], attrs: { keep_dims: keep } }) => {
  const over = [...axes.dataSync()];
  if (x.rank !== 4 || !keep || over.join() !== '1,2') return tf.mean(x, over, keep);
  return tf.avgPool(/** @type {import('@tensorflow/tfjs-core').Tensor4D} */ (x), [x.shape[1], x.shape[2]], 1, 'valid');
});

/**
 * @param {string} name as models.js has it
 * @returns {Promise<import('@tensorflow/tfjs-converter').GraphModel>} that takes pictures of any size
 */
export async function loadModel(name) {
  const { topology, weights } = await readModel(name);
  const json = JSON.parse(topology.toString('utf8'));
  for (const node of json.modelTopology.node) {
    if (node.op === 'Placeholder') for (const dim of node.attr.shape.shape.dim) dim.size = '-1';
    if (node.op === 'Mean') node.op = MEAN;
  }
  return converter.loadGraphModel({
    load: async () => ({
      modelTopology: json.modelTopology,
      weightSpecs: json.weightsManifest.flatMap((group) => group.weights),
      weightData: weights.buffer.slice(weights.byteOffset, weights.byteOffset + weights.byteLength),
      format: json.format,
      signature: json.signature,
      userDefinedMetadata: json.userDefinedMetadata,
    }),
  });
}

/**
 * Runs a model and reads some of its nodes.
 * @param {import('@tensorflow/tfjs-converter').GraphModel} model
 * @param {Record<string, {values: Float32Array | Int32Array, shape: number[]}>} feeds what the nodes
 *   of these names hold; a constant of the model may be one of them
 * @param {string[]} nodes names of the outputs
 * @returns {Float32Array[]} their values
 */
export function execute(model, feeds, nodes) {
  /** @type {Float32Array[]} */
  let values;
  tf.tidy(() => { // it would search what it returns for tensors, number by number
    const tensors = Object.entries(feeds).map(([name, { values, shape }]) => [name, tf.tensor(values, shape)]);
    const outputs = model.execute(Object.fromEntries(tensors), nodes); // of one node not a list
    values = [outputs].flat().map((output) => /** @type {Float32Array} */ (output.dataSync()));
  });
  return values;
}
