import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colorShares, whiteOf } from '../src/colors.js';
import { COLORS, COLUMNS } from '../src/vocabulary.js';

const SIDE = 60, WHITE = 95, ALL = [0, 0, 1, 1];

/** A square of one color, with rectangles of other colors: x1, y1, x2, y2 in pixels and a color. */
function picture(color, ...parts) {
  const data = new Uint8Array(SIDE * SIDE * 3);
  for (const [x1, y1, x2, y2, rgb] of [[0, 0, SIDE, SIDE, color], ...parts]) {
    for (let y = y1; y < y2; y++) for (let x = x1; x < x2; x++) data.set(rgb, (y * SIDE + x) * 3);
  }
  return { width: SIDE, height: SIDE, data };
}

/** @returns {Record<string, number>} the shares over .05, rounded to tenths */
function named(shares, columns = COLORS) {
  return Object.fromEntries(columns.flatMap((name, i) => (shares[i] > 0.05 ? [[name, Math.round(shares[i] * 10) / 10]] : [])));
}

test('colors have their everyday names, and two names between them', async (t) => {
  const cases = [
    [[10, 10, 12], { black: 1 }], [[250, 250, 245], { white: 1 }], [[128, 128, 128], { gray: 1 }], [[200, 20, 30], { red: 1, orange: 0.1 }],
    [[30, 160, 60], { green: 1 }], [[30, 60, 200], { blue: 1, purple: 0.5 }], [[240, 220, 40], { yellow: 1 }], [[250, 130, 20], { orange: 1 }],
    [[110, 65, 30], { brown: 1, orange: 0.3 }], [[255, 150, 180], { pink: 1, red: 0.3 }], [[120, 40, 160], { purple: 1 }],
    [[168, 60, 32], { red: 1, orange: 0.8, brown: 0.4 }], // a safety vest
    [[214, 40, 26], { red: 1, orange: 0.4 }], // a car in the sun
  ];
  for (const [rgb, wanted] of cases) {
    await t.test(String(rgb), () => {
      const found = named(colorShares(picture(rgb), WHITE, ALL));
      assert.deepEqual(Object.keys(found).sort(), Object.keys(wanted).sort());
      for (const [name, share] of Object.entries(wanted)) assert.ok(Math.abs(found[name] - share) < 0.11, `${name}: ${found[name]}, not ${share}`);
    });
  }
});

test('white and gray are relative to the white of the scene', () => {
  assert.ok(Math.abs(whiteOf(picture([255, 255, 255])) - 100) < 1);
  assert.equal(whiteOf(picture([10, 10, 10])), 55, 'a dark scene has no white');
  const dim = picture([20, 20, 20], [0, 0, SIDE, 10, [150, 150, 150]]);
  const white = whiteOf(dim);
  assert.ok(Math.abs(white - 62) < 1, `lightness ${white}`);
  const top = [0, 0, 1, 10 / SIDE];
  assert.deepEqual(named(colorShares(dim, white, top)), { white: 1 });
  assert.deepEqual(named(colorShares(dim, WHITE, top)), { gray: 1 });
});

test('a pixel counts by how rare its color is around the box', () => {
  const green = [30, 160, 60];
  const car = picture(green, [20, 20, 35, 40, [250, 250, 250]]); // with grass beside it in its box
  const box = [20, 20, 40, 40].map((edge) => edge / SIDE);
  const shares = named(colorShares(car, WHITE, box));
  assert.ok(shares.white > 0.9 && !(shares.green > 0.1), JSON.stringify(shares));
  assert.deepEqual(named(colorShares(picture(green), WHITE, box)), { green: 1 }, 'a green thing on grass');
});

test('a body has colors for each quarter', () => {
  const image = picture([200, 20, 30], [0, 0, SIDE, SIDE / 2, [0, 0, 0]]);
  const quarters = COLUMNS.slice(COLORS.length);
  const body = named(colorShares(image, WHITE, ALL, true).subarray(COLORS.length), quarters);
  assert.deepEqual(Object.keys(body).filter((name) => !name.startsWith('orange')), ['black/1', 'black/2', 'red/3', 'red/4']);
  assert.deepEqual(named(colorShares(image, WHITE, ALL).subarray(COLORS.length), quarters), {});
});
