// Requests to the streams of the service, with a client token or the token of a session.

import type { Preflight, Stream } from "./messages.js";

// The prefix of a client token. An API key has another one.
const tokenPrefix = "svcct_";

// ApiError is an error response of the service.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

// tokenProblem says why a text is not a client token, or returns an empty string.
export function tokenProblem(token: string): string {
  if (token === "") return "Paste a client token.";
  if (token.startsWith("svc_")) {
    return "This is an API key. Keep it out of browsers: create a client token with it, and paste the token here.";
  }
  return token.startsWith(tokenPrefix) ? "" : `This is not a client token. A client token starts with ${tokenPrefix}.`;
}

async function request<T = Stream>(method: string, path: string, token: string, more: RequestInit = {}): Promise<T> {
  const headers = { Authorization: `Bearer ${token}`, ...more.headers };
  const response = await fetch(path, { ...more, method, headers, cache: "no-store" });
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) {
    const error = (body as { error?: { code?: string; message?: string } } | null)?.error;
    throw new ApiError(response.status, error?.code ?? "", error?.message ?? `The service answered with status ${response.status}.`);
  }
  return body as T;
}

export function createStream(token: string, prompt: string): Promise<Stream> {
  // randomUUID exists on secure pages only.
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return request("POST", "/v1/streams", token, {
    body: JSON.stringify({ prompt }),
    headers: { "Content-Type": "application/json", "Idempotency-Key": key },
  });
}

export function preflight(token: string, step: { id?: string; transport?: string; sdp?: string }): Promise<Preflight> {
  return request("POST", "/v1/streams/preflight", token, {
    body: JSON.stringify(step),
    headers: { "Content-Type": "application/json" },
  });
}

export function readStream(token: string, id: string): Promise<Stream> {
  return request("GET", `/v1/streams/${id}`, token);
}

// endStream also works while the page is closed.
export function endStream(token: string, id: string): Promise<Stream> {
  return request("POST", `/v1/streams/${id}/end`, token, { keepalive: true });
}
