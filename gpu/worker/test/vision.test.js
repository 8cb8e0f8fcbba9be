import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suppress } from '../src/boxes.js';
import { cropSquare, letterbox, shrink } from '../src/image.js';
import { detectTurned, turn, turnBack } from '../src/rotate.js';
import { shadesOf } from '../src/shades.js';
import { peaks } from '../src/peaks.js';
import { joints } from '../src/pose.js';
import { VOCABULARY, classOf } from '../src/vocabulary.js';

/** An image of one color. */
function plain(width, height, [r, g, b]) {
  const data = new Uint8Array(width * height * 3);
  for (let i = 0; i < data.length; i += 3) data.set([r, g, b], i);
  return { width, height, data };
}

test('suppress keeps one box per object and class', () => {
  const box = (cls, score, ...corners) => ({ cls, score, box: corners });
  const best = box(1, 0.9, 0, 0, 0.5, 0.5);
  const shifted = box(1, 0.8, 0.05, 0, 0.55, 0.5);
  const part = box(1, 0.7, 0.1, 0.1, 0.2, 0.2);
  const otherClass = box(2, 0.6, 0, 0, 0.5, 0.5);
  const neighbor = box(1, 0.5, 0.45, 0, 0.95, 0.5);
  assert.deepEqual(suppress([neighbor, part, shifted, otherClass, best]), [best, otherClass, neighbor]);
});

test('suppress keeps the order of equal scores', () => {
  const a = { cls: 1, score: 0.5, box: [0, 0, 0.1, 0.1] };
  const b = { cls: 1, score: 0.5, box: [0.5, 0.5, 0.6, 0.6] };
  assert.deepEqual(suppress([a, b]), [a, b]);
  assert.deepEqual(suppress([b, a]), [b, a]);
});

test('letterbox centers on black and enlarges nothing', () => {
  const out = new Float32Array(16 * 16 * 3).fill(9);
  assert.deepEqual(letterbox(plain(6, 3, [1, 2, 3]), 16, 4, out), { x: 1, y: 2, width: 6, height: 3, paper: { width: 8, height: 8 } });
  const at = (x, y) => [0, 1, 2].map((color) => out[color * 64 + y * 8 + x]);
  assert.deepEqual([at(1, 2), at(6, 4)], [[1, 2, 3], [1, 2, 3]]);
  assert.deepEqual([at(0, 3), at(7, 3), at(1, 1), at(6, 5), at(7, 7)], Array(5).fill([0, 0, 0]));
  assert.equal(out[3 * 64], 9, 'the paper ends');
});

test('letterbox makes the paper little larger than the picture', () => {
  const out = new Float32Array(512 * 512 * 3);
  assert.deepEqual(letterbox(plain(1280, 720, [0, 0, 0]), 512, 32, out).paper, { width: 512, height: 320 });
  assert.deepEqual(letterbox(plain(360, 640, [0, 0, 0]), 512, 32, out).paper, { width: 320, height: 512 });
  assert.deepEqual(letterbox(plain(512, 272, [0, 0, 0]), 512, 32, out).paper, { width: 512, height: 288 });
  assert.deepEqual(letterbox(plain(512, 500, [0, 0, 0]), 512, 32, out).paper, { width: 512, height: 512 });
});

test('shrink averages all pixels and keeps the aspect ratio', () => {
  const image = plain(16, 4, [0, 0, 0]);
  for (let i = 0; i < image.data.length; i += 6) image.data.set([200, 100, 50], i);
  const small = shrink(image, 4);
  assert.deepEqual([small.width, small.height], [4, 1]);
  assert.deepEqual([...small.data.subarray(0, 3)], [100, 50, 25]);
});

test('shades are the brightness of equal parts', () => {
  assert.deepEqual(new Set(shadesOf(plain(512, 288, [255, 255, 255]))), new Set([31]));
  assert.deepEqual(new Set(shadesOf(plain(3, 500, [0, 0, 0]))), new Set([0]));
  const image = plain(64, 96, [0, 0, 0]);
  for (let y = 30; y < 33; y++) for (let x = 10; x < 12; x++) image.data.fill(128, (y * 64 + x) * 3, (y * 64 + x) * 3 + 3);
  const bright = [...shadesOf(image)].flatMap((shade, cell) => (shade ? [[cell, shade]] : []));
  assert.deepEqual(bright, [[10 * 32 + 5, 16]]);
});

