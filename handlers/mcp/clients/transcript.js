// Prints the conversation of an agent with a running service, as docs/agents.md shows it. The first part uses
// a test key. In the second part a person upgrades the key and uploads a clip, and the agent asks about it.
// Usage: node transcript.js [ADDRESS]        the default is http://127.0.0.1:8080
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const base = process.argv[2] ?? 'http://127.0.0.1:8080';

/** Shorten the parts that differ in each run: ids, times, signed URLs and how far a new analysis is. */
const shorten = (json) =>
  json
    .replaceAll(base, 'http://127.0.0.1:8080')
    .replace(/\b(video|an|batch|txn|req)_[0-9A-HJKMNP-TV-Z]{26}/g, '$1_…')
    .replace(/"http:[^"]*\/objects\/[^"]*"/g, '"http://127.0.0.1:8080/objects/…"')
    .replace(/"(percent|queue_position|estimated_start_s)":\d+,/g, '')
    .replace(/"status":"(queued|preparing|analyzing|rendering)"/, '"status":"queued"')
    .replace(/"\d{4}-\d\d-\d\dT[^"]*Z"/g, '"2026-…"');

/** Send a request of the person. */
async function request(method, path, key, body, contentType = 'application/json') {
  const headers = { ...(key && { Authorization: `Bearer ${key}` }), ...(body && { 'Content-Type': contentType }) };
  const response = await fetch(path.startsWith('http') ? path : base + path, { method, headers, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text && JSON.parse(text);
}

/** Connect an agent with a key. Its calls are printed with their results. */
async function connect(key) {
  const client = new Client({ name: 'transcript', version: '1' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(base + '/mcp'), { requestInit }));
  return {
    client,
    /** Call a tool until a result is done, and print the last call. */
    async call(name, args = {}, done = () => true) {
      let result;
      do result = await client.callTool({ name, arguments: args });
      while (!done(result));
      console.log(`→ ${name} ${shorten(JSON.stringify(args))}`);
      console.log(`← ${shorten(result.content[0].text)}`);
      for (const block of result.content.slice(1)) console.log(`← (${block.type === 'image' ? block.mimeType : block.text})`);
      return JSON.parse(result.content[0].text);
    },
  };
}

/** Make a clip of 12 seconds that shows a stop sign from second 3 to 8. */
function clip() {
  const folder = mkdtempSync(join(tmpdir(), 'transcript-'));
  try {
    const sign = new URL('../../../gpu/worker/testdata/stop-sign.jpg', import.meta.url).pathname;
    const overlay = "[1]scale=-2:360[s];[0][s]overlay=(W-w)/2:(H-h)/2:enable='between(t,3,8)':shortest=1";
    const source = ['-f', 'lavfi', '-i', 'color=gray:s=640x480:d=12', '-loop', '1', '-i', sign];
    const file = join(folder, 'clip.mp4');
    execFileSync('ffmpeg', ['-nostdin', '-v', 'error', ...source, '-filter_complex', overlay, '-pix_fmt', 'yuv420p', file]);
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const sandbox = await request('POST', '/v1/sandbox');
let agent = await connect(sandbox.api_key);
console.log(`# connected with a test key, ${(await agent.client.listTools()).tools.length} tools`);
const fixture = await agent.call('get_test_fixture');
const trial = await agent.call('create_analysis', { video_id: fixture.video_id, prompt: fixture.prompt, idempotency_key: 'trial-1' });
await agent.call('wait_for_analysis', { analysis_id: trial.analysis.id });
await agent.client.close();

const { api_key } = await request('POST', '/v1/keys/upgrade', sandbox.api_key);
const file = clip();
const created = await request('POST', '/v1/videos', api_key, JSON.stringify({ content_type: 'video/mp4', filename: 'clip.mp4', size_bytes: file.length }));
await request('PUT', created.upload.url, undefined, file, 'video/mp4');
await request('POST', `/v1/videos/${created.id}/complete`, api_key);

agent = await connect(api_key);
console.log('# connected with a live key, after the person uploaded a clip');
const prompt = 'How many stop signs are there?';
await agent.call('get_video', { video_id: created.id });
await agent.call('create_analysis', { video_id: created.id, promt: prompt });
const question = await agent.call('create_analysis', { video_id: created.id, prompt, idempotency_key: 'count-1' });
await agent.call('wait_for_analysis', { analysis_id: question.analysis.id }, (result) => !result.structuredContent.retry);
await agent.call('get_analysis', { analysis_id: question.analysis.id, include_image: true }, (result) => result.content[1].type === 'image');
await agent.call('get_credits', { limit: 1 });
await agent.client.close();
