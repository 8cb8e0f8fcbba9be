// The session of a signed-in person. The page exchanges it for a token of five minutes, again and again.
// How often the token is renewed, in milliseconds.
const renewEvery = 4 * 60 * 1000;
async function issue() {
    const response = await fetch("/session/token", { method: "POST", headers: { Accept: "application/json" }, cache: "no-store" });
    return response.ok ? (await response.json()) : null;
}
// Account is the signed-in person of this browser.
export class Account {
    issued;
    #timer;
    constructor(issued, signedOut) {
        this.issued = issued;
        this.#timer = setInterval(() => void this.#renew(signedOut), renewEvery);
    }
    // open returns null when no person is signed in. signedOut is called once, when the session has ended.
    static async open(signedOut) {
        const issued = await issue().catch(() => null);
        return issued && new Account(issued, signedOut);
    }
    get id() {
        return this.issued.account_id;
    }
    // token is the newest token.
    get token() {
        return this.issued.token;
    }
    async #renew(signedOut) {
        try {
            const issued = await issue();
            if (issued?.account_id === this.id) {
                this.issued = issued;
                return;
            }
        }
        catch {
            return; // the service does not answer; the next renewal tries again
        }
        clearInterval(this.#timer);
        signedOut();
    }
}
