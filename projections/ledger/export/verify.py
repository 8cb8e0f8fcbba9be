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
import sys

sys.dont_write_bytecode = True  # the bundle stays as it is

from statement import Ledger, TOTALS, page_body, text  # noqa: E402, from the bundle

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


# --- hashes -------------------------------------------------------------

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


def signed_bytes(c):
    t = c["totals"]
    return netstrings("vqa-checkpoint-1", c["account_id"], c["number"], c["version"], c["chain"],
                      c["posted_seconds"], c["held_seconds"], c["available_seconds"],
                      *[t[name] for name in TOTALS], c["previous"], c["at"], c["key_id"])


# --- the bundle -------------------------------------------------------------

# The SHA-256 of the page up to its body without the title, and of README.txt with ACCOUNT for the account.
PAGE_HEAD = "4ddb3aa62b0611f41143d6bb5affc7b307d4606df5d2a379799847a2d5c95bd8"
README = "d289312c972f83bf5650011b49acdf9c8e07f73e4f2fc9943fe6a0a7cc23dba3"

FORMAT = "vqa-ledger-bundle-2"
FILES = {"entries.jsonl", "checkpoints.jsonl", "keys.json", "statement.json", "statement.html", "README.txt", "verify.py", "statement.py"}
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
