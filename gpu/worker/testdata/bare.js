// The bare model: N threads that do nothing but run it, on one picture that is ready.
// Prints the frames that they do in a second. Arguments: threads, frames of each thread.
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { DETECTOR } from '../src/models.js';

if (isMainThread) {
  const [threads, frames] = process.argv.slice(2).map(Number);
  const all = Array.from({ length: threads }, () => new Worker(new URL(import.meta.url), { workerData: frames }));
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
await startRuntime();
const model = await loadModel(DETECTOR);
const picture = new Float32Array(512 * 512 * 3).fill(114);
const run = () => execute(model, picture, [1, 512, 512, 3], 'float32', 'tower_0/detections');
run();
parentPort.once('message', () => {
  for (let i = 0; i < workerData; i++) run();
  parentPort.postMessage('done');
});
parentPort.postMessage('warm');
