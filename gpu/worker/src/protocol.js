/**
 * Open Inference Protocol v2 over HTTP with the binary tensor data extension: turns bytes
 * into tensors and back. It does not depend on the model.
 *
 * A body is a JSON header followed by the raw tensors that the header lists with
 * `binary_data_size`, in its order. `Inference-Header-Content-Length` is the length of the
 * header. Each BYTES element has its length before it, 4 bytes little endian.
 *
 * @typedef {object} Tensor
 * @property {string} name
 * @property {string} datatype
 * @property {number[]} shape
 * @property {Buffer | null} raw when it was sent as bytes
 * @property {unknown[] | null} data when it was sent as JSON
 */

/** An invalid request, or one that the server refuses. Its status becomes that of the response. */
export class ProtocolError extends Error {
  /**
   * @param {number} status HTTP status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const ELEMENT_BYTES = { BOOL: 1, UINT8: 1, INT32: 4, FP32: 4 };

/**
 * @param {Buffer} body
 * @param {string | undefined} headerLength value of Inference-Header-Content-Length
 * @returns {{id: string | undefined, inputs: Map<string, Tensor>, outputs: Set<string> | null, binary: boolean}}
 */
export function parseRequest(body, headerLength) {
  const length = headerLength === undefined ? body.length : Number(headerLength);
  if (!Number.isInteger(length) || length < 0 || length > body.length) {
    throw new ProtocolError(400, 'Inference-Header-Content-Length does not fit the body');
  }
  const header = parseJson(body.subarray(0, length));
  if (!Array.isArray(header.inputs)) throw new ProtocolError(400, 'inputs: required');
  const inputs = new Map();
  let offset = length;
  for (const input of header.inputs) {
    const tensor = readTensor(input, body, offset);
    if (inputs.has(tensor.name)) throw new ProtocolError(400, `input ${tensor.name} occurs twice`);
    inputs.set(tensor.name, tensor);
    offset += tensor.raw ? tensor.raw.length : 0;
  }
  if (offset !== body.length) throw new ProtocolError(400, 'the body has bytes after the last input');
  return { id: header.id, inputs, ...readOutputs(header) };
}

/** @param {Buffer} bytes */
function parseJson(bytes) {
  try {
    const header = JSON.parse(bytes.toString('utf8'));
    if (header !== null && typeof header === 'object') return header;
  } catch {
    // Falls through to the error below, which both cases share.
  }
  throw new ProtocolError(400, 'the header is not a JSON object');
}

/**
 * @param {any} input
 * @param {Buffer} body
 * @param {number} offset of the next raw tensor in the body
 * @returns {Tensor}
 */
function readTensor(input, body, offset) {
  const { name, datatype, shape, data, parameters } = input ?? {};
  if (typeof name !== 'string' || typeof datatype !== 'string') {
    throw new ProtocolError(400, 'an input needs a name and a datatype');
  }
  if (!Array.isArray(shape) || !shape.every((n) => Number.isInteger(n) && n >= 0)) {
    throw new ProtocolError(400, `input ${name}: invalid shape`);
  }
  const size = parameters?.binary_data_size;
  if (size === undefined) {
    if (!Array.isArray(data)) throw new ProtocolError(400, `input ${name}: its data is missing`);
    return { name, datatype, shape, raw: null, data: data.flat(Infinity) };
  }
  if (!Number.isInteger(size) || size < 0 || offset + size > body.length) {
    throw new ProtocolError(400, `input ${name}: binary_data_size does not fit the body`);
  }
  return { name, datatype, shape, raw: body.subarray(offset, offset + size), data: null };
}

/**
 * @param {any} header
 * @returns {{outputs: Set<string> | null, binary: boolean}} outputs null: all of them
 */
function readOutputs(header) {
  let binary = header.parameters?.binary_data_output === true;
  if (header.outputs === undefined) return { outputs: null, binary };
  if (!Array.isArray(header.outputs) || !header.outputs.every((output) => typeof output?.name === 'string')) {
    throw new ProtocolError(400, 'outputs: must be a list of named outputs');
  }
  binary ||= header.outputs.some((output) => output.parameters?.binary_data === true);
  return { outputs: new Set(header.outputs.map((output) => output.name)), binary };
}

/**
 * @param {Tensor} tensor of datatype BYTES
 * @returns {Buffer[]} one for each element
 */
export function bytesElements(tensor) {
  expect(tensor, 'BYTES');
  const count = elements(tensor);
  const list = tensor.raw ? splitBytes(tensor) : tensor.data.map((value) => Buffer.from(String(value), 'utf8'));
  if (list.length !== count) {
    throw new ProtocolError(400, `input ${tensor.name}: ${list.length} elements, but its shape has ${count}`);
  }
  return list;
}

/** @param {Tensor} tensor */
function splitBytes({ name, raw }) {
  const list = [];
  for (let at = 0; at < raw.length; ) {
    const end = at + 4 <= raw.length ? at + 4 + raw.readUInt32LE(at) : Infinity;
    if (end > raw.length) throw new ProtocolError(400, `input ${name}: an element is cut off`);
    list.push(raw.subarray(at + 4, end));
    at = end;
  }
  return list;
}

/**
 * @param {Tensor} tensor of datatype BOOL or UINT8
 * @param {'BOOL' | 'UINT8'} datatype
 * @returns {Uint8Array}
 */
export function byteValues(tensor, datatype) {
  expect(tensor, datatype);
  const values = tensor.raw ?? Uint8Array.from(tensor.data, Number);
  if (values.length !== elements(tensor)) {
    throw new ProtocolError(400, `input ${tensor.name}: ${values.length} bytes, but its shape has ${elements(tensor)}`);
  }
  return values;
}

/**
 * @param {Tensor} tensor
 * @param {string} datatype
 */
function expect(tensor, datatype) {
  if (tensor.datatype !== datatype) {
    throw new ProtocolError(400, `input ${tensor.name}: datatype is ${tensor.datatype}, must be ${datatype}`);
  }
}

/** @param {{shape: number[]}} tensor */
function elements({ shape }) {
  return shape.reduce((product, n) => product * n, 1);
}

/**
 * @typedef {object} Output
 * @property {string} name
 * @property {'BOOL' | 'UINT8' | 'INT32' | 'FP32'} datatype
 * @property {number[]} shape
 * @property {ArrayLike<number>} values
 *
 * @param {{model: string, version: string, id: string | undefined}} about
 * @param {Output[]} outputs
 * @param {boolean} binary raw tensors after the header, else JSON only
 * @returns {{body: Buffer, headerLength: number | null}} headerLength null for JSON only
 */
export function encodeResponse({ model, version, id }, outputs, binary) {
  const header = { model_name: model, model_version: version, id, outputs: [] };
  const raw = [];
  for (const { name, datatype, shape, values } of outputs) {
    if (binary) {
      const bytes = toBytes(datatype, values);
      raw.push(bytes);
      header.outputs.push({ name, datatype, shape, parameters: { binary_data_size: bytes.length } });
    } else {
      const data = Array.from(values, (value) => (datatype === 'BOOL' ? value !== 0 : value));
      header.outputs.push({ name, datatype, shape, data });
    }
  }
  const json = Buffer.from(JSON.stringify(header), 'utf8');
  return { body: Buffer.concat([json, ...raw]), headerLength: binary ? json.length : null };
}

/**
 * @param {'BOOL' | 'UINT8' | 'INT32' | 'FP32'} datatype
 * @param {ArrayLike<number>} values
 * @returns {Buffer}
 */
function toBytes(datatype, values) {
  const size = ELEMENT_BYTES[datatype];
  const bytes = Buffer.alloc(values.length * size);
  for (let i = 0; i < values.length; i++) {
    if (datatype === 'FP32') bytes.writeFloatLE(values[i], i * size);
    else if (datatype === 'INT32') bytes.writeInt32LE(values[i], i * size);
    else if (datatype === 'UINT8') bytes[i] = values[i];
    else bytes[i] = values[i] ? 1 : 0;
  }
  return bytes;
}
