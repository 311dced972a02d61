"""Transformers as onnxruntime's tools write them, compared with onnxruntime (compare.py): operators of com.microsoft throughout.

    fused_transformers.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]

Networks come from PyTorch's exporters and then through onnxruntime.transformers.optimizer, in float and in float16, with Attention and
with MultiHeadAttention. Decoders come from onnxruntime-genai's builder (GroupQueryAttention, 4-bit weights), and run a prompt, single
tokens after a past, and several tokens after a past. All have few layers and random weights, so nothing is downloaded.
"""

import os
import shutil
import subprocess
import sys
import warnings

import numpy
import onnx
import torch
import transformers
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions

from compare import arguments, chosen, run_cases

warnings.filterwarnings("ignore")

WIDTH, HEADS, LAYERS, WORDS = 64, 4, 2, 128
HALF = (1e-2, 1e-2)

# ---- networks through the optimizer ----


class First(torch.nn.Module):
    """The first output of a network."""

    def __init__(self, network):
        super().__init__()
        self.network = network.eval()

    def forward(self, *inputs):
        return self.network(*inputs, return_dict=False)[0]


class Translator(First):
    def forward(self, source, mask, target):
        return self.network(input_ids=source, attention_mask=mask, decoder_input_ids=target, use_cache=False, return_dict=False)[0]


class Writer(First):
    def forward(self, words, mask):
        return self.network(input_ids=words, attention_mask=mask, use_cache=False, return_dict=False)[0]


def config(name, **more):
    sizes = {"vocab_size": WORDS, "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 2 * WIDTH}
    return getattr(transformers, name)(**sizes | {"attn_implementation": "eager"} | more)


def network(name, wrapper=First, **more):
    def make():
        torch.manual_seed(7)
        return wrapper(getattr(transformers, name)(config(getattr(transformers, name).config_class.__name__, **more)))

    return make


def words(rows, length, seed=1):
    return torch.randint(3, WORDS, (rows, length), generator=torch.Generator().manual_seed(seed))


def padded(rows, length):
    """All words of the first row count, of the others fewer and fewer."""
    return (torch.arange(length) < length - 3 * torch.arange(rows)[:, None]).long()


TEXT = {"input_ids": words(2, 12), "attention_mask": padded(2, 12)}
T5_SIZES = {"d_model": WIDTH, "num_layers": LAYERS, "num_heads": HEADS, "d_kv": 16, "d_ff": 2 * WIDTH}
BART_SIZES = {"d_model": WIDTH, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
              "encoder_ffn_dim": 2 * WIDTH, "decoder_ffn_dim": 2 * WIDTH, "max_position_embeddings": 64}
GPT_SIZES = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 64}
# Name: what makes it, its inputs, the optimizer's name of its kind.
NETWORKS = {
    "bert": (network("BertModel"), TEXT, "bert"),
    "roberta": (network("RobertaModel"), TEXT, "bert"),
    "vit": (network("ViTModel", image_size=32, patch_size=8), {"pixel_values": torch.linspace(-1, 1, 3072).reshape(1, 3, 32, 32)}, "vit"),
    "clip": (network("CLIPTextModel", max_position_embeddings=32), {"input_ids": words(2, 12)}, "clip"),
    "t5": (network("T5EncoderModel", **T5_SIZES), TEXT, "t5"),
    "bart": (network("BartModel", Translator, **BART_SIZES), {**TEXT, "decoder_input_ids": words(2, 7)}, "bart"),
    "gpt2": (network("GPT2LMHeadModel", Writer, **GPT_SIZES), {"input_ids": words(2, 12), "attention_mask": padded(1, 12).repeat(2, 1)}, "gpt2"),
}


def export(make, inputs, path, dynamo):
    axes = {name: {0: f"rows of {name}", 1: f"length of {name}"} for name in inputs if name != "pixel_values"}
    how = {"dynamo": True, "verbose": False, "external_data": False} if dynamo else {"dynamo": False, "dynamic_axes": axes}
    torch.onnx.export(make(), tuple(inputs.values()), str(path), input_names=list(inputs), opset_version=17 if not dynamo else 18, **how)


