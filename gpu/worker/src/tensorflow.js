/**
 * The tensor runtime: TensorFlow.js on its WebAssembly backend, with one thread for each
 * instance. The multi-threaded build of the backend crashes in Node.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import wasm from '@tensorflow/tfjs-backend-wasm';
import converter from '@tensorflow/tfjs-converter';
import tf from '@tensorflow/tfjs-core';
import { readModel } from './models.js';

const runtimeDir = path.dirname(createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm'));

/** Starts the backend. Call it once in a thread, before the other functions of this file. */
export async function startRuntime() {
  tf.enableProdMode();
  wasm.setThreadsCount(1);
  wasm.setWasmPaths(runtimeDir + path.sep);
  if (!(await tf.setBackend('wasm'))) throw new Error('the WebAssembly backend cannot start');
  await tf.ready();
}

/**
 * The backend transposes its input for a mean and adds number by number. Means over a whole
 * picture took a tenth of all the time. They are computed as an average pool instead.
 */
const MEAN = 'PooledMean';
converter.registerOp(MEAN, ({ inputs: [x, axes], attrs: { keep_dims: keep } }) => {
  const over = [...axes.dataSync()];
  if (x.rank !== 4 || !keep || over.join() !== '1,2') return tf.mean(x, over, keep);
  return tf.avgPool(/** @type {import('@tensorflow/tfjs-core').Tensor4D} */ (x), [x.shape[1], x.shape[2]], 1, 'valid');
});

/**
 * @param {string} name of a model in models.js
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
 * @param {Record<string, {values: Float32Array | Int32Array, shape: number[]}>} feeds the values of
 *   the nodes with these names, which may also be constants of the model
 * @param {string[]} nodes names of the outputs
 * @returns {Float32Array[]} their values
 */
export function execute(model, feeds, nodes) {
  /** @type {Float32Array[]} */
  let values;
  tf.tidy(() => { // tidy would search a returned value for tensors, number by number
    const tensors = Object.entries(feeds).map(([name, { values, shape }]) => [name, tf.tensor(values, shape)]);
    const outputs = model.execute(Object.fromEntries(tensors), nodes); // for a single node the result is not an array
    values = [outputs].flat().map((output) => /** @type {Float32Array} */ (output.dataSync()));
  });
  return values;
}
