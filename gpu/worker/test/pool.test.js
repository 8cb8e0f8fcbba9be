import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Pool } from '../src/pool.js';

const script = new URL('../testdata/gate-thread.js', import.meta.url);
const never = new AbortController().signal;

/** A pool with the threads of testdata/gate-thread.js, which answer as the work says. */
async function start(t, threads, capacity) {
  const pool = await Pool.start({ threads, capacity, script });
  t.after(() => pool.close());
  return pool;
}

/** A lock that a thread waits on until it is opened. */
function gate() {
  const lock = new Int32Array(new SharedArrayBuffer(4));
  return { lock, open: () => { Atomics.store(lock, 0, 1); Atomics.notify(lock, 0); } };
}

test('results keep the order of the works', async (t) => {
  const pool = await start(t, 3, 100);
  const works = Array.from({ length: 50 }, (_, value) => ({ value }));
  assert.deepEqual(await pool.run(works, never), works.map(({ value }) => value));
});

test('a full queue refuses with 503 and takes work again once it has room', async (t) => {
  const pool = await start(t, 1, 1);
  const { lock, open } = gate();
  const first = pool.run([{ value: 1, lock }], never);
  const second = pool.run([{ value: 2 }], never);
  assert.equal(pool.full, true);
  await assert.rejects(pool.run([{ value: 3 }], never), { status: 503 });
  open();
  assert.deepEqual([await first, await second], [[1], [2]]);
  assert.deepEqual(await pool.run([{ value: 3 }], never), [3]);
});

test('an aborted request leaves the queue at once', async (t) => {
  const pool = await start(t, 1, 2);
  const { lock, open } = gate();
  const running = pool.run([{ value: 1, lock }], never);
  const gone = new AbortController();
  const waiting = pool.run([{ value: 2 }, { value: 3 }], gone.signal);
  assert.equal(pool.full, true);
  gone.abort();
  await assert.rejects(waiting, /dropped/);
  assert.equal(pool.full, false);
  open();
  assert.deepEqual(await running, [1]);
});

test('a failing frame fails its request, names itself, and drops the rest', async (t) => {
  const pool = await start(t, 1, 10);
  await assert.rejects(pool.run([{ value: 0 }, { error: 'bad' }, { value: 2 }], never), { status: 400, message: 'frame 1: bad' });
  assert.deepEqual(await pool.run([{ value: 4 }], never), [4]);
});

test('a dead thread fails its request and is reported', async (t) => {
  const pool = await start(t, 1, 10);
  const crash = once(pool, 'crash');
  await assert.rejects(pool.run([{ die: true }], never), /ended with code 7/);
  assert.match((await crash)[0].message, /ended with code 7/);
});

test('closing fails the waiting frames', async (t) => {
  const pool = await start(t, 1, 10);
  const { lock } = gate();
  const running = pool.run([{ value: 1, lock }], never);
  const failed = assert.rejects(running, { status: 503 });
  await pool.close();
  await failed;
  await assert.rejects(pool.run([{ value: 1 }], never), { status: 503 });
});
