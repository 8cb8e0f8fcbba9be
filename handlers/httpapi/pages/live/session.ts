// A session of the page: one stream, its socket and its peer connection. Both connections come back by
// themselves until the service says that the stream has ended.

import { ApiError, createStream, endStream, readStream } from "./api.js";
import { forBrowser } from "./ice.js";
import type { ClientMessage, EndReason, IceError, IceServer, ServerMessage, Stream } from "./messages.js";
import { errorWords } from "./words.js";

// Times in milliseconds.
const firstRetry = 500;
const longestRetry = 5000;
// How long a lost connection may come back without an ICE restart.
const patience = 4000;
// How long the service has to confirm an end on the socket.
const endPatience = 5000;

// The limits of the message ice.
const mostErrors = 16;
const longestText = 200;

// The close codes after which a socket must not be opened again.
const refused = 1008;
const replaced = 4001;

// Listener gets everything that happens in a session.
export interface Listener {
  message(message: ServerMessage): void;
  // Says that a connection was lost, or that it is back when text is empty.
  trouble(text: string): void;
  // Is called once. stream is null when it could not be read.
  ended(reason: EndReason, stream: Stream | null): void;
}

export class Session {
  #socket: WebSocket | null = null;
  #peer: RTCPeerConnection | null = null;
  #joined = false;
  #live = false;
  #over = false;
  #retry = firstRetry;
  #restart: number | undefined;
  // Candidates that wait for the socket, and those of the service that wait for its answer.
  #unsent: ClientMessage[] = [];
  #early: RTCIceCandidateInit[] = [];
  #errors: IceError[] = [];

  // token returns the newest token: the first one can expire during a session.
  constructor(
    readonly stream: Stream,
    private readonly track: MediaStreamTrack,
    private readonly token: () => string,
    private readonly listener: Listener,
  ) {}

  static async start(prompt: string, track: MediaStreamTrack, token: () => string, listener: Listener): Promise<Session> {
    const session = new Session(await createStream(token(), prompt), track, token, listener);
    session.#connect();
    return session;
  }

  // canned says that the answers are fixed ones, of test mode.
  get canned(): boolean {
    return !this.stream.livemode;
  }

  updatePrompt(prompt: string): boolean {
    return this.#send({ type: "update_prompt", prompt });
  }

