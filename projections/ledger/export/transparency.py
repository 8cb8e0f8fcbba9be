"""Signatures, notes, key statements and Merkle proofs of a ledger bundle, and what its reader gives. verify.py uses it.

The formats are those of RFC 6962 (trees), RFC 8032 (ed25519), c2sp.org/signed-note and
c2sp.org/tlog-checkpoint.
"""
import base64
import hashlib
import json
import os

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


# --- notes ------------------------------------------------------------------


def key_id(key):
    return "lk_" + hashlib.sha256(key).hexdigest()[:16]


def open_note(name, note, keys):
    """Returns the text of a signed note and those of the keys that signed it. Other signatures, such as those
    of witnesses, are ignored. A wrong signature of one of the keys is an error."""
    text, blank, signatures = note.rpartition("\n\n")
    if not blank or not signatures.endswith("\n"):
        raise ValueError("the note has no signature")
    text += "\n"
    known = {hashlib.sha256(name.encode() + b"\n\x01" + key).digest()[:4]: key for key in keys}
    by = []
    for line in signatures[:-1].split("\n"):
        mark, signer, encoded = line.split(" ")
        raw = base64.b64decode(encoded, validate=True)
        if mark != "\u2014" or len(raw) < 5:
            raise ValueError("the note has a line that is not a signature")
        key = known.get(raw[:4]) if signer == name else None
        if key is None:
            continue
        if not signed_by(key, text.encode(), raw[4:]):
            raise ValueError("the signature of the key %s is wrong" % key_id(key))
        by.append(key)
    if not by:
        raise ValueError("the note is not signed by a known key")
    return text, by


class Checkpoint:
    """A signed statement of a log about its tree."""

    def __init__(self, text):
        self.origin, size, root, end = text.split("\n")
        self.size, self.root = number(size), base64.b64decode(root, validate=True)
        if end or len(self.root) != 32 or text != "%s\n%d\n%s\n" % (self.origin, self.size, base64.b64encode(self.root).decode()):
            raise ValueError("the checkpoint is not in its canonical form")


def number(digits):
    if not digits.isdigit() or str(int(digits)) != digits:
        raise ValueError("%s is not a number" % digits)
    return int(digits)


# --- keys -------------------------------------------------------------------

STATEMENTS = "vqa-ledger-keys"


class Keys:
    """The keys of the logs of an installation, by their signed statements."""

    def __init__(self, notes, pins):
        self.statements = []
        for note in notes:
            self.follow(note, pins)
        if not self.statements:
            raise ValueError("no statement pins a key")

    def current(self):
        return next((s["key"] for s in reversed(self.statements) if s["action"] != "revoke"), None)

    def all(self):
        return [s["key"] for s in self.statements if s["action"] != "revoke"]

    def follow(self, note, pins):
        """Adds a statement that follows from those before it."""
        lines = note.rpartition("\n\n")[0].split("\n")
        if len(lines) != 10 or lines[0] != "vqa-ledger-key-1" or not all(
                line.startswith(word) for line, word in zip(lines[6:9], ("previous ", "reason ", "by "))):
            raise ValueError("a key statement is malformed")
        s = {"number": number(lines[1]), "action": lines[2], "key": base64.b64decode(lines[3], validate=True), "log": number(lines[4]),
             "size": number(lines[5]), "previous": lines[6][9:], "reason": lines[7][7:], "by": lines[8][3:], "at": lines[9]}
        last, current = self.statements[-1] if self.statements else None, self.current()
        if s["number"] != len(self.statements) + 1 or s["previous"] != (last["digest"] if last else "") or (s["action"] == "pin") != (last is None):
            raise ValueError("key statement %d does not follow from the one before it" % s["number"])
        signers = {"pin": [s["key"]], "rotate": [s["key"], current], "replace": [s["key"]], "revoke": [current]}[s["action"]]
        if s["action"] == "revoke" and (s["key"] == current or s["key"] not in self.all()):
            raise ValueError("key statement %d revokes a key that it cannot revoke" % s["number"])
        text, by = open_note(STATEMENTS, note, signers)
        if not all(key in by for key in signers):
            raise ValueError("a key that must sign key statement %d has not" % s["number"])
        if pins and s["action"] in ("pin", "replace") and s["key"] not in pins:
            raise ValueError("the key %s of statement %d is not the given one" % (base64.b64encode(s["key"]).decode(), s["number"]))
        s["digest"] = hashlib.sha256(text.encode()).hexdigest()
        self.statements.append(s)

    def may(self, key, log, size):
        """Reports whether a key may sign the checkpoint of a size."""
        may = False
        for s in self.statements:
            beyond = log > s["log"] or (log == s["log"] and size > s["size"])
            if s["action"] == "revoke":
                may = may and not (s["key"] == key and beyond)
            elif s["key"] == key:
                may = may or beyond or s["action"] == "pin"
            elif beyond:
                may = False  # another key has replaced it
        return may

    def open(self, log, note):
        """Returns the checkpoint of a log, signed by a key that was the current one at its size."""
        text, by = open_note(note.split("\n")[0], note, self.all())
        c = Checkpoint(text)
        if not any(self.may(key, log, c.size) for key in by):
            raise ValueError("the checkpoint of size %d is not signed by a key that may sign it" % c.size)
        return c


