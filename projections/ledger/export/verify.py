#!/usr/bin/env python3
"""Checks a ledger bundle. It needs Python 3.8 and nothing else.

    python3 verify.py [FOLDER] [--keys FILE]

FOLDER is the unpacked bundle. The default is the folder of this program. FILE is the
platform's published list of keys (/.well-known/vqa-ledger-keys.json). Fetch it yourself:
with it, this program also finds a bundle that was forged together with its keys.

Exit status: 0 the bundle is valid, 1 there are mismatches (each is named), 2 the bundle
cannot be read.
"""
import argparse
import base64
import hashlib
import json
import os
import re
import sys

# --- ed25519 (RFC 8032, verification only) ---------------------------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


def add(a, b):
    """Adds two points in extended coordinates (X, Y, Z, T)."""
    m = (a[1] - a[0]) * (b[1] - b[0]) % P
    n = (a[1] + a[0]) * (b[1] + b[0]) % P
    t = 2 * a[3] * b[3] * D % P
    z = 2 * a[2] * b[2] % P
    e, f, g, h = n - m, z - t, z + t, n + m
    return e * f % P, g * h % P, f * g % P, e * h % P


def decompress(data):
    """Reads a point, or returns None when the bytes are not one."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * SQRT_M1 % P
    if (x * x - square) % P != 0 or (x == 0 and sign == 1):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def compress(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


NEUTRAL = (0, 1, 1, 0)
BASE = decompress((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def signed_by(key, message, signature):
    """Reports whether the owner of a public key signed a message."""
    a = decompress(key) if len(key) == 32 else None
    if a is None or len(signature) != 64:
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    # s*B - k*A must equal R. One pass over the bits computes both products.
    minus_a = (P - a[0], a[1], 1, P - a[3])
    table = (NEUTRAL, BASE, minus_a, add(BASE, minus_a))
    point = NEUTRAL
    for i in range(max(s.bit_length(), k.bit_length()) - 1, -1, -1):
        point = add(point, point)
        step = (s >> i & 1) | (k >> i & 1) << 1
        if step:
            point = add(point, table[step])
    return compress(point) == signature[:32]


# --- the ledger -------------------------------------------------------------

PLATFORM = {
    "signup_grant": ("platform:grants", "grants", 1),
    "card_grant": ("platform:card_grants", "card_grants", 1),
    "purchase": ("platform:sales", "sales", 1),
    "adjustment": ("platform:adjustments", "adjustments", 1),
    "analysis_debit": ("platform:analysis_usage", "analysis_usage", -1),
    "stream_debit": ("platform:stream_usage", "stream_usage", -1),
}
TOTALS = ["grants", "card_grants", "sales", "adjustments", "analysis_usage", "stream_usage"]
ZERO = bytes(32)


def netstrings(*fields):
    out = b""
    for field in fields:
        data = field if isinstance(field, bytes) else str(field).encode()
        out += str(len(data)).encode() + b":" + data
    return out


def link(before, row):
    """Returns the chain after one more event: the SHA-256 of the previous chain and the event."""
    return hashlib.sha256(before + netstrings(
        "vqa-event-1", row["stream"], row["version"], row["type"], row["account_id"], row["data"], row["meta"])).digest()


class Ledger:
    """The balance of the account, computed from its entries alone."""

    def __init__(self, account):
        self.account = account
        self.posted = self.held = 0
        self.totals = dict.fromkeys(TOTALS, 0)
        self.holds = {}
        self.lines = []
        self.kinds = {}

    def available(self):
        return self.posted - self.held

    def post(self, kind, seconds):
        _, total, sign = PLATFORM[kind]
        self.posted += seconds
        self.totals[total] += sign * seconds

    def entry(self, row, complain):
        """Folds an entry and returns its postings."""
        event, kind = json.loads(row["data"]), row["type"].split("@")[0]
        available, held = self.account + ":available", self.account + ":held"
        if event["account_id"] != self.account:
            complain("belongs to %s" % event["account_id"])
        if kind in ("credit.granted", "credit.refunded"):
            seconds = event["seconds"]
            sides = [(PLATFORM[event["kind"]][0], -seconds), (available, seconds)]
            self.post(event["kind"], seconds)
        elif kind == "credit.held":
            sides = [(available, -event["seconds"]), (held, event["seconds"])]
            if event["source_id"] in self.holds:
                complain("is a second hold for %s" % event["source_id"])
            self.holds[event["source_id"]] = hold_of(event)
            self.held += event["seconds"]
        elif kind == "credit.extended":
            sides = [(available, -event["seconds"]), (held, event["seconds"])]
            hold = self.holds.get(event["source_id"])
            if event["seconds"] < 1 or (hold["seconds"] if hold else 0) + event["seconds"] != event["held_seconds"]:
                complain("extends the hold for %s to %d seconds" % (event["source_id"], event["held_seconds"]))
            if hold:
                hold["seconds"] += event["seconds"]
                hold["expires_at"] = moment(event.get("expires_at", NEVER))
            else:
                complain("extends a hold for %s that is not open" % event["source_id"])
            self.held += event["seconds"]
        elif kind in ("credit.settled", "credit.released"):
            reserved = event["held_seconds" if kind == "credit.settled" else "seconds"]
            hold = self.holds.pop(event["source_id"], None)
            if not hold or hold["seconds"] != reserved:
                complain("ends a hold of %d seconds for %s that is not open" % (reserved, event["source_id"]))
            self.held -= reserved
            sides = [(held, -reserved), (available, reserved)]
            if kind == "credit.settled":
                sides = [(held, -reserved), (PLATFORM[event["kind"]][0], event["seconds"]),
                         (available, reserved - event["seconds"])]
                self.post(event["kind"], -event["seconds"])
        else:
            raise ValueError("the entry type %s is unknown" % row["type"])
        if event.get("balance_after", self.posted) != self.posted:
            complain("has a balance of %s seconds, but the entries sum to %d" % (event["balance_after"], self.posted))
        if self.available() < 0:
            complain("leaves %d seconds available" % self.available())
        if kind in ("credit.granted", "credit.settled", "credit.refunded"):
            self.line(row["version"], kind, event)
        return [{"account": a, "seconds": s} for a, s in sides if s != 0]

    def line(self, version, kind, event):
        """Adds a transaction to the statement."""
        name = "refund" if kind == "credit.refunded" else event["kind"]
        delta = -event["seconds"] if kind == "credit.settled" else event["seconds"]
        line = {"version": version, "at": moment(event["at"]), "id": event["transaction_id"], "kind": name,
                "seconds_delta": delta, "balance_after_seconds": self.posted}
        shown = {"credit.granted": ("reason",), "credit.settled": ("source_type", "source_id", "discount_pct"),
                 "credit.refunded": ("source_type", "source_id", "refunds", "reason")}[kind]
        line.update((field, event[field]) for field in shown if event.get(field))
        self.lines.append(line)
        total = self.kinds.setdefault(name, {"kind": name, "count": 0, "seconds": 0})
        total["count"] += 1
        total["seconds"] += delta

    def balances(self, posted, held, totals):
        return {"account_id": self.account, "posted_seconds": posted, "available_seconds": posted - held,
                "held_seconds": held, "totals": totals}

    def statement(self, version, chain):
        """Returns the content of statement.json."""
        return {"account_id": self.account, "from": None, "to": None,
                "opening": self.balances(0, 0, dict.fromkeys(TOTALS, 0)), "transactions": self.lines,
                "totals": [self.kinds[k] for k in sorted(self.kinds)],
                "closing": self.balances(self.posted, self.held, self.totals),
                "holds": sorted(self.holds.values(), key=lambda h: (in_order(h["created_at"]), h["id"])),
                "version": version, "chain": chain}


NEVER = "0001-01-01T00:00:00Z"


def moment(text):
    """Returns a time without zeros at the end of its fraction."""
    m = re.match(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z$", text)
    if not m:
        raise ValueError("%s is not a time in UTC" % text)
    return m.group(1) + (m.group(2) or "").rstrip("0").rstrip(".") + "Z"


def in_order(at):
    """Returns a key that sorts times."""
    return at[:19], at[19:-1].ljust(10, "0")


def hold_of(event):
    hold = {"id": event["hold_id"], "seconds": event["seconds"], "source_type": event.get("source_type", ""), "source_id": event["source_id"]}
    if event.get("discount_pct"):
        hold["discount_pct"] = event["discount_pct"]
    hold.update(created_at=moment(event["at"]), expires_at=moment(event.get("expires_at", NEVER)))
    hold.update((field, event[field]) for field in ("grant_id", "grant_limit_seconds") if event.get(field))
    return hold


# --- the page ---------------------------------------------------------------

# The SHA-256 of the page up to its body without the title, and of README.txt with ACCOUNT for the account.
PAGE_HEAD = "4ddb3aa62b0611f41143d6bb5affc7b307d4606df5d2a379799847a2d5c95bd8"
README = "a328e36c5d8f53ad78d5239be525a628a923b55436a5b3b2dfc060f7110791d7"


def text(value):
    """Escapes text for the page."""
    out = str(value)
    for char, code in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&#34;"), ("'", "&#39;"), ("+", "&#43;"), ("\0", "\ufffd")):
        out = out.replace(char, code)
    return out


def grouped(n):
    return ("\u2212" if n < 0 else "") + format(abs(n), ",")


def signed(n):
    return text("+" + grouped(n)) if n > 0 else grouped(n)


def when(at):
    return at[:19].replace("T", " ")


def transaction_row(t):
    kind = text(t["kind"].replace("_", " "))
    if "discount_pct" in t:
        kind += ', <span class="n">%d %% off</span>' % t["discount_pct"]
    what = text(t["reason"]) + "<br>" if "reason" in t else ""
    what += "<code>%s</code><br>" % text(t["source_id"]) if "source_id" in t else ""
    what += "refunds <code>%s</code><br>" % text(t["refunds"]) if "refunds" in t else ""
    return '<tr><td class="when">%s</td><td>%s</td><td>%s<code>%s</code></td><td class="n">%s</td><td class="n">%s</td></tr>\n' % (
        when(t["at"]), kind, what, text(t["id"]), signed(t["seconds_delta"]), grouped(t["balance_after_seconds"]))


def page_body(s):
    """Returns the page from its body on, made from a statement."""
    closing, opening = s["closing"], s["opening"]["posted_seconds"]
    out = "<body>\n<header>\n  <h1>Statement of credits</h1>\n"
    out += "  <p><code>%s</code> \u00b7 all entries \u00b7 credit-seconds, times in UTC</p>\n</header>\n" % text(s["account_id"])
    out += '<section class="balances">\n'
    for name, seconds in (("Opening balance", opening), ("Closing balance", closing["posted_seconds"]),
                          ("of which held", closing["held_seconds"]), ("of which available", closing["available_seconds"])):
        out += "  <div><span>%s</span><strong>%s</strong></div>\n" % (name, grouped(seconds))
    out += "</section>\n\n<h2>Transactions</h2>\n"
    if s["transactions"]:
        out += '<table>\n<thead><tr><th>When</th><th>Kind</th><th>For</th><th class="n">Seconds</th><th class="n">Balance</th></tr></thead>\n'
        out += '<tbody>\n<tr><td colspan="4">Opening balance</td><td class="n">%s</td></tr>\n' % grouped(opening)
        out += "".join(map(transaction_row, s["transactions"]))
        out += '<tr class="sum"><td colspan="4">Closing balance</td><td class="n">%s</td></tr>\n' % grouped(closing["posted_seconds"])
        out += "</tbody>\n</table>\n\n<h2>Totals</h2>\n<table>\n"
        out += '<thead><tr><th>Kind</th><th class="n">Transactions</th><th class="n">Seconds</th></tr></thead>\n<tbody>\n'
        for t in s["totals"]:
            out += '<tr><td>%s</td><td class="n">%s</td><td class="n">%s</td></tr>\n' % (
                text(t["kind"].replace("_", " ")), grouped(t["count"]), signed(t["seconds"]))
        out += "</tbody>\n</table>"
    else:
        out += "<p>None in this period.</p>"
    out += "\n\n<h2>Holds open at the end</h2>\n"
    if s["holds"]:
        out += '<table>\n<thead><tr><th>Since</th><th>For</th><th>Expires</th><th class="n">Seconds</th></tr></thead>\n<tbody>\n'
        for h in s["holds"]:
            out += '<tr><td class="when">%s</td><td>%s <code>%s</code></td><td class="when">%s</td><td class="n">%s</td></tr>\n' % (
                when(h["created_at"]), text(h["source_type"]), text(h["source_id"]), when(h["expires_at"]), grouped(h["seconds"]))
        out += "</tbody>\n</table>"
    else:
        out += "<p>None.</p>"
    out += "\n\n<footer>\n"
    if s["version"]:
        out += "<p>This statement ends with entry %d of the account's ledger. The hash chain of its entries at this point:</p>\n" % s["version"]
        out += "<p><code>%s</code></p>" % text(s["chain"])
    else:
        out += "<p>The account has no ledger entry up to the end of this period.</p>"
    return out + "\n</footer>\n</body>\n</html>\n"


def signed_bytes(c):
    t = c["totals"]
    return netstrings("vqa-checkpoint-1", c["account_id"], c["number"], c["version"], c["chain"],
                      c["posted_seconds"], c["held_seconds"], c["available_seconds"],
                      *[t[name] for name in TOTALS], c["previous"], c["at"], c["key_id"])


# --- the bundle -------------------------------------------------------------

FORMAT = "vqa-ledger-bundle-2"
FILES = {"entries.jsonl", "checkpoints.jsonl", "keys.json", "statement.json", "statement.html", "README.txt", "verify.py"}
ROW = {"position", "stream", "version", "type", "account_id", "data", "meta", "chain"}

# The errors of a malformed file.
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)


class Check:
    def __init__(self, folder):
        self.folder = folder
        self.mismatches = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def mismatch(self, where, what):
        self.mismatches += 1
        print("MISMATCH  %s: %s" % (where, what))

    def json(self, name):
        return json.loads(self.text(name))

    def text(self, name):
        with open(self.path(name), encoding="utf-8", newline="") as f:
            return f.read()

    def rows(self, name, fields):
        """Reads the lines of a file. A line that is not a row is a mismatch and is skipped."""
        with open(self.path(name), "rb") as f:
            for number, text in enumerate(f, 1):
                try:
                    row = json.loads(text.decode())
                    chain = bytes.fromhex(row["chain"])
                    if len(chain) != 32:
                        raise ValueError("the chain is not 32 bytes long")
                    if set(row) != fields:
                        self.mismatch(name, "line %d has other fields than those of this format" % number)
                    yield number, row, chain
                except UNREADABLE as e:
                    self.mismatch(name, "line %d cannot be read: %s" % (number, e))

    def chained(self, name, stream, fields, visit):
        """Calls visit with each row of a stream and checks its hash chain. After a mismatch it
        continues with the chain in the row, so that each altered row is named once."""
        before, version = ZERO, 0
        for number, row, chain in self.rows(name, fields):
            where = "%s line %d" % (name, number)
            version += 1
            try:
                if row["stream"] != stream or row["version"] != version:
                    self.mismatch(where, "is %s version %s, not %s version %d" % (row["stream"], row["version"], stream, version))
                    version = int(row["version"])
                if link(before, row) != chain:
                    self.mismatch(where, "version %s was altered: its hash does not follow from its content" % row["version"])
                visit(where, row, chain)
            except UNREADABLE as e:
                self.mismatch(where, "cannot be read: %s: %s" % (type(e).__name__, e))
            before = chain

    def files(self):
        manifest = self.json("manifest.json")
        if manifest["format"] != FORMAT:
            self.mismatch("manifest.json", "has the format %s, and this program checks %s" % (manifest["format"], FORMAT))
        for name in sorted(set(os.listdir(self.folder)) - set(manifest["files"]) - {"manifest.json", "__pycache__"}):
            self.mismatch(name, "manifest.json does not list this file")
        for name in sorted(FILES - set(manifest["files"])):
            self.mismatch("manifest.json", "does not list " + name)
        for name, digest in sorted(manifest["files"].items()):
            try:
                sha = hashlib.sha256()
                with open(self.path(os.path.basename(name)), "rb") as f:
                    for block in iter(lambda: f.read(1 << 20), b""):
                        sha.update(block)
                if sha.hexdigest() != digest:
                    self.mismatch(name, "is not the file that manifest.json lists")
            except OSError as e:
                self.mismatch(name, e.strerror)
        return manifest

    def keys(self, published):
        keys = {}
        for k in self.json("keys.json")["keys"]:
            try:
                key = base64.b64decode(k["public_key"], validate=True)
                if set(k) != {"key_id", "algorithm", "public_key"} or k["algorithm"] != "ed25519":
                    self.mismatch("keys.json", "%s has other fields than those of this format" % k["key_id"])
                if "lk_" + hashlib.sha256(key).hexdigest()[:16] != k["key_id"]:
                    self.mismatch("keys.json", "%s is not the id of its key" % k["key_id"])
                    continue
                keys[k["key_id"]] = key
            except UNREADABLE as e:
                self.mismatch("keys.json", "a key cannot be read: %s" % e)
        if published:
            with open(published, encoding="utf-8") as f:
                known = {k["key_id"]: k["public_key"] for k in json.load(f)["keys"]}
            for key_id in sorted(keys):
                if known.get(key_id) != base64.b64encode(keys[key_id]).decode():
                    self.mismatch("keys.json", "%s is not among the published keys" % key_id)
                    del keys[key_id]
        return keys

    def checkpoints(self, account, keys):
        """Returns the checkpoints by the version that they cover."""
        found, previous, number = {}, "", 0

        def visit(where, row, _):
            nonlocal previous, number
            sealed = json.loads(row["data"])
            c = sealed["checkpoint"]
            number += 1
            message = signed_bytes(c)
            signature = base64.b64decode(sealed["signature"])
            if c["key_id"] not in keys:
                self.mismatch(where, "checkpoint %d is signed with the unknown key %s" % (number, c["key_id"]))
            elif not signed_by(keys[c["key_id"]], message, signature):
                self.mismatch(where, "checkpoint %d has a wrong signature" % number)
            if c["account_id"] != account or c["number"] != number or c["previous"] != previous:
                self.mismatch(where, "checkpoint %s of %s does not follow the previous one" % (c["number"], c["account_id"]))
            previous, number = hashlib.sha256(message).hexdigest(), c["number"]
            found[c["version"]] = (where, c)

        self.chained("checkpoints.jsonl", "checkpoint/" + account, ROW, visit)
        return found

    def entries(self, account, checkpoints):
        ledger, count, last, chain = Ledger(account), 0, 0, ""

        def visit(where, row, head):
            nonlocal count, last, chain
            count, last, chain = count + 1, row["version"], head.hex()
            postings = ledger.entry(row, lambda what: self.mismatch(where, what))
            if sum(p["seconds"] for p in row["postings"]) != 0:
                self.mismatch(where, "the postings do not sum to zero")
            if row["postings"] != postings:
                self.mismatch(where, "the postings do not follow from the entry")
            sealed_at, c = checkpoints.pop(row["version"], (None, None))
            if c:
                stated = (c["chain"], c["posted_seconds"], c["held_seconds"], c["available_seconds"], c["totals"])
                made = (chain, ledger.posted, ledger.held, ledger.available(), ledger.totals)
                for what, a, b in zip(("chain", "posted seconds", "held seconds", "available seconds", "totals"), stated, made):
                    if a != b:
                        self.mismatch(sealed_at, "checkpoint %d has %s %s at version %d: %s, but the entries give %s"
                                      % (c["number"], "another" if what == "chain" else "other", what, row["version"], a, b))

        self.chained("entries.jsonl", "credit/" + account, ROW | {"postings"}, visit)
        for version, (where, c) in sorted(checkpoints.items()):
            self.mismatch(where, "checkpoint %d covers version %d, which is not among the entries" % (c["number"], version))
        return ledger, count, last, chain

    def statement(self, ledger, last, chain):
        """Makes both statements again from the entries and compares them."""
        made = ledger.statement(last, chain)
        shown = self.json("statement.json")
        for part, what in (("transactions", "the transactions are"), ("totals", "the totals are"), ("closing", "the closing balance is"),
                           ("holds", "the holds are"), ("version", "the last version is"), ("chain", "the chain is")):
            if shown[part] != made[part]:
                self.mismatch("statement.json", what + " not what the entries give")
        raw = json.dumps(made, indent=2, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") + "\n"
        if self.text("statement.json") != raw:
            self.mismatch("statement.json", "is not the statement that the entries give")
        page = self.text("statement.html")
        title = "<title>Statement of %s, all entries</title>" % text(ledger.account)
        body = page.find("<body>")
        head = page[:max(body, 0)]
        if head.count(title) != 1 or sha256_of(head.replace(title, "")) != PAGE_HEAD or page[body:] != page_body(made):
            self.mismatch("statement.html", "is not the page that the entries give")
        if sha256_of(self.text("README.txt").replace(ledger.account, "ACCOUNT")) != README:
            self.mismatch("README.txt", "is not the text of this format")


def sha256_of(content):
    return hashlib.sha256(content.encode()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description="Checks a ledger bundle.")
    parser.add_argument("folder", nargs="?", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--keys", metavar="FILE", help="the platform's published keys")
    given = parser.parse_args()
    check = Check(given.folder)
    try:
        manifest = check.files()
        account, keys = manifest["account_id"], check.keys(given.keys)
        checkpoints = check.checkpoints(account, keys)
        sealed, count = max(checkpoints, default=0), len(checkpoints)
        ledger, entries, last, chain = check.entries(account, checkpoints)
        if (entries, count, sealed) != (manifest["entries"], manifest["checkpoints"], manifest["sealed_version"]):
            check.mismatch("manifest.json", "the numbers of entries or checkpoints, or the sealed version, differ from the files")
        check.statement(ledger, last, chain)
    except (OSError,) + UNREADABLE as e:
        print("MISMATCH  the bundle cannot be read: %s: %s" % (type(e).__name__, e))
        print("VERDICT   NOT VALID")
        return 1 if check.mismatches else 2
    print("account   %s: %d seconds posted, %d held, %d available" % (account, ledger.posted, ledger.held, ledger.available()))
    print("entries   %d, each in double entry, in one hash chain" % entries)
    print("sealed    up to version %d by %d checkpoints; %d later entries are chained, not sealed" % (sealed, count, max(last - sealed, 0)))
    print("keys      %s%s" % (", ".join(sorted(keys)) or "none", "" if given.keys else " (compare them with the published ones, or use --keys)"))
    if check.mismatches:
        print("VERDICT   NOT VALID: %d mismatches" % check.mismatches)
        return 1
    if not count:
        print("VERDICT   VALID, but no checkpoint is signed: no signature covers the ledger yet")
        return 0
    print("VERDICT   VALID: every entry, balance and signature holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
