// A thread for the pool's tests: answers with the value, error or death that the
// work asks for, after the work's lock (if any) was opened.
import { parentPort } from 'node:worker_threads';

parentPort.on('message', ({ value, error, die, lock }) => {
  if (lock) Atomics.wait(lock, 0, 0);
  if (die) process.exit(7);
  parentPort.postMessage(error ? { error } : { look: value });
});
parentPort.postMessage({ ready: true });
