"""`tinyort ops`: the table of operators, what serves them where, one of them in full, and the page of it in the tree."""

import re
from pathlib import Path

from onnx import helper

from suite import floats, save_model, visible

PAGE = Path("ops/OPERATORS.md")
WIDTH = 120  # of the page


def lines_of(text):
    """The words of each line, by their first."""
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}


def test_what_serves_an_operator(suite, folder):
    lines = lines_of(suite.expect(0, ["ai.onnx\n", "\ntinyort\n", " operators, "], "ops").out)
    suite.check(lines["operator"] == ["versions", "cuda", "cpu", "types"], f"columns: {lines['operator']}")
    wanted = {
        "Conv": ["1", "11", "22", "yes", "fast", "floats"],
        "Reshape": ["1", "5", "13", "14", "19", "21", "23", "24", "25", "host", "host", "all", "but", "float6"],
        "If": ["1", "11", "13", "16", "19", "21", "23", "24", "25", "host", "host", "tensors,", "sequences,", "optionals", "of", "all", "but", "float6"],
        "TfIdfVectorizer": ["9", "-", "plain", "int32,", "int64,", "string"],
        "MaxPool": ["1", "8", "10", "11", "12", "22", "yes", "fast", "floats,", "uint8,", "int8"],
        "FusedGemm": ["1", "yes", "fast", "floats"],
    }
    for name, words in wanted.items():
        suite.check(lines.get(name) == words, f"{name}: {lines.get(name)}")
    suite.check(lines["Constant"][-5:-3] == ["const", "const"], f"Constant: {lines['Constant']}")


def test_operators_are_served_as_the_table_says(suite, folder):
    """What has a row may be claimed; what has none is refused as NO_OP."""
    told = {(o["domain"], o["name"]): o["providers"] for o in suite.run("ops", "--json").json()["operators"]}
    for domain, name, has in (("", "Abs", True), ("ai.onnx.ml", "Normalizer", False), ("ai.onnx.ml", "Scaler", False)):
        node = helper.make_node(name, ["x"], ["y"], domain=domain)
        save_model(folder / "m.onnx", [node], [floats("x", [2, 2])], [floats("y", None)], opset=22, domains=[domain] if domain else ())
        kernels = told[domain, name]["cuda"]["kernels"]
        suite.check(bool(kernels) == has, f"{name} on cuda: {kernels}")
        plan = suite.run("plan", folder / "m.onnx", "--ep", "cuda,cpu", "--target", "cuda:sm_80", "--json").json()
        node = plan["nodes"][0]
        codes = [v["code"] for v in node["verdicts"] if v["provider"] == "cuda"]
        suite.check((node["provider"] == "cuda") == has and (has or codes == ["NO_OP"]), f"{name} of a plan: {node}")


def test_operators_as_json(suite, folder):
    told = suite.run("ops", "--json").json()
    suite.check({"operators", "fusions", "refused"} <= set(told), f"keys: {sorted(told)}")
    conv = next(o for o in told["operators"] if o["name"] == "Conv" and o["since"] == 11)
    suite.check(set(conv["providers"]) == {"cuda", "cpu"}, f"providers: {sorted(conv['providers'])}")
    cudnn = [k["library"] for k in conv["providers"]["cuda"]["kernels"]]
    suite.check("cuDNN" in cudnn and None in cudnn, f"libraries of Conv's kernels: {cudnn}")
    suite.check(conv["providers"]["cpu"]["plain"] and not conv["providers"]["cuda"]["plain"], "who has the plain loop")
    alone = suite.run("ops", "--json", "--ep", "cpu").json()["operators"]
    suite.check(all(set(o["providers"]) == {"cpu"} for o in alone), "--ep cpu tells of cpu alone")
    served = [o for o in alone if not (o["providers"]["cpu"]["kernels"] or any(o["providers"]["cpu"][k] for k in ("plain", "host", "folded")))]
    suite.check(not served, f"cpu has everything, but for {[o['name'] for o in served]}")
    suite.check(all(set(r) == {"domain", "name", "why", "cure"} for r in told["refused"]), "what is refused")


