"""The page of a plan: `plan --html FILE`, and `bench --profile --html FILE`. What a browser makes of it: tests/page."""

import json
import re

from onnx import helper

from suite import DIGITS, floats, save_model

SIM = ("plan", "models/edges.onnx", "--ep", "cudasim,cpu")


def parts(path):
    """The page without its data, and the data."""
    text = path.read_text()
    head, rest = text.split('<script type="application/json" id="data">\n')
    told, tail = rest.split("\n</script>", 1)
    return head + tail, json.loads(told)


def ready(suite, name):
    return any(p["name"] == name and p["status"] == "ready" for p in suite.run("providers", "--json").json()["providers"])


def test_what_it_holds(suite, folder):
    page = folder / "d.html"
    suite.expect(0, f"drawn as {page}", "plan", DIGITS, "--shape", "N=1", "--html", page)
    text, data = parts(page)
    told = suite.run("plan", DIGITS, "--shape", "N=1", "--json", "--html", page).json()
    suite.check(told.pop("drawn") == str(page), "the JSON names it")
    for key in ("model", "chain", "providers", "summary", "nodes", "copies", "memory", "host_memory"):
        suite.check(data[key] == told[key], f"{key}: {data[key]}")
    links = set(re.findall(r"(?:https?:)?//[\w.]+", re.sub(r"^ *//.*|[^:]// .*", "", text, flags=re.M)))
    suite.check(links <= {"http://www.w3.org"} and not re.search(r"<(link|img|script src|iframe)|@import|url\(|fetch\(", text), f"it needs no other file: {links}")
    numbers = [node["index"] for node in data["nodes"]]
    suite.check([edge[:2] for edge in data["edges"]] == [list(pair) for pair in zip(numbers, numbers[1:])], f"a chain of nodes: {data['edges']}")
    steps = data["live"]["cpu"]
    most = max(step["bytes"] for step in steps)
    suite.check(0 < most <= data["memory"]["cpu"]["peak"] and {step["node"] for step in steps} <= set(numbers), f"{most} of {data['memory']}")


def test_copies_and_reasons(suite, folder):
    if not ready(suite, "cudasim"):
        return suite.skip("a plan with copies: cudasim is not ready here")
    suite.expect(0, "drawn as", *SIM, "--html", folder / "e.html")
    _, data = parts(folder / "e.html")
    copies = {(copy["node"], copy["value"]) for copy in data["copies"] if copy["node"] is not None and copy["value"] != "image"}  # an input has no node
    edges = {(edge[1], edge[2]) for edge in data["edges"]}
    suite.check(copies and copies <= edges, f"a copy belongs to an edge: {copies}, {edges}")
    suite.check([reason["op"] for reason in data["reasons"]] == ["Gather"] and "NO_TYPE" in data["reasons"][0]["why"], f"{data['reasons']}")
    suite.check(set(data["live"]) == {"cudasim", "cpu"}, f"both memories: {set(data['live'])}")


def test_bodies(suite, folder):
    """The nodes of a body stand behind the node that owns it."""
    branch = lambda name, op: helper.make_graph([helper.make_node(op, ["x"], [name], f"{name}_node"), helper.make_node("Neg", [name], [name + "2"], f"{name}_neg")], name, [],
                                                [floats(name + "2", [2])])
    nodes = [helper.make_node("ReduceSum", ["x"], ["s"], "sum", keepdims=0), helper.make_node("Cast", ["s"], ["c"], "cast", to=9),
             helper.make_node("If", ["c"], ["y"], "choice", then_branch=branch("a", "Abs"), else_branch=branch("b", "Exp"))]
    save_model(folder / "m.onnx", nodes, [floats("x", [2])], [floats("y", [2])])
    suite.expect(0, "drawn as", "plan", folder / "m.onnx", "--html", folder / "m.html")
    _, data = parts(folder / "m.html")
    names = {node["index"]: node["path"] for node in data["nodes"]}
    edges = {(names[edge[0]], names[edge[1]]) for edge in data["edges"]}
    suite.check({("choice", "choice/then_branch/a_node"), ("choice", "choice/else_branch/b_node"), ("cast", "choice")} <= edges, f"{edges}")


def test_hostile_names(suite, folder):
    """A name cannot end the element that holds the data."""
    names = ["</script><script>alert(1)</script>", "<!--", "]]>", "\u202e", "a\0b".replace("\0", ""), "'\"`${x}"]
    nodes = [helper.make_node("Abs", ["x" if i == 0 else f"v{i}"], [f"v{i + 1}"], name) for i, name in enumerate(names)]
    save_model(folder / "m.onnx", nodes, [floats("x", [2])], [floats(f"v{len(names)}", [2])])
    suite.expect(0, "drawn as", "plan", folder / "m.onnx", "--html", folder / "m.html")
    text, data = parts(folder / "m.html")
    suite.check([node["name"] for node in data["nodes"]] == names, f"{[node['name'] for node in data['nodes']]}")
    raw = (folder / "m.html").read_text()
    suite.check(raw.count("<script") == 2 and "alert(1)" in raw and "\u202e" not in raw and text.count("</script>") == 1, "two scripts, both ours")


def test_a_large_model(suite, folder):
    nodes = [helper.make_node("Add", [f"v{max(0, i - 7 * (i % 3))}", f"v{i}"], [f"v{i + 1}"], f"/model/layers.{i // 20}/block/add_{i}") for i in range(2000)]
    save_model(folder / "m.onnx", nodes, [floats("v0", [2])], [floats("v2000", [2])])
    suite.expect(0, "drawn as", "plan", folder / "m.onnx", "--no-fusion", "--html", folder / "m.html")
    _, data = parts(folder / "m.html")
    suite.check(len(data["nodes"]) == 2000 and (folder / "m.html").stat().st_size < 2e6, f"{(folder / 'm.html').stat().st_size} bytes for 2,000 nodes")


def test_with_times(suite, folder):
    page = folder / "b.html"
    suite.expect(0, "profile:", "bench", DIGITS, "--repeat", "20", "--profile", "--html", page)
    _, data = parts(page)
    units = data["profile"]["units"]
    suite.check({unit["path"] for unit in units} >= {node["path"] for node in data["nodes"] if node["provider"] == "cpu"}, f"{units}")
    suite.check(abs(sum(unit["ms"] for unit in units) + data["profile"]["between_percent"] / 100 * data["profile"]["ms"] - data["profile"]["ms"]) < 0.05 * data["profile"]["ms"],
                "the units and what is between them are the run")
    suite.expect(2, "add --profile", "bench", DIGITS, "--html", page)
    suite.expect(3, "only a regular file is replaced", "plan", DIGITS, "--html", "/dev/null")
