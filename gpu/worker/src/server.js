/**
 * The HTTP server of the worker: routes of the Open Inference Protocol v2 for one model.
 */
import http from 'node:http';
import { MODEL, VERSION, detect, metadata, program } from './detect.js';
import { ProtocolError, encodeResponse, parseRequest } from './protocol.js';

/** Largest request body in bytes. A larger one is answered with 413. */
export const MAX_BODY_BYTES = 64 << 20;
const MAX_CONNECTIONS = 64;

/**
 * @param {import('./pool.js').Pool} pool
 * @param {string} digest of the weights
 * @returns {http.Server} not listening yet
 */
export function createServer(pool, digest) {
  const routes = new Map([
    ['GET /v2', () => ({ name: program.name, version: program.version, extensions: ['binary_tensor_data'] })],
    ['GET /v2/health/live', () => ({ live: true })],
    ['GET /v2/health/ready', () => ({ ready: true })],
    [`GET /v2/models/${MODEL}`, () => metadata(pool.size, digest)],
    [`GET /v2/models/${MODEL}/ready`, () => ({ name: MODEL, ready: true })],
  ]);
  const server = http.createServer(async (req, res) => {
    try {
      const { pathname } = new URL(req.url, 'http://worker');
      const route = routes.get(`${req.method} ${pathname}`);
      if (route) sendJson(res, 200, route());
      else if (req.method === 'POST' && pathname === `/v2/models/${MODEL}/infer`) await infer(req, res, pool);
      else throw new ProtocolError(404, `unknown route ${req.method} ${pathname}`);
    } catch (err) {
      sendError(req, res, err);
    }
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = 30_000;
  return server;
}

/**
 * @param {http.IncomingMessage} req
 * @param {http.ServerResponse} res
 * @param {import('./pool.js').Pool} pool
 */
async function infer(req, res, pool) {
  if (pool.full) throw new ProtocolError(503, 'the queue is full');
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  const request = parseRequest(await readBody(req), req.headers['inference-header-content-length']);
  const outputs = await detect(request, (works) => pool.run(works, gone.signal));
  const about = { model: MODEL, version: VERSION, id: request.id };
  const { body, headerLength } = encodeResponse(about, outputs, request.binary);
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  if (headerLength !== null) {
    headers['Content-Type'] = 'application/octet-stream';
    headers['Inference-Header-Content-Length'] = headerLength;
  }
  res.writeHead(200, headers).end(body);
}

/**
 * @param {http.IncomingMessage} req
 * @returns {Promise<Buffer>}
 */
async function readBody(req) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new ProtocolError(413, `the body is over ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/**
 * @param {http.ServerResponse} res
 * @param {number} status
 * @param {object} value
 */
function sendJson(res, status, value) {
  const body = JSON.stringify(value);
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body);
}

/**
 * @param {http.IncomingMessage} req
 * @param {http.ServerResponse} res
 * @param {Error} err
 */
function sendError(req, res, err) {
  if (res.destroyed || res.headersSent) return;
  const status = err instanceof ProtocolError ? err.status : 500;
  if (status === 503) res.setHeader('Retry-After', '1');
  // The rest of the body is not read, so the connection cannot be used again.
  if (!req.complete) res.setHeader('Connection', 'close');
  sendJson(res, status, { error: err.message });
}
