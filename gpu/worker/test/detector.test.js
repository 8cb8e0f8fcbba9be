import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Detector, LONGEST, STRIDE } from '../src/detector.js';
import { cropSquare, letterbox } from '../src/image.js';
import { JpegDecoder } from '../src/jpeg.js';
import { DETECTOR, POSES } from '../src/models.js';
import { SIDE } from '../src/pose.js';
import { execute, loadModel } from '../src/runtime.js';

const picture = await new JpegDecoder().decode(await readFile(new URL('../testdata/stop-sign.jpg', import.meta.url)));
/** Values of the published models on this picture, by their index, computed with TensorFlow.js 4.22. */
const samples = JSON.parse(await readFile(new URL('../testdata/samples.json', import.meta.url), 'utf8'));

/**
 * Kernels of other processors add in another order. On one processor, the scores differed by up
 * to 1.4e-6, a reach of 313 pixels by 1e-3 and a distance of 66 cells by 2e-4.
 */
const TOLERANCE = { scores: 1e-3, reach: 0.05, center: 1e-3, heat: 1e-3, regress: 0.01, offset: 0.01 };

test('the converted models have the values of the published ones', async (t) => {
  const paper = new Float32Array(LONGEST * LONGEST * 3);
  const { paper: { width, height } } = letterbox(picture, LONGEST, STRIDE, paper);
  const square = new Float32Array(SIDE * SIDE * 3);
  cropSquare(picture, { x: 0, y: 0, side: picture.width }, SIDE, square);
  const cases = {
    [DETECTOR]: ['images', paper.subarray(0, width * height * 3), [1, 3, height, width]],
    [POSES]: ['image', square, [1, 3, SIDE, SIDE]],
  };
  for (const [name, [input, values, shape]] of Object.entries(cases)) {
    const found = await execute(await loadModel(name), input, values, shape);
    for (const [output, wanted] of Object.entries(samples[name])) {
      await t.test(`${name} ${output}`, () => {
        const off = Object.entries(wanted).map(([index, value]) => Math.abs(found[output][index] - value));
        assert.ok(off.length >= 48 && Math.max(...off) < TOLERANCE[output], `${off.length} values, off by up to ${Math.max(...off)}`);
      });
    }
  }
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
  const [whole] = await detector.detect(picture, new Set([11]));
  const [cut] = await detector.detect({ width: side, height: side, data }, new Set([11]));
  assert.ok(whole.score > 0.8 && cut.score > 0.8, `${whole.score}, ${cut.score}`);
  const inWhole = [cut.box[0] * side + left, cut.box[1] * side, cut.box[2] * side + left, cut.box[3] * side];
  const scale = [picture.width, picture.height, picture.width, picture.height];
  inWhole.forEach((edge, i) => assert.ok(Math.abs(edge / scale[i] - whole.box[i]) < 0.02, `edge ${i}`));
});
