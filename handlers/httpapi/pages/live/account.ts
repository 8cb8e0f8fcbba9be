// The session of a signed-in person. The page exchanges it for a token of five minutes, again and again.

// How often the token is renewed, in milliseconds.
const renewEvery = 4 * 60 * 1000;

interface Issued {
  token: string;
  account_id: string;
}

async function issue(): Promise<Issued | null> {
  const response = await fetch("/session/token", { method: "POST", headers: { Accept: "application/json" }, cache: "no-store" });
  return response.ok ? ((await response.json()) as Issued) : null;
}

// Account is the signed-in person of this browser.
export class Account {
  #timer: number;

  private constructor(
    private issued: Issued,
    signedOut: () => void,
  ) {
    this.#timer = setInterval(() => void this.#renew(signedOut), renewEvery);
  }

  // open returns null when no person is signed in. signedOut is called once, when the session has ended.
  static async open(signedOut: () => void): Promise<Account | null> {
    const issued = await issue().catch(() => null);
    return issued && new Account(issued, signedOut);
  }

  get id(): string {
    return this.issued.account_id;
  }

  // token is the newest token.
  get token(): string {
    return this.issued.token;
  }

  async #renew(signedOut: () => void): Promise<void> {
    try {
      const issued = await issue();
      if (issued?.account_id === this.id) {
        this.issued = issued;
        return;
      }
    } catch {
      return; // the service does not answer; the next renewal tries again
    }
    clearInterval(this.#timer);
    signedOut();
  }
}