  end(): void {
    if (!this.#send({ type: "end" })) return this.#endByRequest();
    setTimeout(() => this.#endByRequest(), endPatience);
  }

  // abandon ends the stream of a page that is being closed.
  abandon(): void {
    if (!this.#over) void endStream(this.token(), this.stream.id).catch(() => undefined);
  }

  // sent returns the size and the rate of the video that the browser sends, or null before the first picture.
  async sent(): Promise<{ width: number; height: number; fps: number } | null> {
    const report = await this.#peer?.getStats();
    for (const s of (report as unknown as Map<string, Record<string, unknown>> | undefined)?.values() ?? []) {
      if (s["type"] !== "outbound-rtp" || s["kind"] !== "video" || !s["frameWidth"]) continue;
      return { width: Number(s["frameWidth"]), height: Number(s["frameHeight"]), fps: Number(s["framesPerSecond"] ?? 0) };
    }
    return null;
  }

  #endByRequest(): void {
    if (this.#over) return;
    endStream(this.token(), this.stream.id).then(
      (stream) => this.#finish(stream.end_reason ?? "completed", stream),
      (error: unknown) => this.listener.trouble(`Cannot end the stream: ${errorWords(error, this.stream.id)}`),
    );
  }

  #connect(): void {
    if (this.#over) return;
    // The page may have been opened by another name than the public address of the service.
    const url = new URL(new URL(this.stream.signaling?.url ?? "").pathname, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    url.searchParams.set("token", this.token());
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.onopen = () => socket.send(JSON.stringify({ type: "join" } satisfies ClientMessage));
    socket.onmessage = (event) => {
      this.#retry = firstRetry;
      void this.#receive(JSON.parse(String(event.data)) as ServerMessage).catch((error: unknown) =>
        this.listener.trouble(errorWords(error)),
      );
    };
    socket.onclose = (event) => {
      if (this.#socket === socket) void this.#closed(event);
    };
  }

  // closed opens the socket again, unless the stream has ended.
  async #closed(event: CloseEvent): Promise<void> {
    this.#socket = null;
    this.#joined = false;
    if (this.#over) return;
    if (event.code === replaced) return this.#fail("Another page has taken over this stream.");
    if (event.code === refused) return this.#fail(`The service has closed the connection: ${event.reason}.`);
    this.listener.trouble("The connection to the service was lost. Connecting again…");
    try {
      const stream = await readStream(this.token(), this.stream.id);
      if (stream.status === "ended") return this.#finish(stream.end_reason ?? "error", stream);
    } catch (error) {
      if (error instanceof ApiError) this.listener.trouble(errorWords(error, this.stream.id));
    }
    setTimeout(() => this.#connect(), this.#retry);
    this.#retry = Math.min(2 * this.#retry, longestRetry);
  }

  #fail(text: string): void {
    this.listener.trouble(text);
    this.#endByRequest();
  }

  async #receive(message: ServerMessage): Promise<void> {
    if (this.#over) return;
    switch (message.type) {
      case "ready":
        await this.#ready(message.ice_servers);
        break;
      case "answer":
        await this.#peer?.setRemoteDescription({ type: "answer", sdp: message.sdp });
        for (const candidate of this.#early.splice(0)) await this.#peer?.addIceCandidate(candidate);
        break;
      case "ice":
        if (!message.candidate) break;
        if (this.#peer?.remoteDescription) await this.#peer.addIceCandidate(message.candidate);
        else this.#early.push(message.candidate);
        break;
      case "live":
      case "result":
      case "metering":
        this.#live = true;
        break;
      case "end":
        return this.#finish(message.reason, await readStream(this.token(), this.stream.id).catch(() => null));
    }
    this.listener.message(message);
  }

  // ready comes after each join.
  async #ready(servers: IceServer[]): Promise<void> {
    this.#joined = true;
    this.listener.trouble("");
    if (!this.#peer) {
      this.#open(servers);
      return this.#offer(false);
    }
    for (const message of this.#unsent.splice(0)) this.#send(message);
    // The answer to an offer is lost with the socket.
    if (this.#peer.signalingState === "have-local-offer" || this.#peer.connectionState !== "connected") await this.#offer(true);
  }

  #open(servers: IceServer[]): void {
    const peer = new RTCPeerConnection({ iceServers: forBrowser(servers) });
    this.#peer = peer;
    peer.addTransceiver(this.track, { direction: "sendonly" });
    peer.onicecandidate = ({ candidate }) => this.#trickle(candidate ? candidate.toJSON() : null);
    peer.onicecandidateerror = (event) => {
      if (this.#errors.length >= mostErrors) return;
      const { url, errorCode, errorText } = event;
      this.#errors.push({ url: (url ?? "").slice(0, longestText), errorCode, errorText: errorText.slice(0, longestText) });
      if (peer.iceGatheringState === "complete") this.#trickle(null);
    };
    peer.onconnectionstatechange = () => this.#changed(peer.connectionState);
  }

  // changed restarts ICE when a connection that worked is lost. The service ends a stream that never connects.
  #changed(state: RTCPeerConnectionState): void {
    if (this.#over) return;
    clearTimeout(this.#restart);
    if (state === "connected") this.listener.trouble("");
    if (!this.#live || (state !== "disconnected" && state !== "failed")) return;
    this.listener.trouble("The video connection was lost. Connecting again…");
    const again = () => {
      // Without a socket, the next message ready starts the offer.
      if (this.#joined) void this.#offer(true).catch((error: unknown) => this.listener.trouble(errorWords(error)));
    };
    this.#restart = setTimeout(again, state === "failed" ? firstRetry : patience);
  }

  async #offer(iceRestart: boolean): Promise<void> {
    if (!this.#peer || this.#over) return;
    await this.#peer.setLocalDescription(await this.#peer.createOffer({ iceRestart }));
    this.#send({ type: "offer", sdp: this.#peer.localDescription?.sdp ?? "" });
  }

  #trickle(candidate: RTCIceCandidateInit | null): void {
    const errors = this.#errors.splice(0);
    const message: ClientMessage = { type: "ice", candidate, ...(errors.length > 0 ? { errors } : {}) };
    if (!this.#send(message)) this.#unsent.push(message);
  }

  #send(message: ClientMessage): boolean {
    if (!this.#joined || this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  #finish(reason: EndReason, stream: Stream | null): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#restart);
    this.#socket?.close();
    this.#peer?.close();
    this.listener.ended(reason, stream);
  }
}
