// The parts of the contract that the page uses: the stream and the messages of signaling.

export type EndReason = "completed" | "canceled" | "insufficient_credits" | "error" | "timeout" | "ice_failed" | "media_timeout";

export interface Query {
  prompt_intent: string;
}

export interface Stream {
  id: string;
  livemode: boolean;
  status: "queued" | "ready" | "live" | "ended";
  end_reason: EndReason | null;
  query: Query | null;
  signaling: { url: string } | null;
  duration_s: number | null;
  results_summary: { result_frames: number } | null;
  usage: { billed_seconds: number; credit_balance_after: number | null } | null;
  failure_diagnostic: { hint: string } | null;
}

// A test of the connection, without a stream.
export interface Preflight {
  id: string;
  ice_servers: IceServer[];
  sdp: string | null;
  report: PreflightReport | null;
}

export interface PreflightReport {
  connected: boolean;
  connect_ms: number | null;
  hint: string | null;
}

export interface Detection {
  term: string;
  confidence: number;
  // x, y, width and height as parts of the picture, from 0 to 1.
  box: [number, number, number, number];
}

export interface IceServer {
  urls: string[];
  username: string | null;
  credential: string | null;
}

export interface Result {
  type: "result";
  seq: number;
  t_s: number;
  answer: "yes" | "no" | "indeterminate";
  confidence: number;
  detected_count: number | null;
  indeterminate_reason: string | null;
  // Present when no model of the service can answer the question.
  unsupported_action?: { reason: string; docs_url: string };
  detections: Detection[];
}

export interface Metering {
  type: "metering";
  elapsed_s: number;
  billed_seconds: number;
  balance_seconds: number;
}

export interface Queued {
  type: "queued";
  position: number;
  estimated_start_s: number | null;
}

export type ServerMessage =
  | { type: "ready"; ice_servers: IceServer[] }
  | Queued
  | { type: "answer"; sdp: string }
  | { type: "ice"; candidate: RTCIceCandidateInit | null }
  | { type: "live"; live_started_at: string }
  | Result
  | { type: "prompt_updated"; prompt: string; query: Query | null }
  | Metering
  | { type: "warning"; remaining_s: number }
  | { type: "end"; reason: EndReason }
  | { type: "error"; code: string; message: string };

// An ICE error of the browser, which the service cannot see.
export interface IceError {
  url: string;
  errorCode: number;
  errorText: string;
}

export type ClientMessage =
  | { type: "join" }
  | { type: "offer"; sdp: string }
  | { type: "ice"; candidate: RTCIceCandidateInit | null; errors?: IceError[] }
  | { type: "update_prompt"; prompt: string }
  | { type: "end" };
