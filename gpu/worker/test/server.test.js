import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { JpegDecoder } from '../src/jpeg.js';

const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
const picture = await readFile(new URL('../testdata/stop-sign.jpg', import.meta.url));
/** Place of the sign in the picture: x1, y1, x2, y2. */
const SIGN = [0.383, 0.208, 0.617, 0.625];

/** Starts the worker as its parent program does. */
async function startWorker(...flags) {
  const socket = net.createServer().listen(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  const child = spawn(process.execPath, [main, '--threads', '2', ...flags], { stdio: ['pipe', 'pipe', 'inherit', socket._handle.fd] });
  socket.close(); // from now on, only the child accepts connections
  const [line] = await once(createInterface(child.stdout), 'line');
  const { threads } = JSON.parse(line);
  return { child, threads, url: `http://127.0.0.1:${port}` };
}

/** @param {Buffer[]} list */
function elements(list) {
  return Buffer.concat(list.flatMap((bytes) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(bytes.length);
    return [size, bytes];
  }));
}

/** @returns {Promise<{status: number, body: any, retryAfter: string | null}>} */
async function infer({ url }, frames, terms, { outputs, pose } = {}) {
  const raw = elements(frames);
  const json = Buffer.from(JSON.stringify({
    inputs: [
      { name: 'FRAMES', datatype: 'BYTES', shape: [frames.length], parameters: { binary_data_size: raw.length } },
      { name: 'TERMS', datatype: 'BYTES', shape: [terms.length], data: terms },
      ...(pose ? [{ name: 'WANT_POSE', datatype: 'BOOL', shape: [1], data: [true] }] : []),
    ],
    ...(outputs && { outputs: outputs.map((name) => ({ name })) }),
  }));
  const res = await fetch(`${url}/v2/models/detect/infer`, {
    method: 'POST', headers: { 'Inference-Header-Content-Length': String(json.length) }, body: Buffer.concat([json, raw]),
  });
  return { status: res.status, body: await res.json(), retryAfter: res.headers.get('Retry-After') };
}

/** @returns {Record<string, {shape: number[], data: any[]}>} */
function byName({ body }) {
  return Object.fromEntries(body.outputs.map((output) => [output.name, output]));
}

let worker;
before(async () => { worker = await startWorker(); });
after(() => worker.child.stdin.end());

test('the sign is found at its place in every frame, and nothing else', async () => {
  const response = await infer(worker, [picture, picture, picture], ['elephant', 'stop sign', 'unicorn']);
  assert.equal(response.status, 200);
  const { BOXES, SCORES, TERM_INDEX, FRAME_INDEX, KNOWN_TERMS } = byName(response);
  assert.deepEqual(KNOWN_TERMS.data, [true, true, false]);
  const sure = SCORES.data.map((score, row) => ({ score, row })).filter(({ score }) => score > 0.5);
  assert.deepEqual(sure.map(({ row }) => FRAME_INDEX.data[row]), [0, 1, 2]);
  for (const { row } of sure) {
    assert.equal(TERM_INDEX.data[row], 1);
    SIGN.forEach((edge, i) => assert.ok(Math.abs(BOXES.data[row * 4 + i] - edge) < 0.03, `edge ${i}: ${BOXES.data[row * 4 + i]}`));
  }
});

test('a picture without compression gives what its JPEG gives', async () => {
  const { width, height, data } = await new JpegDecoder().decode(picture);
  const ppm = Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), Buffer.from(data)]);
  const ask = async (frame) => byName(await infer(worker, [frame], ['stop sign', 'clock'], { outputs: ['BOXES', 'SCORES', 'COLORS', 'SHADES'] }));
  assert.deepEqual(await ask(ppm), await ask(picture));
});

test('the same input gives the same bytes', async () => {
  const ask = () => infer(worker, [picture, picture], ['stop sign', 'clock', 'tv']);
  const first = await ask();
  assert.ok(byName(first).SCORES.data.length > 0);
  for (const again of await Promise.all([ask(), ask(), ask()])) assert.deepEqual(again, first);
});