test('cropSquare reads gray outside the frame', () => {
  const out = new Float32Array(4 * 4 * 3);
  cropSquare(plain(4, 4, [7, 8, 9]), { x: -4, y: 0, side: 8 }, 4, out);
  assert.deepEqual([0, 16, 32].map((color) => out[color]), [114, 114, 114]);
  assert.deepEqual([3, 19, 35].map((color) => out[color]), [7, 8, 9]);
});

test('a turned picture and its boxes turn back', async () => {
  const image = plain(8, 4, [0, 0, 0]);
  image.data[(1 * 8 + 2) * 3] = 200;
  assert.equal(turn(image, 180).data[(2 * 8 + 5) * 3], 200);
  const wide = plain(60, 40, [0, 0, 0]);
  wide.data[(10 * 60 + 45) * 3] = 250; // the upper right goes down when it turns clockwise
  const brightest = turn(wide, 30).data.reduce((best, value, at, all) => (value > all[best] ? at : best), 0) / 3;
  assert.deepEqual([Math.floor(brightest % 60), Math.floor(brightest / 60)], [48, 19]);
  const close = (found, wanted) => found.forEach((edge, i) => assert.ok(Math.abs(edge - wanted[i]) < 1e-3, String(found)));
  close(turnBack([0.1, 0.2, 0.3, 0.5], image, 180), [0.7, 0.5, 0.9, 0.8]);
  close(turnBack([47 / 60, 18 / 40, 50 / 60, 21 / 40], wide, 30), [44.27 / 60, 8.817 / 40, 47.27 / 60, 11.817 / 40]);
  close(turnBack([0, 0, 0.1, 0.1], wide, 8), [0, 0.0983, 0.0626, 0.1983]);
});

test('one box is left of an object that several views show', async () => {
  const upright = { cls: 1, score: 0.2, box: [0.1, 0.1, 0.3, 0.3] };
  const views = [[upright], [], [], [{ cls: 1, score: 0.6, box: [0.7, 0.7, 0.9, 0.9] }, { cls: 2, score: 0.3, box: [0, 0, 0.5, 0.5] }]];
  const found = await detectTurned(plain(9, 9, [0, 0, 0]), async () => views.shift());
  assert.deepEqual(found.map(({ cls, score }) => [cls, score]), [[1, 0.6], [2, 0.3]]);
});

test('a peak is higher than its neighbors of the same class', () => {
  const columns = 3, rows = 2;
  const scores = new Float32Array(columns * rows * VOCABULARY.length);
  const set = (cell, cls, score) => { scores[cls * columns * rows + cell] = score; };
  set(0, 7, 0.5);
  set(4, 7, 0.25); // beside cell 0
  set(4, 8, 0.75);
  set(2, 7, 0.5);
  set(5, 9, 0.125);
  const all = [{ cls: 8, cell: 4, score: 0.75 }, { cls: 7, cell: 0, score: 0.5 }, { cls: 7, cell: 2, score: 0.5 }, { cls: 9, cell: 5, score: 0.125 }];
  assert.deepEqual(peaks({ scores, columns, rows }, 0.125, 9), all);
  assert.deepEqual(peaks({ scores, columns, rows }, 0.2, 9), all.slice(0, 3));
  assert.deepEqual(peaks({ scores, columns, rows }, 0.125, 2), all.slice(0, 2));
});

test('a joint is where its heat is high near the place that the middle of the body points to', () => {
  const cells = 48 * 48, at = (x, y) => y * 48 + x;
  const maps = { center: new Float32Array(cells), heat: new Float32Array(cells * 17), regress: new Float32Array(cells * 34), offset: new Float32Array(cells * 34) };
  const middle = at(20, 24), here = at(30, 12), other = at(3, 40);
  maps.center[middle] = 1;
  maps.regress[2 * cells + middle] = -12; // the second joint, down
  maps.regress[3 * cells + middle] = 10; // and to the right
  maps.heat[cells + here] = 0.5;
  maps.heat[cells + other] = 0.75;
  maps.offset[2 * cells + here] = 0.5;
  maps.offset[3 * cells + here] = -0.25;
  assert.deepEqual([...joints(maps).subarray(3, 6)], [29.75 / 48, 12.5 / 48, 0.5].map(Math.fround));
});

test('only the names of classes are found', () => {
  assert.equal(VOCABULARY.length, 80);
  VOCABULARY.forEach((name, index) => assert.equal(classOf(name), index));
  assert.equal(classOf('unicorn'), -1);
});
