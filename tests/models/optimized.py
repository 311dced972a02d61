"""Networks as onnxruntime leaves them when it has optimized them: tinyort runs what was saved, onnxruntime the file as it was exported.

    optimized.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN]

Every network is saved by a session of onnxruntime at the levels basic, extended and all, and transformers by onnxruntime's optimizer
for them too, with float32 and with float16. At level all a network with convolutions is in a form that only onnxruntime's
kernels for one kind of machine read: there tinyort must refuse, by the name of that form and with what to do.
"""

import functools
import subprocess
import warnings

import numpy
import onnx
import onnxruntime

from compare import arguments, chosen, run_cases
from models import MODELS, NARROW
from run import export, path_of

warnings.filterwarnings("ignore")

NETWORKS = ("resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "convnext_tiny", "vit_b_16", "swin_t", "bert", "distilbert",
            "roberta", "gpt2", "t5_encoder", "clip_text", "llama", "qwen2")
# What onnxruntime's optimizer for transformers has a type for.
TYPES = {"bert": "bert", "distilbert": "bert", "roberta": "bert", "gpt2": "gpt2", "t5_encoder": "t5", "clip_text": "clip", "vit_b_16": "vit",
         "llama": "gpt2", "qwen2": "gpt2"}
LEVELS = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}
BLOCKED = "com.microsoft.nchwc"
REFUSED = 4  # the exit code of a placement that is refused
HALF = (5e-2, 2e-2)  # tolerances where every operator rounds to float16


def save_session(source, path, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[level])
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def save_transformer(source, path, kind, half):
    from onnxruntime.transformers import optimizer

    made = optimizer.optimize_model(str(source), model_type=kind, num_heads=0, hidden_size=0, opt_level=1, only_onnxruntime=False)
    if half:
        made.convert_float_to_float16(keep_io_types=True)
    made.save_model_to_file(str(path))


def domains(path):
    return {node.domain for node in onnx.load(path, load_external_data=False).graph.node}


def refusal(options, case):
    """What is wrong with how tinyort refuses the file; empty: nothing."""
    done = subprocess.run([options.tinyort, "plan", case["path"], "--ep", options.ep], capture_output=True, text=True)
    missing = [words for words in (BLOCKED, "ORT_ENABLE_EXTENDED") if words not in done.stderr]
    if done.returncode != REFUSED or missing:
        return f"exit {done.returncode} instead of {REFUSED}, without the words {missing}"
    return ""


def case_of(folder, name, entry, form, write):
    """The optimized file, which is held against the export."""
    source, path = path_of(folder, name, False), folder / f"{name}.{form.replace(', ', '_')}.optimized.onnx"

    def make():
        if not source.exists():
            export(entry, source, False)
        write(source, path)

    return {
        "label": f"{name} ({form})",
        "architecture": name,
        "exporter": "onnxruntime, optimized",
        "package": "onnxruntime",
        "path": path,
        "original": source,
        "export": make,
        "runs": [{n: value.numpy() for n, value in zip(entry["names"], inputs)} for inputs in entry["runs"]],
        "placed": True,
        "refused": lambda: BLOCKED in domains(path),
        "refusal": refusal,
        **({"close": HALF} if "float16" in form else {}),
    }


def forms(name):
    for level in LEVELS:
        yield f"session, {level}", functools.partial(save_session, level=level)
    if name in TYPES:
        yield "transformers, float", functools.partial(save_transformer, kind=TYPES[name], half=False)
        yield "transformers, float16", functools.partial(save_transformer, kind=TYPES[name], half=True)


def main():
    parser = arguments()
    options = parser.parse_args()
    networks = chosen(options, {name: (NARROW | MODELS)[name] for name in NETWORKS})
    numpy.seterr(all="ignore")
    run_cases(options, [case_of(options.folder, name, entry, form, write) for name, entry in networks.items() for form, write in forms(name)])


if __name__ == "__main__":
    main()
