// Prints the conversation of an agent with a running service, as docs/agents.md shows it. The first part uses
// a test key. In the second part a person upgrades the key and uploads a clip, and the agent asks about it.
// Usage: node transcript.js [ADDRESS]        the default is http://127.0.0.1:8080
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { caller, sender, shortener, upload } from './shown.js';

const base = process.argv[2] ?? 'http://127.0.0.1:8080';
const request = sender(base);

/** Connect an agent with a key. Its calls are printed with their results. */
async function connect(key) {
  const client = new Client({ name: 'transcript', version: '1' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(base + '/mcp'), { requestInit }));
  return { client, call: caller(client, shortener(base)) };
}

const sandbox = await request('POST', '/v1/sandbox');
let agent = await connect(sandbox.api_key);
console.log(`# connected with a test key, ${(await agent.client.listTools()).tools.length} tools`);
const fixture = await agent.call('get_test_fixture');
const trial = await agent.call('create_analysis', { video_id: fixture.video_id, prompt: fixture.prompt, idempotency_key: 'trial-1' });
await agent.call('wait_for_analysis', { analysis_id: trial.analysis.id });
await agent.client.close();

const { api_key } = await request('POST', '/v1/keys/upgrade', sandbox.api_key);
const video = await upload(request, api_key);

agent = await connect(api_key);
console.log('# connected with a live key, after the person uploaded a clip');
const prompt = 'How many stop signs are there?';
await agent.call('get_video', { video_id: video });
await agent.call('create_analysis', { video_id: video, promt: prompt });
const question = await agent.call('create_analysis', { video_id: video, prompt, idempotency_key: 'count-1' });
await agent.call('wait_for_analysis', { analysis_id: question.analysis.id }, (result) => !result.structuredContent.retry);
await agent.call('get_analysis', { analysis_id: question.analysis.id, include_image: true }, (result) => result.content[1].type === 'image');
await agent.call('get_credits', { limit: 1 });
await agent.client.close();
