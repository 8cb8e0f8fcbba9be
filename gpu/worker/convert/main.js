/**
 * Writes the models of the worker to its folder `models`, from the weights that an npm package
 * holds. Files that are there and right are kept. Fails when the bytes of a result are not those
 * that src/models.js records.
 */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { MODELS, checksum, modelFile, readModel } from '../src/models.js';
import { convert } from './tensorflow.js';

// The exports of the package do not include its models: they are found beside its entry
// point.
const sources = path.join(path.dirname(createRequire(import.meta.url).resolve('@vladmandic/human')), '..', 'models');

/** @type {Record<string, import('./tensorflow.js').Conversion>} */
const CONVERSIONS = {
  centernet: {
    inputs: { 'tower_0/images': 'images' },
    outputs: { 'tower_0/keypoints': 'scores', 'tower_0/wh': 'reach' },
    shapes: {
      images: ['frames', 3, 'height', 'width'],
      scores: ['frames', 80, 'rows', 'columns'],
      reach: ['frames', 4, 'rows', 'columns'],
    },
  },
  // Without what the published model does before and after the network: src/pose.js does it.
  'movenet-lightning': {
    inputs: { 'StatefulPartitionedCall/stack': 'image' },
    outputs: {
      'StatefulPartitionedCall/truediv_2': 'center',
      'StatefulPartitionedCall/Sigmoid': 'heat',
      'StatefulPartitionedCall/kpt_regress_0/conv2d_6/BiasAdd': 'regress',
      'StatefulPartitionedCall/kpt_offset_0/conv2d_7/BiasAdd': 'offset',
    },
    shapes: {
      image: ['people', 3, 192, 192],
      center: ['people', 1, 48, 48],
      heat: ['people', 17, 48, 48],
      regress: ['people', 34, 48, 48],
      offset: ['people', 34, 48, 48],
    },
  },
};

for (const [name, conversion] of Object.entries(CONVERSIONS)) {
  if (await readModel(name).then(() => true, () => false)) continue;
  const bytes = convert(path.join(sources, `${name}.json`), conversion);
  if (checksum(bytes) !== MODELS[name]) throw new Error(`${name}.onnx has the SHA-256 ${checksum(bytes)}, not ${MODELS[name]}`);
  const file = modelFile(name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(`${file}.new`, bytes);
  await rename(`${file}.new`, file);
  console.log(`wrote ${path.relative(process.cwd(), file)}`);
}
