// Tests which ways lead from this browser to the service, without a stream and without credits.
import { preflight } from "./api.js";
import { forBrowser } from "./ice.js";
// How long the browser may search for its addresses, in milliseconds.
const gatherPatience = 5000;
export const ways = ["udp", "tcp", "relay"];
// testConnection tests all ways at the same time. An account may run four tests at once.
export async function testConnection(token) {
    const reports = await Promise.all(ways.map((way) => test(token, way)));
    return Object.fromEntries(ways.map((way, i) => [way, reports[i] ?? null]));
}
async function test(token, way) {
    const { id, ice_servers: servers } = await preflight(token, {});
    if (way === "relay" && !hasRelay(servers))
        return null;
    const [used, policy] = way === "relay" ? [servers, "relay"] : [withoutRelays(servers), "all"];
    const peer = new RTCPeerConnection({ iceServers: forBrowser(used), iceTransportPolicy: policy });
    try {
        peer.addTransceiver("video", { direction: "sendonly" });
        await peer.setLocalDescription(await peer.createOffer());
        await gathered(peer);
        const { sdp } = await preflight(token, { id, transport: way, sdp: peer.localDescription?.sdp ?? "" });
        await peer.setRemoteDescription({ type: "answer", sdp: sdp ?? "" });
        return (await preflight(token, { id })).report;
    }
    finally {
        peer.close();
    }
}
// withoutRelays keeps STUN. An account has four places at the relay for all of its tests, and a browser takes one for each
// address of a relay that it knows.
function withoutRelays(servers) {
    return servers
        .map((server) => ({ ...server, urls: server.urls.filter((url) => !url.startsWith("turn")) }))
        .filter(({ urls }) => urls.length > 0);
}
function hasRelay(servers) {
    return servers.some(({ urls }) => urls.some((url) => url.startsWith("turn")));
}
// gathered waits until the browser knows its addresses. It goes on with those that it has: a STUN server that does not
// answer would take longer.
function gathered(peer) {
    return new Promise((resolve) => {
        const done = () => {
            if (peer.iceGatheringState === "complete")
                resolve();
        };
        peer.onicegatheringstatechange = done;
        setTimeout(resolve, gatherPatience);
        done();
    });
}