test('colors and poses are sent when requested, a row for each detection', async () => {
  const { SCORES, COLORS, KEYPOINTS } = byName(
    await infer(worker, [picture], ['stop sign'], { outputs: ['SCORES', 'COLORS', 'KEYPOINTS'], pose: true }));
  assert.deepEqual(COLORS.shape, [SCORES.shape[0], 55]);
  assert.deepEqual(KEYPOINTS.shape, [SCORES.shape[0], 17, 3]);
  assert.ok(COLORS.data[2] > 0.5, `share of red: ${COLORS.data[2]}`);
  assert.ok(KEYPOINTS.data.every((value) => value === 0), 'a sign has no pose');
});

test('the brightness of every frame is sent when requested', async () => {
  const { SHADES } = byName(await infer(worker, [picture, picture], ['unicorn'], { outputs: ['SHADES'] }));
  assert.deepEqual(SHADES.shape, [2, 32, 32]);
  assert.ok(SHADES.data.every((shade) => Number.isInteger(shade) && shade >= 0 && shade < 32));
  assert.ok(new Set(SHADES.data).size > 3);
  assert.deepEqual(SHADES.data.slice(0, 1024), SHADES.data.slice(1024));
});

test('unknown terms need no inference', async () => {
  const { SCORES, KNOWN_TERMS } = byName(await infer(worker, [picture], ['unicorn']));
  assert.deepEqual([SCORES.data, KNOWN_TERMS.data], [[], [false]]);
});

test('bad requests are answered with 400 and the worker keeps running', async (t) => {
  const cases = {
    'a frame that is not a JPEG': [[picture, Buffer.from('hello')], ['dog'], /frame 1: not a JPEG/],
    'a damaged JPEG': [[picture.subarray(0, 700)], ['dog'], /frame 0: damaged/],
    'a PPM that is cut off': [[Buffer.from('P6\n2 2\n255\n0123456789')], ['dog'], /frame 0: damaged PPM image: 10 bytes/],
    'a PPM of no size': [[Buffer.from('P6\n0 2\n255\n')], ['dog'], /frame 0: damaged PPM/],
    'a PPM of another depth': [[Buffer.from('P6\n1 1\n65535\n012345')], ['dog'], /frame 0: damaged PPM/],
    'no frames': [[], ['dog'], /FRAMES/],
    'no terms': [[picture], [], /TERMS/],
    'a term twice': [[picture], ['dog', 'dog'], /twice/],
  };
  for (const [name, [frames, terms, message]] of Object.entries(cases)) {
    await t.test(name, async () => {
      const { status, body } = await infer(worker, frames, terms);
      assert.equal(status, 400);
      assert.match(body.error, message);
    });
  }
  assert.equal((await infer(worker, [picture], ['stop sign'])).status, 200);
});

test('metadata lists the vocabulary and the concurrency', async () => {
  const meta = await (await fetch(`${worker.url}/v2/models/detect`)).json();
  assert.equal(meta.parameters.vocabulary.split(',').length, 80);
  assert.equal(meta.parameters.max_concurrency, '2');
  for (const path of ['/v2/health/live', '/v2/health/ready', '/v2/models/detect/ready', '/v2']) {
    assert.equal((await fetch(worker.url + path)).status, 200, path);
  }
  assert.equal((await fetch(`${worker.url}/v2/models/other`)).status, 404);
});

test('more frames than the queue holds are refused with 503', async (t) => {
  const small = await startWorker('--queue', '1');
  t.after(() => small.child.stdin.end());
  const { status, retryAfter } = await infer(small, Array(4).fill(picture), ['dog']);
  assert.deepEqual([status, retryAfter], [503, '1']);
});

test('the worker ends when its parent does', async () => {
  const { child } = await startWorker();
  child.stdin.end();
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('SIGTERM lets the request in progress finish', async () => {
  const own = await startWorker();
  const asked = infer(own, Array(2).fill(picture), ['stop sign']);
  // The connection counts as in progress when the server has accepted it. A second request
  // proves that it accepts.
  await fetch(`${own.url}/v2/health/ready`);
  own.child.kill('SIGTERM');
  assert.equal((await asked).status, 200);
  assert.deepEqual(await once(own.child, 'exit'), [0, null]);
});

test('flags out of range are refused', async () => {
  const child = spawn(process.execPath, [main, '--threads', '0'], { stdio: ['pipe', 'ignore', 'ignore'] });
  assert.deepEqual(await once(child, 'exit'), [2, null]);
});
