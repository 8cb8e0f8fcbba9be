// Runs an OpenID provider that this project did not write (oidc-provider), with one client and its own pages for
// signing in. It accepts every login. A test signs a person in there.
// Usage: node provider.js PORT CERTIFICATE KEY REDIRECT        prints {"issuer": URL} when it listens
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import Provider from 'oidc-provider';

const [port, certificate, key, redirect] = process.argv.slice(2);
const issuer = `https://127.0.0.1:${port}`;
const signing = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });

const provider = new Provider(issuer, {
  clients: [{ client_id: 'vqa', client_secret: 'secret-of-the-test', redirect_uris: [redirect], grant_types: ['authorization_code'], response_types: ['code'] }],
  jwks: { keys: [{ ...signing, use: 'sig', alg: 'RS256', kid: 'test' }] },
  cookies: { keys: ['cookies-of-the-test'] },
  pkce: { required: () => true },
});

createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, provider.callback()).listen(Number(port), '127.0.0.1', () => console.log(JSON.stringify({ issuer })));
