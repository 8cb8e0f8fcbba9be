// The STUN and TURN servers of the service in the form of the browser.

import type { IceServer } from "./messages.js";

export function forBrowser(servers: IceServer[]): RTCIceServer[] {
  return servers.map(({ urls, username, credential }) => ({
    urls,
    ...(username === null ? {} : { username }),
    ...(credential === null ? {} : { credential }),
  }));
}
