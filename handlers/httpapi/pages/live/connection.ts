// Tests which ways lead from this browser to the service, without a stream and without credits.

import { preflight } from "./api.js";
import { forBrowser } from "./ice.js";
import type { IceServer, PreflightReport } from "./messages.js";

// How long the browser may search for its addresses, in milliseconds.
const gatherPatience = 5000;

export const ways = ["udp", "tcp", "relay"] as const;
export type Way = (typeof ways)[number];

// A way without a report cannot be tested: the service has no relay.
export type Connection = Record<Way, PreflightReport | null>;

// testConnection tests all ways at the same time. An account may run four tests at once.
export async function testConnection(token: string): Promise<Connection> {
  const reports = await Promise.all(ways.map((way) => test(token, way)));
  return Object.fromEntries(ways.map((way, i) => [way, reports[i] ?? null])) as Connection;
}

async function test(token: string, way: Way): Promise<PreflightReport | null> {
  const { id, ice_servers: servers } = await preflight(token, {});
  if (way === "relay" && !hasRelay(servers)) return null;
  const [used, policy] = way === "relay" ? ([servers, "relay"] as const) : ([withoutRelays(servers), "all"] as const);
  const peer = new RTCPeerConnection({ iceServers: forBrowser(used), iceTransportPolicy: policy });
  try {
    peer.addTransceiver("video", { direction: "sendonly" });
    await peer.setLocalDescription(await peer.createOffer());
    await gathered(peer);
    const { sdp } = await preflight(token, { id, transport: way, sdp: peer.localDescription?.sdp ?? "" });
    await peer.setRemoteDescription({ type: "answer", sdp: sdp ?? "" });
    return (await preflight(token, { id })).report;
  } finally {
    peer.close();
  }
}

// withoutRelays keeps STUN. An account has four places at the relay for all of its tests, and a browser takes one for each
// address of a relay that it knows.
function withoutRelays(servers: IceServer[]): IceServer[] {
  return servers
    .map((server) => ({ ...server, urls: server.urls.filter((url) => !url.startsWith("turn")) }))
    .filter(({ urls }) => urls.length > 0);
}

function hasRelay(servers: IceServer[]): boolean {
  return servers.some(({ urls }) => urls.some((url) => url.startsWith("turn")));
}

// gathered waits until the browser knows its addresses. It goes on with those that it has: a STUN server that does not
// answer would take longer.
function gathered(peer: RTCPeerConnection): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      if (peer.iceGatheringState === "complete") resolve();
    };
    peer.onicegatheringstatechange = done;
    setTimeout(resolve, gatherPatience);
    done();
  });
}
