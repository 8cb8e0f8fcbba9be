// The parts that the agents share which print their conversation.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Return a function that shortens the parts that differ in each run: ids, times, signed URLs and how far a new analysis is. */
export const shortener = (base) => (text) =>
  text
    .replaceAll(base, 'http://127.0.0.1:8080')
    .replaceAll(encodeURIComponent(base), encodeURIComponent('http://127.0.0.1:8080'))
    .replace(/\b(video|an|batch|txn|req|client|acct)_[0-9A-HJKMNP-TV-Z]{26}/g, '$1_…')
    .replace(/"http:[^"]*\/objects\/[^"]*"/g, '"http://127.0.0.1:8080/objects/…"')
    .replace(/"(percent|queue_position|estimated_start_s)":\d+,/g, '')
    .replace(/"status":"(queued|preparing|analyzing|rendering)"/, '"status":"queued"')
    .replace(/"\d{4}-\d\d-\d\dT[^"]*Z"/g, '"2026-…"');

/** Return a function that calls a tool of a client until a result is done, and prints the last call. */
export const caller = (client, shorten) => async (name, args = {}, done = () => true) => {
  let result;
  do result = await client.callTool({ name, arguments: args });
  while (!done(result));
  console.log(`→ ${name} ${shorten(JSON.stringify(args))}`);
  console.log(`← ${shorten(result.content[0].text)}`);
  for (const block of result.content.slice(1)) console.log(`← (${block.type === 'image' ? block.mimeType : block.text})`);
  return JSON.parse(result.content[0].text);
};

/** Return the part of an OAuth provider that keeps its state in an object. */
export const memory = (kept) => ({
  clientInformation: () => kept.client,
  saveClientInformation: (information) => (kept.client = information),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => (kept.verifier = verifier),
  discoveryState: () => kept.discovered,
  saveDiscoveryState: (discovered) => (kept.discovered = discovered),
});

/** Return a function that sends a request of the person with a key or a token. */
export const sender = (base) => async (method, path, key, body, contentType = 'application/json') => {
  const headers = { ...(key && { Authorization: `Bearer ${key}` }), ...(body && { 'Content-Type': contentType }) };
  const response = await fetch(path.startsWith('http') ? path : base + path, { method, headers, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text && JSON.parse(text);
};

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

/** Upload the clip as the person, and return the id of its video. */
export async function upload(request, key) {
  const file = clip();
  const created = await request('POST', '/v1/videos', key, JSON.stringify({ content_type: 'video/mp4', filename: 'clip.mp4', size_bytes: file.length }));
  await request('PUT', created.upload.url, undefined, file, 'video/mp4');
  await request('POST', `/v1/videos/${created.id}/complete`, key);
  return created.id;
}
