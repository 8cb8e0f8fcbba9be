// Requests to the streams of the service, with a client token or the token of a session.
// The prefix of a client token. An API key has another one.
const tokenPrefix = "svcct_";
// ApiError is an error response of the service.
export class ApiError extends Error {
    status;
    code;
    constructor(status, code, message) {
        super(message);
        this.status = status;
        this.code = code;
    }
}
// tokenProblem says why a text is not a client token, or returns an empty string.
export function tokenProblem(token) {
    if (token === "")
        return "Paste a client token.";
    if (token.startsWith("svc_")) {
        return "This is an API key. Keep it out of browsers: create a client token with it, and paste the token here.";
    }
    return token.startsWith(tokenPrefix) ? "" : `This is not a client token. A client token starts with ${tokenPrefix}.`;
}
async function request(method, path, token, more = {}) {
    const headers = { Authorization: `Bearer ${token}`, ...more.headers };
    const response = await fetch(path, { ...more, method, headers, cache: "no-store" });
    const body = await response.json().catch(() => null);
    if (!response.ok) {
        const error = body?.error;
        throw new ApiError(response.status, error?.code ?? "", error?.message ?? `The service answered with status ${response.status}.`);
    }
    return body;
}
export function createStream(token, prompt) {
    // randomUUID exists on secure pages only.
    const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    return request("POST", "/v1/streams", token, {
        body: JSON.stringify({ prompt }),
        headers: { "Content-Type": "application/json", "Idempotency-Key": key },
    });
}
export function preflight(token, step) {
    return request("POST", "/v1/streams/preflight", token, {
        body: JSON.stringify(step),
        headers: { "Content-Type": "application/json" },
    });
}
export function readStream(token, id) {
    return request("GET", `/v1/streams/${id}`, token);
}
// endStream also works while the page is closed.
export function endStream(token, id) {
    return request("POST", `/v1/streams/${id}/end`, token, { keepalive: true });
}
