"""Where every node runs, and why: what session.placement() returns."""

DOWN = ("PROVIDER_DOWN", "DISABLED")
MAX_NAMED = 3


class Placement:
    """A snapshot of a session's plan: a table in a terminal and in a notebook, `tinyort plan --json` as to_dict().

    nodes      a dict a node, in the order they run: index, path, op, provider, kernel, verdicts, inputs and outputs with
               types and shapes, attributes ...
    fallbacks  a dict for each node that a provider before the one that runs it refused: node, op, runs_on, provider,
               code, message, cure
    precision  how many convolutions and products of 8-bit numbers there are, and those that run in float32: products,
               float32 (a dict for each: node, index, op, code, message, cure, bytes)
    providers  a dict for each provider of the chain: name, status, code, message, cure ...
    notes      providers that were asked for and are not in the chain, with the reason
    """

    def __init__(self, report, notes=()):
        products = report.pop("products", 0)
        self._report = report
        self.nodes, self.providers, self.notes = report["nodes"], report["providers"], list(notes)
        self.precision = {"products": products, "float32": [w for node in self.nodes for w in _widened(node)]}
        self.fallbacks = [_fallback(node) for node in self.nodes if node["fell_back"] and node["provider"]]

    def to_dict(self):
        """The objects of `tinyort plan --json`, of the same names."""
        return {**self._report, "fallbacks": self.fallbacks, "precision": self.precision}

    def on(self, provider):
        """The nodes that a provider runs."""
        return [node for node in self.nodes if node["provider"] == provider]

    def line(self):
        """The placement line that ends every command of tinyort."""
        summary = self._report["summary"]
        counts = [f"{summary[p['name']]} {p['name']}" for p in self.providers]
        counts += [f"{summary['host']} host"] if summary["host"] else []
        total = sum(summary[p["name"]] for p in self.providers) + summary["host"] + summary["unplaced"]
        text = f"{', '.join(counts)} (of {total}; {summary['folded']} folded"
        text += f"; {summary['fused']} fused into others)" if summary["fused"] else ")"
        fell = [f for f in self.fallbacks if f["code"] not in DOWN]
        if fell:
            named = ", ".join(f"{f['node']} {f['code']}" for f in fell[:MAX_NAMED])
            text += f" - {len(fell)} node{'s' * (len(fell) > 1)} fell back: {named}{' ...' * (len(fell) > MAX_NAMED)}"
        wide = [entry["node"] for entry in self.precision["float32"]]
        if wide:
            text += f" - {len(wide)} of {self.precision['products']} products of 8-bit numbers in float32: "
            text += f"{', '.join(wide[:MAX_NAMED])}{' ...' * (len(wide) > MAX_NAMED)}"
        for p in self.providers:
            if p["status"] != "down":
                text += f" - {p['name']}: {p['message']}" if p["message"] else ""
            else:
                text += f" - {p['name']} did not open: {p['code']}, {p['message']}" + (f"; {p['cure']}" if p["cure"] else "")
        return text + "".join(f" - {note}" for note in self.notes)

    def assert_on(self, provider, allow=()):
        """Raises AssertionError unless a provider runs every node but those of the operators in `allow`. Nodes that were
        computed beforehand, and those of the executor itself, which move no data, count as its own."""
        from . import _core

        known = {p["name"] for p in self.providers} | {p["name"] for p in _core.providers()}
        if provider not in known:
            raise ValueError(f"assert_on: there is no provider {provider!r}; there are {', '.join(sorted(known))}")
        elsewhere = [n for n in self.nodes if n["provider"] not in (provider, "folded", "host") and n["op"] not in allow]
        if not elsewhere:
            return
        reasons = {f["node"]: f"{f['code']} {f['message']}" for f in self.fallbacks}
        lines = [f"  {n['path']} ({n['op']}) is on {n['provider']}: {reasons.get(n['path'], 'it comes first in the chain')}"
                 for n in elsewhere[:20]]
        more = f"\n  and {len(elsewhere) - 20} more" if len(elsewhere) > 20 else ""
        raise AssertionError(f"{len(elsewhere)} of {len(self.nodes)} nodes are not on {provider}:\n" + "\n".join(lines) + more)

    def _rows(self):
        reasons = {w["node"]: f"in float32: {w['code']} {w['message']}" for w in self.precision["float32"]}
        reasons |= {f["node"]: f"{f['provider']}: {f['code']} {f['message']}" for f in self.fallbacks}
        for node in self.nodes:
            if node["provider"] != "folded":
                yield (str(node["index"]), node["path"], f"{node['op']}-{node['since']}", node["provider"] or "nowhere",
                       node["kernel"] or "", reasons.get(node["path"], ""))

    def __str__(self):
        head = ("#", "node", "op", "runs on", "kernel", "why")
        rows = [head, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = []
        for row in rows:
            cells = [row[0].rjust(widths[0])] + [row[i].ljust(widths[i]) for i in range(1, 5)]
            lines.append("  ".join([*cells, row[5]]).rstrip())
        return "\n".join([*lines, "placement: " + self.line()])

    def __repr__(self):
        return f"<Placement: {self.line()}>"

    def _repr_html_(self):
        from html import escape

        head = "".join(f"<th>{title}</th>" for title in ("#", "node", "op", "runs on", "kernel", "why"))
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(self.line())}</p>"


def _refusal(node):
    """The refusal of the earliest provider that did open, else of the earliest one."""
    found = None
    for verdict in node["verdicts"]:
        if verdict["code"] == "YES" or verdict.get("fusion") or verdict["provider"] == node["provider"]:
            continue
        if found is None or (found["code"] in DOWN and verdict["code"] not in DOWN):
            found = verdict
    return found


def _widened(node):
    return [{"node": node["path"], "index": node["index"], "op": node["op"], "code": v["code"], "message": v["message"],
             "cure": v["cure"], "bytes": v["bytes"]} for v in node["verdicts"] if v.get("precision")]


def _fallback(node):
    refusal = _refusal(node) or dict.fromkeys(("provider", "code"), None) | {"message": "", "cure": ""}
    return {"node": node["path"], "index": node["index"], "op": node["op"], "runs_on": node["provider"],
            "provider": refusal["provider"], "code": refusal["code"], "message": refusal["message"],
            "cure": refusal["cure"]}


def providers():
    """What there is and what opens here: a dict for each provider, with cause and cure where it does not."""
    from . import _core

    return _core.probe()