def test_operators_that_a_provider_lacks(suite, folder):
    told = suite.expect(0, " not there", "ops", "--ep", "cuda", "--missing").out
    lines = lines_of(told)
    suite.check("Scaler" in lines and "Conv" not in lines and "Reshape" not in lines, "cuda lacks Scaler, and neither Conv nor Reshape")
    suite.check("-" in lines["Scaler"] and "-" in lines["TfIdfVectorizer"], "a '-' for what is not there")
    suite.check("Scaler" not in suite.run("ops", "--ep", "cuda,cpu", "--missing").out, "cuda and cpu together lack nothing")
    suite.expect(2, "--ep cuda", "ops", "--missing")
    suite.expect(2, "the JSON has every operator", "ops", "--missing", "--ep", "cuda", "--json")
    suite.expect(2, "take one of them", "ops", "--missing", "--fusions", "--ep", "cuda")
    suite.expect(2, "NVIDIA GPU is cuda", "ops", "--ep", "gpu")


def test_an_operator_in_full(suite, folder):
    told = suite.expect(0, ["Conv of ai.onnx", "conv_cudnn (cuDNN)", "else the plain loop"], "ops", "Conv").out
    suite.check(re.findall(r"^version (\d+)", told, re.M) == ["22", "11", "1"], "versions of Conv, the newest first")
    newest = told.split("version 11")[0]
    for pattern in (r"inputs +X +T\n", r"\n +B +T +may be absent\n", r"attributes +auto_pad +string +default NOTSET\n", r"types +T +float, float16, double, bfloat16\n"):
        suite.check(re.search(pattern, newest), f"Conv: no {pattern} in {newest}")
    suite.check(re.search(r"\n +to +int +required\n", suite.run("ops", "Cast").out), "a required attribute")
    suite.check(suite.run("ops", "ai.onnx::Conv").out == told == suite.run("ops", "ai.onnx.Conv").out, "with its domain")
    suite.expect(0, "FusedConv of tinyort", "ops", "tinyort.FusedConv")
    rows = suite.run("ops", "Conv", "--json").json()["operators"]
    suite.check([row["since"] for row in rows] == [1, 11, 22], "versions of Conv as JSON")
    suite.expect(2, "did you mean 'Conv'?", "ops", "Konv")
    suite.expect(2, "one too many", "ops", "Conv", "Cast")
    suite.expect(2, "--fusions is for all operators", "ops", "Conv", "--fusions")
    suite.expect(2, "onnxruntime's own form", "ops", "com.microsoft.nchwc.Conv")


def test_the_table_fits_a_terminal(suite, folder):
    for columns in (80, 120):
        for arguments in (("ops",), ("ops", "Cast"), ("ops", "--ep", "cuda", "--missing")):
            status, seen = suite.terminal(*arguments, columns=columns)
            lines = visible(seen).decode().splitlines()
            longest = max(lines, key=len)
            suite.check(status == 0 and len(longest) <= columns, f"{arguments} in {columns} columns: {len(longest)}: {longest}")


def test_the_refused_fit_one_screen(suite, folder):
    lines = suite.run("ops", "--width", "120").out.split("\nrefused")[1].splitlines()
    suite.check(len(lines) <= 50, f"what is refused fits one screen, and has {len(lines)} lines")
    text = " ".join(" ".join(lines).split())
    for row in suite.run("ops", "--json").json()["refused"]:
        name = row["name"] or "everything"
        suite.check(re.search(rf"\b{name}\b", text) and row["why"] in text, f"{name} of {row['domain']} is among what is refused")
        suite.expect(2, row["cure"], "ops", f"{row['domain'] or 'ai.onnx'}.{row['name'] or 'Conv'}")


def test_the_page_of_the_tree_is_current(suite, folder):
    text = PAGE.read_text().split("```\n")[1]
    suite.check(text == suite.run("ops", "--width", str(WIDTH)).out, f"{PAGE} is not what the program says: make operators-page")
