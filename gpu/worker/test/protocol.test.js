import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesElements, byteValues, encodeResponse, parseRequest, ProtocolError } from '../src/protocol.js';

/** @returns {{body: Buffer, length: string}} */
function message(header, ...raw) {
  const json = Buffer.from(JSON.stringify(header));
  return { body: Buffer.concat([json, ...raw]), length: String(json.length) };
}

/** @param {string} text */
function element(text) {
  const bytes = Buffer.from(text);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(bytes.length);
  return Buffer.concat([size, bytes]);
}

test('a raw BYTES tensor and a JSON one read the same', () => {
  const raw = Buffer.concat([element('dog'), element('')]);
  const { body, length } = message({
    id: 'r1',
    inputs: [
      { name: 'A', datatype: 'BYTES', shape: [2], parameters: { binary_data_size: raw.length } },
      { name: 'B', datatype: 'BYTES', shape: [2], data: ['dog', ''] },
    ],
  }, raw);
  const request = parseRequest(body, length);
  const texts = (name) => bytesElements(request.inputs.get(name)).map(String);
  assert.deepEqual(texts('A'), ['dog', '']);
  assert.deepEqual(texts('B'), ['dog', '']);
  assert.equal(request.id, 'r1');
  assert.equal(request.outputs, null);
});

test('raw tensors follow each other in the order of the header', () => {
  const { body, length } = message({
    inputs: [
      { name: 'A', datatype: 'BOOL', shape: [1], parameters: { binary_data_size: 1 } },
      { name: 'B', datatype: 'UINT8', shape: [1, 2], parameters: { binary_data_size: 2 } },
    ],
  }, Buffer.from([1, 7, 8]));
  const { inputs } = parseRequest(body, length);
  assert.deepEqual([...byteValues(inputs.get('A'), 'BOOL')], [1]);
  assert.deepEqual([...byteValues(inputs.get('B'), 'UINT8')], [7, 8]);
});

test('malformed requests are refused with 400', async (t) => {
  const input = { name: 'A', datatype: 'UINT8', shape: [2] };
  const sized = (size) => ({ inputs: [{ ...input, parameters: { binary_data_size: size } }] });
  const cases = {
    'header length beyond the body': () => parseRequest(Buffer.from('{}'), '3'),
    'header length no number': () => parseRequest(Buffer.from('{}'), 'x'),
    'header no JSON': () => parseRequest(Buffer.from('{'), undefined),
    'header null': () => parseRequest(Buffer.from('null'), undefined),
    'no inputs': () => parseRequest(Buffer.from('{}'), undefined),
    'a null input': () => parseRequest(Buffer.from('{"inputs":[null]}'), undefined),
    'negative shape': () => parseRequest(Buffer.from(JSON.stringify({ inputs: [{ ...input, shape: [-1], data: [] }] }))),
    'neither data nor bytes': () => parseRequest(Buffer.from(JSON.stringify({ inputs: [input] }))),
    'more bytes announced than sent': () => { const m = message(sized(3), Buffer.alloc(2)); parseRequest(m.body, m.length); },
    'more bytes sent than announced': () => { const m = message(sized(2), Buffer.alloc(3)); parseRequest(m.body, m.length); },
    'an input twice': () => parseRequest(Buffer.from(JSON.stringify({ inputs: [{ ...input, data: [1, 2] }, { ...input, data: [1, 2] }] }))),
    'outputs without names': () => parseRequest(Buffer.from('{"inputs":[],"outputs":[1]}')),
    'an element that is cut off': () => bytesElements({ name: 'A', datatype: 'BYTES', shape: [1], raw: Buffer.from([9, 0, 0, 0, 1]), data: null }),
    'fewer elements than the shape': () => bytesElements({ name: 'A', datatype: 'BYTES', shape: [2], raw: element('x'), data: null }),
    'wrong datatype': () => byteValues({ name: 'A', datatype: 'FP32', shape: [1], raw: Buffer.alloc(4), data: null }, 'BOOL'),
    'fewer bytes than the shape': () => byteValues({ name: 'A', datatype: 'BOOL', shape: [2], raw: Buffer.alloc(1), data: null }, 'BOOL'),
  };
  for (const [name, run] of Object.entries(cases)) {
    await t.test(name, () => assert.throws(run, (err) => err instanceof ProtocolError && err.status === 400));
  }
});

test('a response holds the same values as bytes and as JSON', () => {
  const outputs = [
    { name: 'S', datatype: 'FP32', shape: [2], values: [0.5, -1] },
    { name: 'I', datatype: 'INT32', shape: [1], values: [-2] },
    { name: 'K', datatype: 'BOOL', shape: [2], values: [1, 0] },
    { name: 'U', datatype: 'UINT8', shape: [1], values: [31] },
  ];
  const about = { model: 'm', version: '1', id: 'r1' };
  const json = JSON.parse(encodeResponse(about, outputs, false).body.toString());
  assert.deepEqual(json.outputs.map(({ data }) => data), [[0.5, -1], [-2], [true, false], [31]]);

  const { body, headerLength } = encodeResponse(about, outputs, true);
  const header = JSON.parse(body.subarray(0, headerLength).toString());
  assert.deepEqual(header.outputs.map(({ parameters }) => parameters.binary_data_size), [8, 4, 2, 1]);
  const raw = body.subarray(headerLength);
  assert.deepEqual([raw.readFloatLE(0), raw.readFloatLE(4), raw.readInt32LE(8), raw[12], raw[13], raw[14]], [0.5, -1, -2, 1, 0, 31]);
});
