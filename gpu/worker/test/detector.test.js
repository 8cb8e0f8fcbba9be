import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Detector, LONGEST, runNetwork } from '../src/detector.js';
import { letterbox } from '../src/image.js';
import { JpegDecoder } from '../src/jpeg.js';
import { DETECTOR } from '../src/models.js';
import { peaks } from '../src/peaks.js';
import { execute, loadModel, startRuntime } from '../src/tensorflow.js';

await startRuntime();
const model = await loadModel(DETECTOR);
const picture = await new JpegDecoder().decode(await readFile(new URL('../testdata/stop-sign.jpg', import.meta.url)));

test('the rows equal those that the published model selects', () => {
  const values = new Float32Array(LONGEST * LONGEST * 3);
  letterbox(picture, LONGEST, LONGEST, values);
  const input = { values, shape: [1, LONGEST, LONGEST, 3] };
  const [rows] = execute(model, { 'tower_0/images': input }, ['tower_0/detections']);
  const cells = runNetwork(model, values, LONGEST, LONGEST);
  const found = peaks(cells, 1e-3, 100);
  assert.ok(found.length > 20, `${found.length} rows`);
  found.forEach(({ cls, cell, score }, at) => {
    const x = (cell % cells.columns) * 4, y = Math.floor(cell / cells.columns) * 4;
    const [left, up, right, down] = cells.reach.subarray(cell * 4, cell * 4 + 4);
    const row = [x - left, y - up, x + right, y + down, score, cls].map(Math.fround);
    assert.deepEqual(row, [...rows.subarray(at * 6, at * 6 + 6)], `row ${at}`);
  });
});

test('a frame of any shape has boxes in its own coordinates', async () => {
  const detector = await Detector.load();
  const side = Math.min(picture.width, picture.height);
  const left = Math.floor((picture.width - side) / 2);
  const data = new Uint8Array(side * side * 3);
  for (let y = 0; y < side; y++) {
    const from = (y * picture.width + left) * 3;
    data.set(picture.data.subarray(from, from + side * 3), y * side * 3);
  }
  const [whole] = detector.detect(picture, new Set([11]));
  const [cut] = detector.detect({ width: side, height: side, data }, new Set([11]));
  assert.ok(whole.score > 0.8 && cut.score > 0.8, `${whole.score}, ${cut.score}`);
  const inWhole = [cut.box[0] * side + left, cut.box[1] * side, cut.box[2] * side + left, cut.box[3] * side];
  const scale = [picture.width, picture.height, picture.width, picture.height];
  inWhole.forEach((edge, i) => assert.ok(Math.abs(edge / scale[i] - whole.box[i]) < 0.02, `edge ${i}`));
});
