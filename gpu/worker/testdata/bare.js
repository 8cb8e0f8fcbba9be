// The bare network: N threads that only run it, on one prepared 16:9 picture. Prints the
// frames per second, and the milliseconds of processor time for a frame. Arguments: threads,
// frames of each thread, and the longest side (default 640).
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { LONGEST, STRIDE, runNetwork } from '../src/detector.js';
import { DETECTOR } from '../src/models.js';
import { loadModel } from '../src/runtime.js';

if (isMainThread) {
  const [threads, frames, longest = LONGEST] = process.argv.slice(2, 5).map(Number);
  const all = Array.from({ length: threads }, () => new Worker(new URL(import.meta.url), { workerData: { frames, longest } }));
  const once = (word) => Promise.all(all.map((thread) => new Promise((resolve, reject) => {
    thread.once('error', reject).on('message', (said) => said === word && resolve());
  })));
  const warm = once('warm');
  const done = once('done');
  await warm;
  const began = performance.now(), used = process.cpuUsage();
  for (const thread of all) thread.postMessage('go');
  await done;
  const { user, system } = process.cpuUsage(used);
  const total = threads * frames;
  console.log(`${((total * 1000) / (performance.now() - began)).toFixed(1)} frames/s, ${((user + system) / 1000 / total).toFixed(1)} ms`);
  process.exit(0);
}

const { frames, longest } = workerData;
const width = longest, height = Math.ceil(((longest * 9) / 16 / STRIDE) + 0.5) * STRIDE;
const model = await loadModel(DETECTOR);
const picture = new Float32Array(width * height * 3).fill(114);
await runNetwork(model, picture, width, height);
parentPort.once('message', async () => {
  for (let i = 0; i < frames; i++) await runNetwork(model, picture, width, height);
  parentPort.postMessage('done');
});
parentPort.postMessage('warm');