def fuse(entry, path, dynamo, form):
    make, inputs, kind = entry
    plain = path.with_suffix(".plain.onnx")
    export(make, inputs, plain, dynamo)
    options = FusionOptions(kind)
    options.use_multi_head_attention = form == "heads"
    fused = optimizer.optimize_model(str(plain), model_type=kind, num_heads=HEADS, hidden_size=WIDTH, opt_level=0, optimization_options=options)
    if form == "half":
        fused.convert_float_to_float16(keep_io_types=True)
    fused.save_model_to_file(str(path))


def fused_case(folder, name, dynamo, form):
    path = folder / f"fused-{name}.{'dynamo' if dynamo else 'script'}.{form}.onnx"
    return {
        "label": f"{name} fused, {form} (dynamo={dynamo})", "architecture": name, "package": "onnxruntime",
        "exporter": "onnxruntime.transformers.optimizer", "path": path, "export": lambda: fuse(NETWORKS[name], path, dynamo, form),
        "runs": [{key: value.numpy() for key, value in NETWORKS[name][1].items()}], "optimized": False,
    } | ({"close": HALF} if form == "half" else {})


# ---- decoders by the builder ----

KEY_HEADS, HEAD = 2, WIDTH // HEADS
DECODER = {"num_key_value_heads": KEY_HEADS, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
WINDOW = {"head_dim": HEAD, "sliding_window": 8}
DECODERS = {
    "llama": ("LlamaForCausalLM", DECODER),
    "qwen2": ("Qwen2ForCausalLM", DECODER),
    "qwen3": ("Qwen3ForCausalLM", DECODER | {"head_dim": HEAD}),
    "mistral": ("MistralForCausalLM", DECODER | WINDOW),
    "phi3": ("Phi3ForCausalLM", DECODER | {"original_max_position_embeddings": 64}),
    "gemma2": ("Gemma2ForCausalLM", DECODER | WINDOW | {"query_pre_attn_scalar": HEAD}),
}


def tokenizer():
    """The builder wants one; nothing is ever read with it."""
    from tokenizers import Tokenizer, models

    table = Tokenizer(models.WordLevel({f"w{i}": i for i in range(WORDS)}, unk_token="w0"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=table, bos_token="w1", eos_token="w2", pad_token="w0")


def build(name, path, precision):
    kind, sizes = DECODERS[name]
    source = path.parent / "source"
    shutil.rmtree(path.parent, ignore_errors=True)
    torch.manual_seed(7)
    model = getattr(transformers, kind)
    model(config(model.config_class.__name__, **sizes)).eval().save_pretrained(source)
    tokenizer().save_pretrained(source)
    done = subprocess.run(
        [sys.executable, "-m", "onnxruntime_genai.models.builder", "-m", "", "-i", source, "-o", path.parent, "-p", precision, "-e", "cpu",
         "-c", path.parent / "cache"], env=os.environ | {"HF_HUB_OFFLINE": "1"}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    onnx.load(path)  # with all of its data


def step(past, length):
    """Inputs of a run of `length` tokens after `past` ones."""
    rng = numpy.random.default_rng(past)
    cache = {f"past_key_values.{layer}.{what}": rng.standard_normal((1, KEY_HEADS, past, HEAD)).astype(numpy.float32)
             for layer in range(LAYERS) for what in ("key", "value")}
    return {"input_ids": rng.integers(3, WORDS, (1, length)), "attention_mask": numpy.ones((1, past + length), numpy.int64),
            "position_ids": numpy.arange(past, past + length)[None]} | cache


def decoder_case(folder, name, precision):
    path = folder / f"decoder-{name}.{precision}" / "model.onnx"
    return {
        "label": f"{name} decoder, {precision}", "architecture": name, "package": "onnxruntime-genai", "exporter": "onnxruntime_genai.models.builder",
        "path": path, "export": lambda: build(name, path, precision), "runs": [step(0, 11), step(11, 1), step(12, 1), step(5, 4), step(30, 1)],
        "optimized": False,
    }


def main():
    options = arguments().parse_args()
    cases = []
    for name in chosen(options, NETWORKS):
        cases += [fused_case(options.folder, name, dynamo, form) for dynamo in (False, True) for form in ("float", "heads", "half")]
    for name in chosen(options, DECODERS):
        cases += [decoder_case(options.folder, name, precision) for precision in ("fp32", "int4")]
    run_cases(options, cases)


if __name__ == "__main__":
    main()
