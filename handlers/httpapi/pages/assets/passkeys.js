// Registers a passkey, and signs in with one. The page has no other script.
"use strict";

const problem = document.getElementById("passkey-problem");

function toBytes(text) {
  const base64 = text.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

function toText(buffer) {
  const binary = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function post(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(body),
    cache: "no-store",
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok) {
    throw new Error(answer?.error?.message ?? `The service answered with status ${response.status}.`);
  }
  return answer;
}

// plain returns a credential as JSON. Older browsers have no toJSON.
function plain(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) {
      response[name] = toText(credential.response[name]);
    }
  }
  return {
    id: credential.id,
    rawId: toText(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    clientExtensionResults: credential.getClientExtensionResults(),
    response,
  };
}

function decoded(list) {
  return (list ?? []).map((known) => ({ ...known, id: toBytes(known.id) }));
}

async function signIn(returnTo) {
  const { publicKey } = await post("/signin/passkey/options", {});
  publicKey.challenge = toBytes(publicKey.challenge);
  publicKey.allowCredentials = decoded(publicKey.allowCredentials);
  const credential = await navigator.credentials.get({ publicKey });
  const { location } = await post("/signin/passkey", { return_to: returnTo, credential: plain(credential) });
  window.location.assign(location);
}

async function add() {
  const { publicKey } = await post("/account/passkeys/options", {});
  publicKey.challenge = toBytes(publicKey.challenge);
  publicKey.user.id = toBytes(publicKey.user.id);
  publicKey.excludeCredentials = decoded(publicKey.excludeCredentials);
  const credential = await navigator.credentials.create({ publicKey });
  const { location } = await post("/account/passkeys", { credential: plain(credential) });
  window.location.assign(location);
}

// press runs an action once at a time and shows why it failed.
function press(button, action) {
  button?.addEventListener("click", async () => {
    problem.textContent = "";
    button.disabled = true;
    try {
      await action();
    } catch (error) {
      const messages = {
        NotAllowedError: "The browser used no passkey: you canceled, or there is none for this service.",
        InvalidStateError: "This device already has a passkey for your account.",
      };
      problem.textContent = messages[error.name] ?? error.message;
    }
    button.disabled = false;
  });
}

const button = document.getElementById("passkey");
if (!window.PublicKeyCredential) {
  problem.textContent = "This browser has no passkeys.";
} else {
  press(button, () => signIn(button.dataset.returnTo));
  press(document.getElementById("add-passkey"), add);
}
