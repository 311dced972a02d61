"""Where the time of a run goes: session.profile(), and the Chrome trace of enable_profiling."""


class Profile:
    """Median times of the nodes over some runs, longest first, as a table.

    rows   dicts: node, op, provider, kernel, ms, share (of the run), gflops (per second), gbytes (per second)
    total  milliseconds of a run
    """

    def __init__(self, core, feed, runs):
        from statistics import median

        nodes = {node["index"]: node for node in core.report()["nodes"]}
        times, totals, work = {}, [], {}
        for _ in range(runs + 1):
            _, steps = core.profile(None, feed, not work)
            if not work:  # the first run warms up, and counts the work
                work = {(s["kind"], s["node"]): (s["flops"], s["bytes"]) for s in steps}
                continue
            for step in steps:
                own = (step["end"] - step["begin"] - step["inside"]) / 1e6
                times.setdefault((step["kind"], step["node"], step["provider"]), []).append(own)
            totals.append((steps[-1]["end"] - steps[0]["begin"]) / 1e6 if steps else 0.0)
        self.total = median(totals) if totals else 0.0
        self.rows = sorted((self._row(nodes.get(key[1]), key, median(list_), work.get(key[:2], (-1, -1)))
                            for key, list_ in times.items()), key=lambda row: -row["ms"])

    def _row(self, node, key, ms, work):
        rate = [amount / ms / 1e6 if amount >= 0 and ms > 0 else None for amount in work]
        return {"node": node["path"] if key[0] == "node" and node else key[0], "op": node["op"] if node else "",
                "provider": key[2], "kernel": node["kernel"] if node and key[0] == "node" else "", "ms": ms,
                "share": ms / self.total if self.total else 0.0, "gflops": rate[0], "gbytes": rate[1]}

    def __str__(self):
        unit, scale = ("ms", 1.0) if self.total >= 1 else ("us", 1e3)
        lines = [f"{unit:>9}  {'share':>6}  {'GFLOP/s':>8}  {'GB/s':>6}  node"]
        for row in self.rows:
            flops = f"{row['gflops']:.1f}" if row["gflops"] else ""
            rate = f"{row['gbytes']:.1f}" if row["gbytes"] else ""
            lines.append(f"{scale * row['ms']:9.3f}  {100 * row['share']:4.1f} %  {flops:>8}  {rate:>6}  {row['node']} "
                         f"({row['op']}, {row['provider']} {row['kernel']})")
        return "\n".join([*lines, f"{scale * self.total:9.3f}  a run"])


def write_trace(prefix, runs, nodes):
    """Writes steps of runs as a Chrome trace (chrome://tracing, Perfetto); returns the file's name."""
    import json
    import os
    import time

    by_index = {node["index"]: node for node in nodes}
    events = []
    for steps in runs:
        for step in steps:
            node = by_index.get(step["node"])
            name = node["path"] if node and step["kind"] == "node" else step["kind"]
            events.append({"cat": "Node", "ph": "X", "pid": os.getpid(), "tid": 0, "name": f"{name}_kernel_time",
                           "ts": step["begin"] / 1000, "dur": (step["end"] - step["begin"]) / 1000,
                           "args": {"op_name": node["op"] if node else "", "provider": step["provider"],
                                    "kernel": node["kernel"] if node else ""}})
    path = f"{prefix}{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(events, file)
    return path
