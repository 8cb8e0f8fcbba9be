/**
 * Builds a graph and encodes it as an ONNX file. Equal calls give equal bytes.
 */
import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';

const { root } = protobuf.parse(readFileSync(new URL('./onnx.proto', import.meta.url), 'utf8'), { keepCase: true });
const ModelProto = root.lookupType('onnx.ModelProto');

/** Codes of TensorProto.DataType and AttributeProto.AttributeType. */
const FLOAT = 1;
const ATTRIBUTE = { i: 2, s: 3, ints: 7 };
/** The oldest set of operators that has all that are used, so that any runtime reads the file. */
const OPSET = 13, IR_VERSION = 8;

export class Graph {
  #nodes = [];
  /** @type {Map<string, object>} */
  #constants = new Map();

  /**
   * Adds a node with one output.
   * @param {string} type of the operator
   * @param {string[]} input
   * @param {string} output
   * @param {Record<string, number | number[] | string>} [attributes]
   * @returns {string} output
   */
  node(type, input, output, attributes = {}) {
    const attribute = Object.entries(attributes).map(([name, value]) => {
      const kind = Array.isArray(value) ? 'ints' : typeof value === 'string' ? 's' : 'i';
      return { name, [kind]: kind === 's' ? Buffer.from(/** @type {string} */ (value)) : value, type: ATTRIBUTE[kind] };
    });
    this.#nodes.push({ op_type: type, input, output: [output], attribute });
    return output;
  }

  /**
   * Adds a constant, unless the graph has one of this name.
   * @param {string} name
   * @param {number[]} shape
   * @param {ArrayLike<number>} values
   * @returns {string} name
   */
  constant(name, shape, values) {
    const bytes = Buffer.alloc(values.length * 4);
    for (let i = 0; i < values.length; i++) bytes.writeFloatLE(values[i], i * 4);
    if (!this.#constants.has(name)) this.#constants.set(name, { name, dims: shape, data_type: FLOAT, raw_data: bytes });
    return name;
  }

  /**
   * @param {string} name of the model
   * @param {Record<string, (number | string)[]>} inputs with their shapes; a string names a size that may vary
   * @param {Record<string, (number | string)[]>} outputs
   * @returns {Uint8Array} the file
   */
  encode(name, inputs, outputs) {
    const values = (list) => Object.entries(list).map(([value, shape]) => ({
      name: value,
      type: { tensor_type: { elem_type: FLOAT, shape: { dim: shape.map((size) => (typeof size === 'string' ? { dim_param: size } : { dim_value: size })) } } },
    }));
    return ModelProto.encode({
      ir_version: IR_VERSION,
      producer_name: 'vqa',
      opset_import: [{ version: OPSET }],
      graph: { name, node: this.#nodes, initializer: [...this.#constants.values()], input: values(inputs), output: values(outputs) },
    }).finish();
  }
}
