"""Makes the statement and the page of a ledger bundle from its entries. verify.py uses it."""
import json
import re

PLATFORM = {
    "signup_grant": ("platform:grants", "grants", 1),
    "card_grant": ("platform:card_grants", "card_grants", 1),
    "purchase": ("platform:sales", "sales", 1),
    "adjustment": ("platform:adjustments", "adjustments", 1),
    "analysis_debit": ("platform:analysis_usage", "analysis_usage", -1),
    "stream_debit": ("platform:stream_usage", "stream_usage", -1),
}
TOTALS = ["grants", "card_grants", "sales", "adjustments", "analysis_usage", "stream_usage"]


def once(members):
    """Refuses a JSON object that has a member twice: another reader could take the other one."""
    if len({name for name, _ in members}) != len(members):
        raise ValueError("a JSON object has a member twice")
    return dict(members)


def whole(number):
    raise ValueError("%s is not a whole number" % number)


def strict(text):
    return json.loads(text, object_pairs_hook=once, parse_float=whole, parse_constant=whole)


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
