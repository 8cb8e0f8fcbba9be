// The bare network: N threads that only run it, on one prepared 16:9 picture. Prints the
// frames per second. Arguments: threads, frames of each thread, and "whole" for the
// published model: with the selection of its rows, on a square.
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { DETECTOR } from '../src/models.js';

if (isMainThread) {
  const [threads, frames] = process.argv.slice(2, 4).map(Number);
  const asked = { frames, whole: process.argv[4] === 'whole' };
  const all = Array.from({ length: threads }, () => new Worker(new URL(import.meta.url), { workerData: asked }));
  const once = (word) => Promise.all(all.map((thread) => new Promise((resolve, reject) => {
    thread.once('error', reject).on('message', (said) => said === word && resolve());
  })));
  const warm = once('warm');
  const done = once('done');
  await warm;
  const began = performance.now();
  for (const thread of all) thread.postMessage('go');
  await done;
  console.log((threads * frames * 1000) / (performance.now() - began));
  process.exit(0);
}

const { execute, loadModel, startRuntime } = await import('../src/tensorflow.js');
const { runNetwork } = await import('../src/detector.js');
await startRuntime();
const model = await loadModel(DETECTOR);
const picture = new Float32Array(512 * 512 * 3).fill(114);
const square = { values: picture, shape: [1, 512, 512, 3] };
const run = workerData.whole
  ? () => execute(model, { 'tower_0/images': square }, ['tower_0/detections'])
  : () => runNetwork(model, picture.subarray(0, 512 * 320 * 3), 512, 320);
run();
parentPort.once('message', () => {
  for (let i = 0; i < workerData.frames; i++) run();
  parentPort.postMessage('done');
});
parentPort.postMessage('warm');
