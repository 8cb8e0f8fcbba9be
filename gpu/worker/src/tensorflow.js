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
 * @param {string} name as models.js has it
 * @returns {Promise<import('@tensorflow/tfjs-converter').GraphModel>}
 */
export async function loadModel(name) {
  const { topology, weights } = await readModel(name);
  const json = JSON.parse(topology.toString('utf8'));
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
 * Runs a model with one input and reads one output.
 * @param {import('@tensorflow/tfjs-converter').GraphModel} model
 * @param {Float32Array | Int32Array} values
 * @param {number[]} shape
 * @param {'float32' | 'int32'} dtype
 * @param {string} node name of the output
 * @returns {Float32Array}
 */
export function execute(model, values, shape, dtype, node) {
  const input = tf.tensor(values, shape, dtype);
  try {
    const output = model.execute(input, node);
    try {
      return /** @type {Float32Array} */ (output.dataSync());
    } finally {
      output.dispose();
    }
  } finally {
    input.dispose();
  }
}
