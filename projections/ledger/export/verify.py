#!/usr/bin/env python3
"""Checks a ledger bundle. It needs Python 3.8 and nothing else.

    python3 verify.py [FOLDER] [--key KEY] [--keys FILE] [--kept PATH]

FOLDER is the unpacked bundle. The default is the folder of this program.

KEY is the public key of the platform's log in base64, which you have from somewhere else than this bundle.
Without it, the bundle names the key itself, so a forger could have made both. FILE is the platform's list of
keys (/.well-known/vqa-ledger-keys.json), which you fetched yourself.

PATH is what you kept from the past: a checkpoint, the .tlog-proof of a transaction, or an older bundle. The
program checks that the log of this bundle contains that past.

Exit status: 0 the bundle is valid, 1 there are mismatches (each is named), 2 nothing was checked, because
the bundle lacks a file (each is named), or KEY, FILE, PATH or the bundle cannot be read.
"""
import sys

# A file of a forged bundle must not stand in for a module of Python.
if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    sys.path.pop(0)

import argparse  # noqa: E402
import base64  # noqa: E402
import hashlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import types  # noqa: E402


def module(name):
    """Runs a program beside this one from its source, because import could run compiled code that shows something else."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py"), "rb") as f:
        source = f.read()
    made = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name + ".py", "exec"), made.__dict__)
    return made


_statement, _transparency = module("statement"), module("transparency")
Ledger, TOTALS, page_body, strict, text = _statement.Ledger, _statement.TOTALS, _statement.page_body, _statement.strict, _statement.text
EMPTY, STATEMENTS, Keys, consistent = _transparency.EMPTY, _transparency.STATEMENTS, _transparency.Keys, _transparency.consistent
UNREADABLE, Kept, Unusable, keys_of = _transparency.UNREADABLE, _transparency.Kept, _transparency.Unusable, _transparency.keys_of
netstrings, fields_of, record_of = _transparency.netstrings, _transparency.fields_of, _transparency.record_of
key_id, leaf_hash, number, open_note = _transparency.key_id, _transparency.leaf_hash, _transparency.number, _transparency.open_note
hashes_of, path, root_of, sha256_of = _transparency.hashes_of, _transparency.path, _transparency.root_of, _transparency.sha256_of

ZERO = bytes(32)


def link(before, row):
    """Returns the chain after one more event: the SHA-256 of the previous chain and the event."""
    return hashlib.sha256(before + netstrings(
        "vqa-event-1", row["stream"], row["version"], row["type"], row["account_id"], row["data"], row["meta"])).digest()


# The SHA-256 of the page up to its body without the title, and of README.txt with ACCOUNT for the account.
PAGE_HEAD = "4ddb3aa62b0611f41143d6bb5affc7b307d4606df5d2a379799847a2d5c95bd8"
README = "7ef678f967f6a33981eea925cabf466be0c76ea34d631da45aa2eafbf26673c6"

FORMAT = "vqa-ledger-bundle-3"
FILES = {"entries.jsonl", "nodes.txt", "proof.json", "log.json", "checkpoint.txt", "older.txt", "statement.json", "statement.html",
         "README.txt", "verify.py", "statement.py", "transparency.py", "drill.sh"}
ROW = {"index", "position", "recorded_at", "stream", "version", "type", "account_id", "data", "meta", "chain"}

MANIFEST = {"format", "account_id", "entries", "origin", "size", "older_size", "files"}


class Check:
    def __init__(self, folder):
        self.folder = folder
        self.mismatches = 0
        self.nodes = {}
        self.used = set()

    def path(self, name):
        return os.path.join(self.folder, name)

    def mismatch(self, where, what):
        self.mismatches += 1
        print("MISMATCH  %s: %s" % (where, what))

    def json(self, name):
        try:
            return strict(self.text(name))
        except ValueError as e:
            raise ValueError("%s: %s" % (name, e)) from e

    def text(self, name):
        with open(self.path(name), encoding="utf-8", newline="") as f:
            return f.read()

    def files(self):
        manifest = self.json("manifest.json")
        if manifest["format"] != FORMAT:
            self.mismatch("manifest.json", "has the format %s, and this program checks %s" % (manifest["format"], FORMAT))
        if set(manifest) != MANIFEST:
            self.mismatch("manifest.json", "has other fields than those of this format")
        for name in sorted((set(os.listdir(self.folder)) | set(manifest["files"])) - FILES - {"manifest.json"}):
            self.mismatch(name, "a bundle has no such file")
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

    def log(self, pins):
        """Checks keys, openings and both checkpoints. Without a valid checkpoint nothing else is proven."""
        log = self.json("log.json")
        if set(log) != {"statements", "openings"}:
            self.mismatch("log.json", "has other fields than those of this format")
        self.keys = Keys(log["statements"], pins)
        self.openings = []
        for note in log["openings"]:
            form, n, origin, restart, end = open_note(STATEMENTS, note, self.keys.all())[0].split("\n")
            if form != "vqa-ledger-log-1" or number(n) != len(self.openings) + 1 or end:
                raise ValueError("log.json: the opening of log %s is malformed" % n)
            self.openings.append((origin, fields_of(base64.b64decode(restart, validate=True)) if restart != "-" else None))
        self.number = len(self.openings)
        self.newest, self.older = (self.keys.open(self.number, self.text(name)) for name in ("checkpoint.txt", "older.txt"))
        for name, c in (("checkpoint.txt", self.newest), ("older.txt", self.older)):
            if c.origin != self.openings[-1][0]:
                self.mismatch(name, "is a checkpoint of the log %s, and the keys open the log %s" % (c.origin, self.openings[-1][0]))

    def proofs(self):
        """Reads the proofs, and checks that the newest checkpoint extends the older one."""
        proof = self.json("proof.json")
        if set(proof) != {"seal", "accounts", "consistency"}:
            self.mismatch("proof.json", "has other fields than those of this format")
        if not consistent(self.older.size, self.older.root, self.newest.size, self.newest.root, hashes_of(proof["consistency"])):
            self.mismatch("older.txt", "the log of checkpoint.txt does not contain the %d leaves of this checkpoint: it was forked or shortened" % self.older.size)
        for line in self.text("nodes.txt").splitlines():
            low, high, encoded = line.split(" ")
            self.nodes[number(low), number(high)] = base64.b64decode(encoded, validate=True)
        return proof

    def sealed(self, where, row):
        """Checks that the log has the leaf of a row at its index."""
        beside = [r for _, r in path(row["index"], self.newest.size)] if 0 <= row["index"] < self.newest.size else []
        self.used.update(beside)
        hashes = [self.nodes.get(r, ZERO) for r in beside]
        if root_of(row["index"], self.newest.size, leaf_hash(record_of(row)), hashes) != self.newest.root:
            self.mismatch(where, "version %s of %s, position %s, is not leaf %s of the log" % (row["version"], row["stream"], row["position"], row["index"]))

    def seal(self, row):
        """Checks the event that is the last leaf of the log, and returns its content."""
        if set(row) != ROW | {"before"} or row["type"].split("@")[0] != "ledger.sealed" or row["index"] != self.newest.size - 1:
            self.mismatch("proof.json", "the seal is not the last leaf of the log")
        if link(bytes.fromhex(row["before"]), row).hex() != row["chain"]:
            self.mismatch("proof.json", "the seal was altered: its hash does not follow from its content")
        self.sealed("proof.json", row)
        seal = json.loads(row["data"])
        if seal["log"] != self.number:
            self.mismatch("proof.json", "the seal is one of log %s, not of log %d" % (seal["log"], self.number))
        return seal

    def entries(self, account, seal):
        """Checks each entry: its chain, its leaf, its amounts. After a mismatch it continues with the chain in
        the row, so that each altered row is named once."""
        ledger, before, rows = Ledger(account), ZERO, []
        with open(self.path("entries.jsonl"), "rb") as f:
            for line, content in enumerate(f, 1):
                where = "entries.jsonl line %d" % line
                try:
                    row = strict(content.decode())
                    chain = bytes.fromhex(row["chain"])
                    if set(row) != ROW | {"postings"} or row["chain"] != chain.hex():
                        self.mismatch(where, "has other fields than those of this format")
                    if row["stream"] != "credit/" + account or row["version"] != len(rows) + 1:
                        self.mismatch(where, "is %s version %s, not credit/%s version %d" % (row["stream"], row["version"], account, len(rows) + 1))
                    if link(before, row) != chain:
                        self.mismatch(where, "version %s was altered: its hash does not follow from its content" % row["version"])
                    if row["position"] > seal["position"]:
                        self.mismatch(where, "version %s is later than the seal" % row["version"])
                    self.sealed(where, row)
                    postings = ledger.entry(row, lambda what: self.mismatch(where, what))
                    if sum(p["seconds"] for p in row["postings"]) != 0:
                        self.mismatch(where, "the postings do not sum to zero")
                    if row["postings"] != postings:
                        self.mismatch(where, "the postings do not follow from the entry")
                    before = chain
                    rows.append(row)
                except UNREADABLE as e:
                    self.mismatch(where, "cannot be read: %s: %s" % (type(e).__name__, e))
        for low, high in sorted(set(self.nodes) - self.used):
            self.mismatch("nodes.txt", "has the leaves %d to %d, which no path needs" % (low, high - 1))
        return ledger, rows

    def account(self, ledger, rows, seal, leaves):
        """Checks that the account tree of the seal has exactly this ledger, or none."""
        size, root, ids = seal["accounts"], base64.b64decode(seal["account_root"], validate=True), []
        for leaf in leaves:
            record = leaf["record"].encode()
            fields = fields_of(record)
            if set(leaf) != {"index", "record", "hashes"} or fields[0] != "vqa-account-1" or root_of(
                    leaf["index"], size, leaf_hash(record), hashes_of(leaf["hashes"])) != root:
                self.mismatch("proof.json", "the account tree of the seal does not have the leaf of %s" % fields[1])
            ids.append((leaf["index"], fields[1]))
        if [i for _, i in ids] == [ledger.account]:
            chain = rows[-1]["chain"] if rows else ""
            made = [len(rows), chain, ledger.posted, ledger.held] + [ledger.totals[t] for t in TOTALS]
            for what, sealed, given in zip(["version", "chain", "posted seconds", "held seconds"] + TOTALS, fields[2:], made):
                if sealed != str(given):
                    self.mismatch("entries.jsonl", "the sealed ledger of %s has %s %s, but the entries give %s" % (ledger.account, what, sealed, given))
            return
        beside = [i for i, _ in ids]
        between = len(ids) == 2 and ids[0][1] < ledger.account < ids[1][1] and beside[1] == beside[0] + 1
        edge = len(ids) == 1 and (beside == [0] and ledger.account < ids[0][1] or beside == [size - 1] and ids[0][1] < ledger.account)
        if rows or not (between or edge or (not ids and size == 0 and root == EMPTY)):
            self.mismatch("proof.json", "does not have the sealed balance of %s" % ledger.account)

    def statement(self, ledger, rows):
        """Makes both statements again from the entries and compares them."""
        made = ledger.statement(len(rows), rows[-1]["chain"] if rows else "")
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

    def kept(self, kept, account, rows):
        """Checks that the log contains the past that the caller kept."""
        for stream, version, record in kept.records:
            if stream != "credit/" + account:
                if kept.bundle:
                    print("NOTE      the bundle that you kept is of another account, so only its checkpoint was compared")
                break
            if not self.same(version, record, account, rows):
                break
        origins = [origin for origin, _ in self.openings]
        log = origins.index(kept.origin) + 1 if kept.origin in origins else self.number
        self.past(self.keys.open(log, kept.note))

    def same(self, version, record, account, rows):
        """Checks that an entry is the kept one."""
        if version > len(rows):
            self.mismatch("entries.jsonl", "version %d of credit/%s is missing, and you kept it" % (version, account))
        elif record_of(rows[version - 1]) != record:
            self.mismatch("entries.jsonl line %d" % version, "version %d of credit/%s, position %s, is not the entry that you kept"
                          % (version, account, rows[version - 1]["position"]))
        else:
            return True
        return False

    def past(self, c):
        """Compares a kept checkpoint with those of the bundle."""
        if c.origin != self.newest.origin:
            self.mismatch("checkpoint.txt", "is one of the log %s, and you kept one of the log %s. A bundle covers one log. "
                          "Run vqa ledger verify --against on the database or on a replica; it compares the old log, too" % (self.newest.origin, c.origin))
        elif c.size > self.newest.size:
            self.mismatch("checkpoint.txt", "the bundle ends at %d leaves, before the checkpoint of %d that you kept. Ask for a new bundle. "
                          "When that also has fewer than %d, the log was shortened." % (self.newest.size, c.size, c.size))
        elif c.size not in (self.older.size, self.newest.size):
            self.mismatch("older.txt", "has %d leaves, and you kept a checkpoint of %d: ask for a bundle with --since and your file" % (self.older.size, c.size))
        elif c.root != (self.older if c.size == self.older.size else self.newest).root:
            self.mismatch("older.txt", "the log was forked: the checkpoint of %d leaves that you kept has another root" % c.size)


def incomplete(folder):
    """Refuses a bundle that lacks files."""
    missing = sorted(name for name in FILES | {"manifest.json"} if not os.path.exists(os.path.join(folder, name)))
    if missing:
        raise Unusable("The bundle is incomplete, so nothing was checked: %s has no %s. Ask for the whole bundle." % (folder, ", ".join(missing)))


def acts(check):
    """Prints the acts about keys and logs that a reader must know."""
    for s in check.keys.statements:
        if s["action"] in ("replace", "revoke"):
            done = "was revoked beyond size %d" % s["size"] if s["action"] == "revoke" else "replaced a lost key"
            print("NOTE      the key %s %s, by %s: %s" % (key_id(s["key"]), done, s["by"], s["reason"]))
    for n, (_, restart) in enumerate(check.openings, 1):
        if restart:
            print("NOTE      log %d continues %s, which had %s leaves, after a loss (%s): %s" % (n, restart[1], restart[2], restart[6], restart[5]))


def main():
    parser = argparse.ArgumentParser(description="Checks a ledger bundle.")
    parser.add_argument("folder", nargs="?", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--key", metavar="KEY", action="append", default=[], help="the public key of the platform's log, in base64")
    parser.add_argument("--keys", metavar="FILE", help="the platform's published list of keys, any of which counts as given")
    parser.add_argument("--kept", metavar="PATH", help="a checkpoint, a .tlog-proof or an older bundle that you kept")
    given = parser.parse_args()
    try:
        pins, kept = keys_of(given.key, given.keys), Kept(given.kept) if given.kept else None
        incomplete(given.folder)
    except Unusable as e:
        print(e, file=sys.stderr)
        return 2
    check = Check(given.folder)
    try:
        manifest = check.files()
        account = manifest["account_id"]
        check.log(pins)
        proof = check.proofs()
        seal = check.seal(proof["seal"])
        ledger, rows = check.entries(account, seal)
        check.account(ledger, rows, seal, proof["accounts"])
        check.statement(ledger, rows)
        stated = (len(rows), check.newest.origin, check.newest.size, check.older.size)
        if stated != tuple(manifest[field] for field in ("entries", "origin", "size", "older_size")):
            check.mismatch("manifest.json", "the number of entries or the checkpoints differ from the files")
        if kept:
            check.kept(kept, account, rows)
    except (OSError,) + UNREADABLE as e:
        print("MISMATCH  the bundle cannot be verified: %s: %s" % (type(e).__name__, e))
        print("VERDICT   NOT VALID")
        return 1 if check.mismatches or isinstance(e, ValueError) else 2
    print("account   %s: %d seconds posted, %d held, %d available" % (account, ledger.posted, ledger.held, ledger.available()))
    print("entries   %d, each in double entry, in one hash chain, and a leaf of the log" % len(rows))
    print("log       %s, %d leaves, contains the %d leaves of the older checkpoint" % (check.newest.origin, check.newest.size, check.older.size))
    print("sealed    at position %d (%s); there is no later entry up to it" % (seal["position"], seal["at"]))
    acts(check)
    pinned = base64.b64encode(check.keys.statements[0]["key"]).decode()
    print("key       %s, %s" % (pinned, "given by you" if pins else "named by this bundle: compare it with one from elsewhere, or use --key"))
    if check.mismatches:
        print("VERDICT   NOT VALID: %d mismatches" % check.mismatches)
        return 1
    print("VERDICT   VALID: every entry, balance and signature holds" + ("" if pins else ", if the key is that of the platform"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
