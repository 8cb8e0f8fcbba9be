/**
 * Converts a graph model of TensorFlow.js, with the operators of the worker's models, to ONNX.
 *
 * The source keeps the channels of a picture last, ONNX before its rows. Kernels and constants
 * are transposed once, here, so that the result has no node that only moves values.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Graph } from './onnx.js';

/** Activations of a fused convolution, and of their own. */
const ACTIVATIONS = { Relu: 'Relu', Relu6: 'Clip', Sigmoid: 'Sigmoid' };
const BINARY = { Add: 'Add', AddV2: 'Add', Sub: 'Sub', Mul: 'Mul' };

/**
 * @typedef {object} Conversion
 * @property {Record<string, string>} inputs name of each node of the source that becomes an input
 * @property {Record<string, string>} outputs name of each node of the source that becomes an output
 * @property {Record<string, (number | string)[]>} shapes of the inputs and outputs, by their new names
 */

/**
 * @param {string} file the model's JSON, beside its weights
 * @param {Conversion} conversion
 * @returns {Uint8Array} an ONNX file
 */
export function convert(file, { inputs, outputs, shapes }) {
  const model = JSON.parse(readFileSync(file, 'utf8'));
  const converter = new Converter(model, readWeights(model, path.dirname(file)), inputs);
  for (const [node, name] of Object.entries(outputs)) converter.graph.node('Identity', [converter.value(node)], name);
  const shapesOf = (names) => Object.fromEntries(Object.values(names).map((name) => [name, shapes[name]]));
  return converter.graph.encode(path.basename(file, '.json'), shapesOf(inputs), shapesOf(outputs));
}

/**
 * @typedef {{shape: number[], values: ArrayLike<number>}} Weights
 *
 * @param {any} model
 * @param {string} folder
 * @returns {Map<string, Weights>}
 */
function readWeights(model, folder) {
  const weights = new Map();
  for (const { paths, weights: specs } of model.weightsManifest) {
    const bytes = Buffer.concat(paths.map((name) => readFileSync(path.join(folder, name))));
    let at = 0;
    for (const { name, shape, dtype, quantization } of specs) {
      const half = quantization?.dtype === 'float16';
      const read = half ? () => halfFloat(bytes.readUInt16LE(at)) : dtype === 'int32' ? () => bytes.readInt32LE(at) : () => bytes.readFloatLE(at);
      const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
      for (let i = 0; i < values.length; i++, at += half ? 2 : 4) values[i] = read();
      weights.set(name, { shape, values });
    }
    if (at !== bytes.length) throw new Error(`${paths} has ${bytes.length} bytes, not ${at}`);
  }
  return weights;
}

/**
 * @param {number} bits of an IEEE 754 number of 16 bits
 * @returns {number}
 */
function halfFloat(bits) {
  const exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) throw new Error('a weight is not a finite number');
  const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -size : size;
}

class Converter {
  graph = new Graph();
  #nodes;
  #weights;
  /** @type {Map<string, string>} names in the graph of the converted nodes */
  #done;

  /**
   * @param {any} model
   * @param {Map<string, Weights>} weights
   * @param {Record<string, string>} inputs
   */
  constructor(model, weights, inputs) {
    this.#nodes = new Map(model.modelTopology.node.map((node) => [node.name, node]));
    this.#weights = weights;
    this.#done = new Map(Object.entries(inputs));
  }

  /**
   * Converts a node with all that it depends on.
   * @param {string} name
   * @returns {string} its name in the graph
   */
  value(name) {
    if (!this.#done.has(name)) this.#done.set(name, this.#weights.has(name) ? this.#operand(name) : this.#convert(this.#nodes.get(name)));
    return this.#done.get(name);
  }

  /** @param {any} node */
  #convert({ name, op, input, attr }) {
    const from = (...at) => at.map((i) => this.value(input[i]));
    if (op.endsWith('Conv2D')) return this.#convolution(name, input, attr, false);
    if (op.endsWith('DepthwiseConv2dNative')) return this.#convolution(name, input, attr, true);
    if (op in ACTIVATIONS) return this.#activation(op, from(0)[0], name);
    if (op in BINARY) return this.graph.node(BINARY[op], from(0, 1), name);
    switch (op) {
      case 'Identity': return this.graph.node('Identity', from(0), name);
      case 'Mean': return this.graph.node('GlobalAveragePool', from(0), name);
      case 'ConcatV2': return this.graph.node('Concat', from(...input.slice(1).keys()), name, { axis: 1 });
      case 'ResizeBilinear': return this.#twice(name, from(0)[0], attr.half_pixel_centers.b);
    }
    throw new Error(`${name}: the operator ${op} is not supported`);
  }

  /** Doubles both sides: the models of the worker use the operator for nothing else. */
  #twice(name, input, halfPixels) {
    const scales = this.graph.constant('twice', [4], [1, 1, 2, 2]);
    const mode = halfPixels ? 'half_pixel' : 'asymmetric';
    return this.graph.node('Resize', [input, '', scales], name, { mode: 'linear', coordinate_transformation_mode: mode });
  }

  #activation(op, input, name) {
    const limits = op === 'Relu6' ? [this.graph.constant('0', [], [0]), this.graph.constant('6', [], [6])] : [];
    return this.graph.node(ACTIVATIONS[op], [input, ...limits], name);
  }

  #convolution(name, input, attr, depthwise) {
    const { shape: [height, width, channels, outputs], values } = this.#weights.get(input[1]);
    if (depthwise && outputs !== 1) throw new Error(`${name}: ${outputs} outputs for each channel are not supported`);
    // HWIO to OIHW; for a depthwise kernel HWC1 to C1HW.
    const [rows, columns] = depthwise ? [channels, 1] : [outputs, channels];
    const area = height * width;
    const kernel = new Float32Array(values.length);
    for (let o = 0, to = 0; o < rows; o++) {
      for (let i = 0; i < columns; i++) {
        for (let at = 0; at < area; at++, to++) kernel[to] = values[depthwise ? at * channels + o : (at * channels + i) * outputs + o];
      }
    }
    const operands = [this.value(input[0]), this.graph.constant(`${name}/kernel`, [rows, columns, height, width], kernel)];
    if (input.length > 2) operands.push(this.graph.constant(`${name}/bias`, [rows], this.#weights.get(input[2]).values));
    const [, activation] = (attr.fused_ops?.list.s ?? []).map(text);
    const output = activation ? `${name}/linear` : name;
    this.graph.node('Conv', operands, output, {
      auto_pad: text(attr.padding.s) === 'SAME' ? 'SAME_UPPER' : 'VALID',
      group: depthwise ? channels : 1,
      kernel_shape: [height, width],
      strides: attr.strides.list.i.slice(1, 3).map(Number),
    });
    return activation ? this.#activation(activation, output, name) : output;
  }

  /** A constant of an arithmetic node: the channels of its last dimension come before rows and columns. */
  #operand(name) {
    const { shape, values } = this.#weights.get(name);
    const [height, width, channels] = [1, 1, 1, ...shape].slice(-3);
    const moved = new Float32Array(values.length);
    for (let at = 0; at < values.length; at++) moved[(at % channels) * height * width + Math.floor(at / channels)] = values[at];
    return this.graph.constant(name, [1, channels, height, width], moved);
  }
}

/** @param {string} base64 */
function text(base64) {
  return Buffer.from(base64, 'base64').toString();
}
