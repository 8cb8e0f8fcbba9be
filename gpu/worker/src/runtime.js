/**
 * The tensor runtime: ONNX Runtime on the processor. A model uses one core, because each
 * inference thread has its own.
 */
import ort from 'onnxruntime-node';
import { readModel } from './models.js';

/** Name of the runtime in the metadata. */
export const PLATFORM = 'onnxruntime_onnx';

/**
 * @param {string} name of a model in models.js
 * @returns {Promise<import('onnxruntime-node').InferenceSession>}
 */
export async function loadModel(name) {
  return ort.InferenceSession.create(await readModel(name), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
  });
}

/**
 * @param {import('onnxruntime-node').InferenceSession} model
 * @param {string} input its only input
 * @param {Float32Array} values
 * @param {number[]} shape
 * @returns {Promise<Record<string, Float32Array>>} the values of its outputs, by their names
 */
export async function execute(model, input, values, shape) {
  const outputs = await model.run({ [input]: new ort.Tensor('float32', values, shape) });
  return Object.fromEntries(Object.entries(outputs).map(([name, { data }]) => [name, /** @type {Float32Array} */ (data)]));
}