# --- records -----------------------------------------------------------------


def netstrings(*fields):
    out = b""
    for field in fields:
        data = field if isinstance(field, bytes) else str(field).encode()
        out += str(len(data)).encode() + b":" + data
    return out


def fields_of(record):
    """Returns the fields of a record, which is made of netstrings."""
    out = []
    while record:
        size, _, record = record.partition(b":")
        n = number(size.decode())
        if len(record) < n:
            raise ValueError("a record is cut")
        out.append(record[:n].decode())
        record = record[n:]
    return out


def record_of(row):
    """Returns the record of the event's leaf in the log."""
    return netstrings("vqa-leaf-1", row["position"], row["recorded_at"], row["stream"], row["version"], row["chain"])


# --- trees (RFC 6962) ---------------------------------------------------------


def hashes_of(encoded):
    return [base64.b64decode(h, validate=True) for h in encoded]


def sha256_of(content):
    return hashlib.sha256(content.encode()).hexdigest()


def leaf_hash(record):
    return hashlib.sha256(b"\0" + record).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


EMPTY = hashlib.sha256(b"").digest()


def path(index, size):
    """Returns the subtrees beside the path from a leaf to the root, the lowest first, each with its side."""
    low, high, out = 0, size, []
    while high - low > 1:
        middle = low + (1 << (high - low - 1).bit_length() - 1)
        if index < middle:
            out.append((True, (middle, high)))
            high = middle
        else:
            out.append((False, (low, middle)))
            low = middle
    return out[::-1]


def root_of(index, size, leaf, hashes):
    """Returns the root that a leaf and the hashes beside its path give, or None."""
    if not 0 <= index < size:
        return None
    steps = path(index, size)
    if len(steps) != len(hashes):
        return None
    for (right, _), h in zip(steps, hashes):
        leaf = node_hash(leaf, h) if right else node_hash(h, leaf)
    return leaf


def consistent(m, older, n, newer, proof):
    """Reports whether the tree of n leaves extends the one of m leaves (RFC 9162, section 2.1.4.2)."""
    if m == n:
        return not proof and older == newer
    if not 0 < m < n:
        return False
    if m & (m - 1) == 0:
        proof = [older] + proof
    if not proof:
        return False
    a, b = m - 1, n - 1
    while a & 1:
        a, b = a >> 1, b >> 1
    first = second = proof[0]
    for h in proof[1:]:
        if b == 0:
            return False
        if a & 1 or a == b:
            first, second = node_hash(h, first), node_hash(h, second)
            while a and not a & 1:
                a, b = a >> 1, b >> 1
        else:
            second = node_hash(second, h)
        a, b = a >> 1, b >> 1
    return b == 0 and first == older and second == newer


# --- what the reader gives ----------------------------------------------------

# The errors of a malformed file.
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError)


class Unusable(Exception):
    """What the caller gave cannot be used, so nothing was checked."""


def reason(error):
    return "no such file" if isinstance(error, FileNotFoundError) else error.strerror


class Kept:
    """What the caller kept: a signed checkpoint, and the streams, versions and records of leaves, if there are any."""

    def __init__(self, path):
        try:
            self.read(path)
        except OSError as e:
            raise Unusable("Cannot read %s, the file that you kept: %s." % (e.filename, reason(e)))
        except UNREADABLE:
            raise Unusable("%s is not a checkpoint, a .tlog-proof or the folder of a bundle, so nothing was compared." % path)

    def read(self, path):
        self.bundle, self.records = os.path.isdir(path), []
        with open(os.path.join(path, "checkpoint.txt") if self.bundle else path, encoding="utf-8", newline="") as f:
            note = f.read()
        if "\n\n" not in note:
            note = base64.b64decode(note, validate=False).decode()  # the header of a response
        if self.bundle:
            with open(os.path.join(path, "entries.jsonl"), encoding="utf-8", newline="") as f:
                for version, line in enumerate(f, 1):
                    row = json.loads(line)
                    self.records.append((row["stream"], version, record_of(row)))
        elif note.startswith("c2sp.org/tlog-proof@v1\n"):
            head, _, note = note.partition("\n\n")
            record = base64.b64decode(head.split("\n")[1][len("extra "):], validate=True)
            fields = fields_of(record)
            self.records.append((fields[3], number(fields[4]), record))
        self.note, self.origin = note, Checkpoint(note.rpartition("\n\n")[0] + "\n").origin


def keys_of(given, file):
    """Returns the keys that the caller gave: some in base64, and those of a file with a list, if there is one."""
    listed = []
    if file:
        try:
            with open(file, encoding="utf-8") as f:
                listed = [k["public_key"] for k in json.load(f)["keys"]]
        except OSError as e:
            raise Unusable("Cannot read %s, the list of keys: %s." % (file, reason(e)))
        except UNREADABLE:
            pass
        if not listed:
            raise Unusable("%s is not a list of keys, so nothing was checked. Save /.well-known/vqa-ledger-keys.json of the platform." % file)
    keys = []
    for key in given + listed:
        try:
            keys.append(base64.b64decode(key, validate=True))
        except (ValueError, TypeError):
            keys.append(b"")
        if len(keys[-1]) != 32:
            raise Unusable("%s is not a public key, so nothing was checked. The key is 44 characters of base64 that end with =." % key)
    return keys
