"""Stack that printed functions need, by gcc's own account: writes kernels/firmware/stack.inc, of which the header's NAME_STACK_BYTES is made.

Usage: stack.py TINYORT MODELS WORK, from the root of the tree; MODELS is the folder that models.py has written. Models of all kernels are compiled for each
target, with -O2 and -Os; each function that a step calls gets a frame of its own, so that its need does not depend on the model: its frame, and the deepest of
those that it calls. A function that is called by address is taken for the deepest of its file; one of the library for what is measured below. test-embed holds
the stack that boards use to the sum: it is an upper bound.
"""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "firmware"))
import bands
import boards
import bytes as forms
import families
import integers
import keywords
import products
import rows
import trees

TABLE = Path("kernels/firmware/stack.inc")
LIBRARY = {True: 160, False: 48}  # bytes of a function of libgcc or libm: without a unit of floats, with one
ENTRY = re.compile(r"\b(tinyort_\w+)\((?:&|\(const )")


def entries(code):
    """The functions that steps call."""
    return set(ENTRY.findall(code[code.index("int net_step(") :]))


def apart(code, names):
    """The code, in which these functions are not part of others."""
    return re.sub(rf"^(\w+_CODE )(static (?:inline )?void ({'|'.join(names)})\()", r"\1__attribute__((noinline)) \2", code, flags=re.M)


def graph(text):
    """Frames and calls of a callgraph of gcc (-fcallgraph-info=su)."""
    frames, calls = {}, {}
    for title, label in re.findall(r'node: \{ title: "([^"]+)" label: "([^"]*)"', text):
        size = re.search(r"(\d+) bytes \(", label)
        frames[title] = int(size[1]) if size else None
    for source, target in re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', text):
        calls.setdefault(source, set()).add(target)
    return frames, calls


def depths(text, library):
    """{function: bytes below its call}, and those of NAME_run and NAME_step without the functions that these call; the state in the former is counted apart."""
    frames, calls = graph(text)
    called = set().union(*calls.values())
    by_address = [title for title, size in frames.items() if size is not None and title not in called and ":" in title]

    def depth(name, seen=()):
        if name == "__indirect_call":
            return max((depth(other, seen) for other in by_address if other not in seen), default=library)
        if frames.get(name) is None:
            return library
        return frames[name] + max((depth(other, (*seen, name)) for other in calls.get(name, ()) if other not in seen), default=0)

    found = {title.split(":")[-1].split(".")[0]: depth(title) for title, size in frames.items() if size is not None}
    return found | {"net_run": frames["net_run"] + frames["net_step"]}


def state_bytes(header, pointer):
    """The size of a state: addresses and sizes, an int, of bands three lists."""
    members = re.search(r"typedef struct net_state \{\n(.*?)\}", header, re.S)[1]
    lists = sum(int(count) for count in re.findall(r"\[(\d+)\]", members))
    return pointer * (members.count("*in") + members.count("*out") + members.count("*slow") + members.count("*weights") + members.count("size_t")) + 4 + 4 * lists


def needs(tinyort, model, shapes, target, folder, *options):
    """{function: bytes} of a model for a target."""
    try:
        boards.compile_model(tinyort, model, shapes, target, folder, "--name", "net", *options)
    except (boards.Refusal, boards.Failure):
        return {}
    code = (folder / "net.c").read_text()
    names = entries(code)
    (folder / "apart.c").write_text(apart(code, names))
    found = {}
    for option in ("-O2", "-Os"):
        words = [*target.flags, "-std=c99", "-ffp-contract=off", option, "-fcallgraph-info=su", f"-I{folder}", "-c", folder / "apart.c", "-o", folder / f"apart{option}.o"]
        boards.succeed("gcc", target.compiler, *words)
        own = depths((folder / f"apart{option}.ci").read_text(), LIBRARY[target.without_floats])
        own["net_run"] -= state_bytes((folder / "net.h").read_text(), 8 if target.name == "cortex-a53" else 4)
        base = "net_run in bands" if "--bands" in options else "net_run"  # bands have their sizes and their shapes in the frame of NAME_step
        own[base] = own["net_run"]
        for name in (base, *names):
            found[name] = max(found.get(name, 0), own[name])
    return found


def all_models(folder, given):
    for number, make in enumerate((*families.MODELS, *rows.MODELS, trees.random_forest_two, trees.members, keywords.short_time, keywords.centered)):
        path = folder / f"{number}.onnx"
        make(path)
        yield path, {}
    for kind in (np.int8, np.uint8):
        yield products.Network(folder, f"bytes_{np.dtype(kind).name}", kind, 1).path, {}
    for make in (integers.chosen, integers.means, integers.resized, integers.normalized, integers.transposed):
        form = integers.Form(np.int8, 1)
        form.save(make.__name__, integers.SHAPE, make(form, "x"), folder)
        yield folder / f"{make.__name__}.onnx", {}
    for seed, make in enumerate((forms.convolutions, forms.depthwise, forms.elements, forms.products)):
        yield make(seed, np.int8).save(folder), {}
    for name in ("ds_cnn_int8", "ds_cnn_fp32", "lstm_fp32", "transformer_int8", "voice_activity_int8"):
        yield given / f"{name}.onnx", {}


def main():
    tinyort, given, work = (Path(word).resolve() for word in sys.argv[1:4])
    rows = {}
    with ThreadPoolExecutor(2) as pool:
        jobs = []
        banded = [(make(np.int8).save(work), {}, "--bands") for make in (bands.residual, bands.separable)] + [(given / "ds_cnn_int8.onnx", {}, "--bands")]
        for model, shapes, *options in (*all_models(work, given), *banded):
            for target in boards.ALL:
                folder = work / f"{model.stem}{''.join(options)}_{target.name}"
                jobs.append((target, pool.submit(needs, tinyort, model, shapes, target, folder, *options)))
        for target, job in jobs:
            for name, size in job.result().items():
                rows.setdefault(name, {})
                rows[name][target.name] = max(rows[name].get(target.name, 0), size)
    names = [target.name for target in boards.ALL]
    lines = [f'{{"{name}", {{{", ".join(str(row.get(target, -1)) for target in names)}}}}},' for name, row in sorted(rows.items())]
    TABLE.write_text(f"/* stack.inc - made by tests/embed/stack.py: bytes of stack, for {', '.join(names)}. */\n" + "\n".join(lines) + "\n")
    print(f"{TABLE}: {len(lines)} functions")


if __name__ == "__main__":
    main()
