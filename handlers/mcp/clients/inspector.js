// Asks one question with the command line of the inspector and prints each step as a line of JSON.
// Usage: VQA_API_KEY=… node inspector.js URL        with the node of the packages: the inspector needs version 22
//
// Without VQA_API_KEY it asks a person for a permission: it prints {"authorize": ADDRESS} and reads the address of the
// redirect from its input. VQA_CLIENT_DOCUMENT is the address of its metadata document; without it, it registers itself.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const url = process.argv[2];
const print = (step) => console.log(JSON.stringify(step));
const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/package.json')).replace('package.json', 'clients/launcher/build/index.js');

/** A free port for the redirect: several inspectors may run at once. */
const port = await new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

// The inspector keeps its tokens and its registration in the home folder. A new one makes a cold start. Without a
// desktop and with BROWSER=true, it opens no window.
const home = mkdtempSync(join(tmpdir(), 'inspector-'));
const env = { PATH: process.env.PATH, HOME: home, BROWSER: 'true', MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' };
const access = process.env.VQA_API_KEY
  ? ['--header', `Authorization: Bearer ${process.env.VQA_API_KEY}`]
  : ['--callback-url', `http://127.0.0.1:${port}/callback`, ...(process.env.VQA_CLIENT_DOCUMENT ? ['--client-metadata-url', process.env.VQA_CLIENT_DOCUMENT] : [])];
const redirects = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Run the inspector with a method. It waits for the redirect of the person if it asks for a permission. */
async function inspect(...args) {
  const running = spawn(process.execPath, [program, '--cli', url, '--transport', 'http', '--format', 'json', ...access, ...args], { env });
  let output = '';
  running.stdout.on('data', (text) => (output += text));
  let said = '';
  for await (const line of createInterface({ input: running.stderr })) {
    said += line + '\n';
    const asked = line.match(/^Please navigate to: (\S+)$/);
    if (!asked) continue;
    print({ authorize: asked[1] });
    const answered = await fetch((await redirects.next()).value);
    if (!answered.ok) throw new Error(`the inspector refuses the redirect: ${answered.status} ${await answered.text()}`);
  }
  if (output === '') throw new Error(said);
  return JSON.parse(output).result;
}

/** Call a tool and print the call with its result. */
async function call(name, args) {
  const result = await inspect('--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args));
  const step = { tool: name, arguments: args, isError: result.isError ?? false, result: JSON.parse(result.content[0].text) };
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const full = result.structuredContent;
  if (!step.isError && (full.analysis ? full.analysis.id !== step.result.analysis.id : !same(step.result, full))) throw new Error(`${name}: text and structured content differ`);
  print(step);
  return step.result;
}

try {
  const { tools } = await inspect('--method', 'tools/list', '--strict');
  print({ tools: tools.map((tool) => tool.name) });
  const fixture = await call('get_test_fixture', {});
  const question = { video_id: fixture.video_id, prompt: fixture.prompt };
  await call('validate_analysis', question);
  const { analysis } = await call('create_analysis', { ...question, idempotency_key: 'inspector' });
  await call('wait_for_analysis', { analysis_id: analysis.id });
  await call('get_analysis', { analysis_id: 'an_00000000000000000000000000' });
} finally {
  rmSync(home, { recursive: true });
}
process.exit();
