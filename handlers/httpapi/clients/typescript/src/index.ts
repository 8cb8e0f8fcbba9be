/**
 * A typed client of the video question-answering API. "make generate" writes the types of
 * paths, parameters and bodies to generated/contract.ts. This file adds the API key, errors
 * as exceptions, and uploads.
 */
import createFetch, { type Client } from "openapi-fetch";
import type { components, paths } from "./generated/contract.js";

export type { components, operations, paths } from "./generated/contract.js";

type Schemas = components["schemas"];
export type Video = Schemas["Video"];
export type Analysis = Schemas["Analysis"];
export type Credits = Schemas["Credits"];
export type PublicEvent = Schemas["Event"];
export type ErrorBody = Schemas["Error"]["error"];

export interface Options {
  /** The address of the service, such as "https://video.example.com". */
  baseUrl: string;
  /** An API key or, in a browser, a client token. Public operations need no key. */
  apiKey?: string;
  /** The default is the global fetch. */
  fetch?: (request: Request) => Promise<Response>;
}

/** VqaClient has a method for each HTTP method, typed by path: client.GET("/v1/videos/{id}", …). */
export type VqaClient = Client<paths>;

export function createClient(options: Options): VqaClient {
  return createFetch<paths>({
    baseUrl: options.baseUrl.replace(/\/+$/, ""),
    ...(options.apiKey === undefined ? {} : { headers: { Authorization: `Bearer ${options.apiKey}` } }),
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
}

/** VqaError is a response outside 2xx. GET /v1/errors lists the values of `code`. */
export class VqaError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  /** The violations of a `validation_failed`. */
  readonly violations: NonNullable<ErrorBody["errors"]>;
  readonly details: Record<string, unknown>;
  /** Seconds to wait before the next try, if the response has Retry-After. */
  readonly retryAfter: number | undefined;

  constructor(response: Response, body: unknown) {
    const error: Partial<ErrorBody> = (body as Partial<Schemas["Error"]> | undefined)?.error ?? {};
    const code = error.code ?? "unknown";
    super(`${response.status} ${code}: ${error.message ?? response.statusText}`);
    this.name = "VqaError";
    this.status = response.status;
    this.code = code;
    this.requestId = error.request_id ?? response.headers.get("X-Request-Id") ?? undefined;
    this.violations = error.errors ?? [];
    this.details = error.details ?? {};
    const retryAfter = Number(response.headers.get("Retry-After") ?? Number.NaN);
    this.retryAfter = Number.isFinite(retryAfter) ? retryAfter : undefined;
  }
}

/** unwrap returns the body of a 2xx response and throws a VqaError for other responses. */
export async function unwrap<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call;
  if (!response.ok || data === undefined) {
    throw new VqaError(response, error);
  }
  return data;
}

/**
 * uploadVideo creates a video, uploads the file and completes it. The returned video is
 * `ready`. It throws a VqaError if the service refuses the video.
 */
export async function uploadVideo(
  client: VqaClient,
  bytes: Blob,
  video: Pick<Schemas["CreateVideoRequest"], "filename" | "metadata"> & { content_type: Schemas["ContentType"] },
): Promise<Video> {
  const created = await unwrap(client.POST("/v1/videos", { body: { ...video, size_bytes: bytes.size } }));
  if (!created.upload) {
    throw new Error(`${created.id} has no upload instructions`);
  }
  const { method, url, headers } = created.upload;
  const put = await fetch(url, { method, headers, body: bytes });
  if (!put.ok) {
    throw new VqaError(put, await put.json().catch(() => undefined));
  }
  return unwrap(client.POST("/v1/videos/{id}/complete", { params: { path: { id: created.id } } }));
}
