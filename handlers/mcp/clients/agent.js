// Asks one question with a TypeScript SDK and prints each step as a line of JSON.
// Usage: VQA_API_KEY=… node agent.js 1|2 URL
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
const headers = { Authorization: `Bearer ${process.env.VQA_API_KEY}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

const print = (step) => console.log(JSON.stringify(step));
const { tools } = await client.listTools();
print({ tools: tools.map((tool) => tool.name) });

/** Call a tool and print the call with its result. */
async function call(name, args, options) {
  const params = { name, arguments: args };
  const result = await (generation === '2' ? client.callTool(params, options) : client.callTool(params, undefined, options));
  const step = { tool: name, arguments: args, isError: result.isError ?? false, result: JSON.parse(result.content[0].text) };
  if (!step.isError && JSON.stringify(step.result) !== JSON.stringify(result.structuredContent)) throw new Error(`${name}: text and structured content differ`);
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
