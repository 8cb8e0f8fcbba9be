// A thread for the tests of the pool. It answers with the value, error or exit that the
// work asks for, after the lock of the work, if any, was opened.
import { parentPort } from 'node:worker_threads';

parentPort.on('message', ({ value, error, die, lock }) => {
  if (lock) Atomics.wait(lock, 0, 0);
  if (die) process.exit(7);
  parentPort.postMessage(error ? { error } : { result: value });
});
parentPort.postMessage({ ready: true });
