// Prints the conversation of an agent that a person allows, as docs/agents.md shows it. It starts with nothing but the
// address of the tools. The script also plays the person, who signs in with a one-time link, uploads a clip, allows the
// agent to spend 20 credit-seconds, and revokes the permission at the end.
// Usage: node permission.js LINK        a link of vqa signin, for an account with at least 12 credit-seconds
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { caller, memory, sender, shortener, upload } from './shown.js';

const link = new URL(process.argv[2]);
const base = link.origin;
const plain = shortener(base);

/** Shorten a text of the authorization: also the secrets, which are random. */
const shorten = (text) =>
  plain(text)
    .replace(/"(access_token|refresh_token)":"[^"]+"/g, '"$1":"…"')
    .replace(/\b(code|code_verifier|code_challenge|state|refresh_token)=[^&\s]+/g, '$1=…')
    .replace(/"client_id_issued_at":\d+/, '"client_id_issued_at":…');

let cookie = '';

/** Send a form or open a page like the browser of the person. */
async function browse(path, form) {
  const headers = { Cookie: cookie, Origin: base, 'Sec-Fetch-Site': 'same-origin' };
  const response = await fetch(new URL(path, base), { method: form ? 'POST' : 'GET', headers, body: form && new URLSearchParams(form), redirect: 'manual' });
  for (const set of response.headers.getSetCookie()) if (set.startsWith('vqa_session=')) cookie = set.split(';')[0];
  const text = await response.text();
  if (response.status >= 400) throw new Error(`${path}: ${response.status} ${text}`);
  return { text, location: response.headers.get('location') };
}

/** Return the hidden fields of the first form of a page. */
function fields(page) {
  const [form] = page.match(/<form[^]*?<\/form>/);
  const found = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return Object.fromEntries(found.map(([, name, value]) => [name, value.replaceAll('&#43;', '+').replaceAll('&amp;', '&')]));
}

/** Print the requests of the agent, except for the messages that the service accepts. */
async function shown(address, options = {}) {
  const response = await fetch(address, options);
  const { pathname } = new URL(address);
  if (pathname === '/mcp' && response.ok) return response;
  const sent = pathname === '/mcp' ? JSON.parse(options.body).method : String(options.body ?? '');
  console.log(shorten(`→ ${options.method ?? 'GET'} ${pathname} ${sent}`.trimEnd()));
  const demanded = response.headers.get('www-authenticate');
  console.log(shorten(`← ${response.status} ${demanded ? `WWW-Authenticate: ${demanded}` : JSON.stringify(await response.clone().json())}`));
  return response;
}

await browse('/signin/link', { link: link.searchParams.get('link') });
const session = JSON.parse((await browse('/session/token', {})).text);
const video = await upload(sender(base), session.token);

const kept = {};
const authProvider = {
  redirectUrl: 'http://127.0.0.1:9/callback',
  clientMetadata: { client_name: 'permission.js', redirect_uris: ['http://127.0.0.1:9/callback'], token_endpoint_auth_method: 'none' },
  state: () => 'chosen-by-the-agent',
  ...memory(kept),
  invalidateCredentials: (scope) => {
    if (scope === 'tokens' || scope === 'all') delete kept.tokens;
  },
  redirectToAuthorization: (address) => {
    kept.address = address.href;
    console.log(shorten(`# the agent asks the person to open ${address.href}`));
  },
};

const client = new Client({ name: 'permission.js', version: '1' });
const transport = () => new StreamableHTTPClientTransport(new URL(base + '/mcp'), { authProvider, fetch: shown });
const refused = (error) => {
  if (error.constructor.name !== 'UnauthorizedError') throw error;
};

const asking = transport();
await client.connect(asking).catch(refused);
const consent = await browse(kept.address);
const allowed = await browse('/authorize', { ...fields(consent.text), decision: 'allow', mode: 'live', limit_seconds: '20' });
console.log(shorten(`# the person is signed in, sets a limit of 20 credit-seconds and allows it; the browser goes to ${allowed.location}`));
await asking.finishAuth(new URL(allowed.location).searchParams);
await client.connect(transport());
console.log(`# connected, ${(await client.listTools()).tools.length} tools`);

const call = caller(client, shorten);
const question = { video_id: video, prompt: 'How many stop signs are there?' };
const { analysis, error } = await call('create_analysis', { ...question, idempotency_key: `count-${video}` });
if (error) {
  console.error(`create_analysis failed: ${error.code}: ${error.message}`);
  process.exit(1);
}
await call('wait_for_analysis', { analysis_id: analysis.id }, (result) => !result.structuredContent.retry);
await call('create_analysis', { ...question, prompt: 'Is there a dog?', idempotency_key: `dog-${video}` });

const listed = await browse('/account/agents');
await browse('/account/agents', fields(listed.text));
console.log('# the person revokes the permission');
await call('get_credits').catch(refused);
await client.close();
