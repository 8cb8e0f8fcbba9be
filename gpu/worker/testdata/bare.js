// The bare network: N threads that do nothing but run it, on the paper of one 16:9 picture, ready.
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

const { loadModel, startRuntime } = await import('../src/tensorflow.js');
const { runNetwork } = await import('../src/detector.js');
await startRuntime();
const model = await loadModel(DETECTOR);
const picture = new Float32Array(512 * 320 * 3).fill(114);
const run = () => runNetwork(model, picture, 512, 320);
run();
parentPort.once('message', () => {
  for (let i = 0; i < workerData; i++) run();
  parentPort.postMessage('done');
});
parentPort.postMessage('warm');
