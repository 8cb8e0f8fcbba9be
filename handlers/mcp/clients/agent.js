// Asks one question with a TypeScript SDK and prints each step as a line of JSON.
// Usage: VQA_API_KEY=… node agent.js 1|2 URL
//
// Without VQA_API_KEY it asks a person for a permission: it prints {"authorize": ADDRESS} and reads the address of the
// redirect from its input. VQA_REDIRECT replaces its redirect address. VQA_CLIENT_DOCUMENT is the address of its metadata document; without it, it registers itself.
import { createInterface } from 'node:readline/promises';
import { memory } from './shown.js';

const [generation, url] = process.argv.slice(2);

/** Load the client of a generation of the SDK. */
async function load() {
  if (generation === '2') return import('@modelcontextprotocol/client');
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  return { Client, StreamableHTTPClientTransport };
}

const { Client, StreamableHTTPClientTransport } = await load();
const client = new Client({ name: 'agent.js', version: generation });
const print = (step) => console.log(JSON.stringify(step));

/** What a program keeps between its authorization and its calls. */
const kept = {};
const redirect = process.env.VQA_REDIRECT || 'http://127.0.0.1:9/callback';
const authProvider = {
  redirectUrl: redirect,
  clientMetadata: { client_name: 'agent.js', redirect_uris: [redirect], token_endpoint_auth_method: 'none' },
  clientMetadataUrl: process.env.VQA_CLIENT_DOCUMENT || undefined,
  state: () => 'state-of-agent-js',
  ...memory(kept),
  redirectToAuthorization: (address) => print({ authorize: address.href, client: kept.client?.client_id }),
};

/** Connect with an API key, or with the permission of a person. */
async function connect() {
  const headers = process.env.VQA_API_KEY ? { Authorization: `Bearer ${process.env.VQA_API_KEY}` } : {};
  const transport = () => new StreamableHTTPClientTransport(new URL(url), process.env.VQA_API_KEY ? { requestInit: { headers } } : { authProvider });
  if (process.env.VQA_API_KEY) return client.connect(transport());
  const asking = transport();
  try {
    await client.connect(asking);
    throw new Error('connected without a permission');
  } catch (error) {
    if (error.name !== 'UnauthorizedError' && error.constructor.name !== 'UnauthorizedError') throw error;
  }
  const input = createInterface({ input: process.stdin });
  const answer = new URL(await input.question(''));
  input.close();
  if (answer.searchParams.get('state') !== 'state-of-agent-js') throw new Error('another state');
  await asking.finishAuth(generation === '2' ? answer.searchParams : answer.searchParams.get('code'));
  return client.connect(transport());
}

await connect();
const { tools } = await client.listTools();
print({ tools: tools.map((tool) => tool.name) });

/** Call a tool and print the call with its result. */
async function call(name, args, options) {
  const params = { name, arguments: args };
  const result = await (generation === '2' ? client.callTool(params, options) : client.callTool(params, undefined, options));
  const step = { tool: name, arguments: args, isError: result.isError ?? false, result: JSON.parse(result.content[0].text) };
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const full = result.structuredContent;
  if (!step.isError && (full.analysis ? full.analysis.id !== step.result.analysis.id : !same(step.result, full))) throw new Error(`${name}: text and structured content differ`);
  print(step);
  return step.result;
}

const fixture = await call('get_test_fixture', {});
const question = { video_id: fixture.video_id, prompt: fixture.prompt };
await call('validate_analysis', question);
const { analysis } = await call('create_analysis', { ...question, idempotency_key: `agent-${generation}` });
const heard = [];
await call('wait_for_analysis', { analysis_id: analysis.id }, { onprogress: (progress) => heard.push(progress) });
print({ progress: heard.length });
await call('get_analysis', { analysis_id: 'an_00000000000000000000000000' });
await client.close();
