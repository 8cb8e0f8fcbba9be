/**
 * Entry point. Serves on the listening socket that the parent passes as file descriptor 3.
 * Once every thread is warm, it prints one line of JSON: {"threads": number}.
 *
 * Ends when its standard input closes, because the parent has ended; on SIGTERM and SIGINT
 * after the requests in progress; and with status 1 when a thread dies. Then the parent
 * starts it again.
 *
 * Flags: --threads N (VQA_WORKER_THREADS; default: the cores of the machine),
 * --queue N (VQA_WORKER_QUEUE; frames that may wait, default 256).
 */
import os from 'node:os';
import { parseArgs } from 'node:util';
import { digest } from './models.js';
import { Pool } from './pool.js';
import { createServer } from './server.js';

/** Time for requests in progress after SIGTERM, in milliseconds. */
const GRACE_MS = 5000;

const { values: flags } = parseArgs({ options: { threads: { type: 'string' }, queue: { type: 'string' } } });
const threads = count('threads', flags.threads ?? process.env.VQA_WORKER_THREADS, os.availableParallelism());
const capacity = count('queue', flags.queue ?? process.env.VQA_WORKER_QUEUE, 256);

// Watched from the start: if the parent ends while the models load, the child must end too.
process.stdin.on('end', () => process.exit(0)).on('error', () => process.exit(0)).resume();

const [pool, weights] = await Promise.all([Pool.start({ threads, capacity }), digest()]);
pool.on('crash', (err) => {
  console.error(err);
  process.exit(1);
});
const server = createServer(pool, weights);
server.listen({ fd: 3 }, () => {
  process.stdout.write(`${JSON.stringify({ threads })}\n`);
});
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, stop);

async function stop() {
  setTimeout(() => process.exit(0), GRACE_MS).unref();
  server.close(async () => {
    await pool.close();
    process.exit(0);
  });
  server.closeIdleConnections();
}

/**
 * @param {string} name
 * @param {string | undefined} text
 * @param {number} preset
 * @returns {number}
 */
function count(name, text, preset) {
  if (text === undefined || text === '') return preset;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 1024) {
    console.error(`${name}: ${text} is not a whole number from 1 to 1024`);
    process.exit(2);
  }
  return value;
}
