// The STUN and TURN servers of the service in the form of the browser.
export function forBrowser(servers) {
    return servers.map(({ urls, username, credential }) => ({
        urls,
        ...(username === null ? {} : { username }),
        ...(credential === null ? {} : { credential }),
    }));
}
