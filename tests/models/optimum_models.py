"""Models of transformers with random weights as optimum-onnx writes them, decoders with their past, compared by compare.py.

    optimum_models.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]

Every file of an export is a case: of a sequence to sequence model these are the encoder and the decoder.
"""

import os
import warnings

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}

import numpy
import onnx
import torch
import transformers
from compare import arguments, chosen, run_cases

warnings.filterwarnings("ignore")

SEED = 7
SMALL = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=99, max_position_embeddings=64)
GROUPED = SMALL | {"num_key_value_heads": 2}
OLD = dict(n_embd=64, n_layer=2, n_head=4, vocab_size=99, n_positions=64, bos_token_id=0, eos_token_id=0)
PAIR = dict(d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96,
            decoder_ffn_dim=96, vocab_size=99, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None)
PAST = "text-generation-with-past"


def entry(kind, task, config, **sizes):
    """`kind` is the class of transformers, `task` what optimum calls it; `sizes` of symbols, where those of RUNS are not right."""
    return {"model": kind, "task": task, "config": config, "sizes": sizes}


OPTIMUM = {
    "optimum_bert": entry("BertForSequenceClassification", "text-classification", ("BertConfig", SMALL)),
    "optimum_distilbert": entry("DistilBertForTokenClassification", "token-classification", ("DistilBertConfig", dict(dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=99))),
    "optimum_roberta": entry("RobertaForQuestionAnswering", "question-answering", ("RobertaConfig", SMALL | {"pad_token_id": 1})),
    "optimum_mpnet": entry("MPNetForMaskedLM", "fill-mask", ("MPNetConfig", SMALL)),
    "optimum_gpt2": entry("GPT2LMHeadModel", PAST, ("GPT2Config", OLD)),
    "optimum_llama": entry("LlamaForCausalLM", PAST, ("LlamaConfig", GROUPED)),
    "optimum_qwen2": entry("Qwen2ForCausalLM", PAST, ("Qwen2Config", GROUPED)),
    "optimum_opt": entry("OPTForCausalLM", PAST, ("OPTConfig", {k: v for k, v in SMALL.items() if k != "intermediate_size"} | {"ffn_dim": 96, "word_embed_proj_dim": 64})),
    "optimum_bloom": entry("BloomForCausalLM", PAST, ("BloomConfig", dict(hidden_size=64, n_layer=2, n_head=4, vocab_size=99))),
    "optimum_t5": entry("T5ForConditionalGeneration", "text2text-generation-with-past",
                        ("T5Config", dict(d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4, vocab_size=99, decoder_start_token_id=0))),
    "optimum_bart": entry("BartForConditionalGeneration", "text2text-generation-with-past", ("BartConfig", PAIR | {"max_position_embeddings": 64})),
    "optimum_whisper": entry("WhisperForConditionalGeneration", "automatic-speech-recognition-with-past",
                             ("WhisperConfig", PAIR | {"max_target_positions": 32, "suppress_tokens": None, "begin_suppress_tokens": None}), feature_size=80, nb_max_frames=3000),
    "optimum_wav2vec2": entry("Wav2Vec2ForCTC", "automatic-speech-recognition",
                              ("Wav2Vec2Config", dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, vocab_size=30, conv_dim=[16] * 3, conv_stride=[5, 4, 2],
                                                      conv_kernel=[10, 5, 3], num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4)), sequence_length=900),
    "optimum_vit": entry("ViTForImageClassification", "image-classification", ("ViTConfig", dict(image_size=32, patch_size=8, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96))),
    "optimum_yolos": entry("YolosForObjectDetection", "object-detection",
                          ("YolosConfig", dict(image_size=[64, 48], patch_size=16, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, num_detection_tokens=7, num_labels=5))),
    "optimum_clip": entry("CLIPModel", "zero-shot-image-classification",
                          ("CLIPConfig", dict(projection_dim=32, text_config=SMALL | {"eos_token_id": 98},
                                              vision_config=dict(image_size=32, patch_size=8, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96)))),
}

# The files that an export may consist of, but for a single one.
PARTS = {
    "text2text-generation-with-past": ["encoder_model", "decoder_model", "decoder_with_past_model"],
    "automatic-speech-recognition-with-past": ["encoder_model", "decoder_model", "decoder_with_past_model"],
}


def export(entry, folder):
    from optimum.exporters.onnx import onnx_export_from_model

    torch.manual_seed(SEED)
    name, config = entry["config"]
    model = getattr(transformers, entry["model"])(getattr(transformers, name)(**config)).eval()
    onnx_export_from_model(model, folder, task=entry["task"], do_validation=False)


# ---- inputs by what the file says of them ----


def sizes_of(shape, symbols):
    return [symbols.get(dim.dim_param, 2) if dim.dim_param else dim.dim_value for dim in shape.dim]


def fill(port, symbols, random):
    tensor, name = port.type.tensor_type, port.name
    shape, dtype = sizes_of(tensor.shape, symbols), onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if dtype == numpy.bool_:
        return numpy.array(symbols["past_sequence_length"] > 0).reshape(shape) if not shape else numpy.ones(shape, bool)
    if "mask" in name:
        mask = numpy.ones(shape, dtype)
        mask[-1, -1:] = shape[1] < 2 or "pixel" in name
        return mask
    if name == "position_ids":
        return (symbols["past_sequence_length"] + numpy.arange(shape[1])[None].repeat(shape[0], 0)).astype(dtype)
    if name == "token_type_ids":
        return random.integers(0, 2, size=shape).astype(dtype)
    if dtype.kind == "i":
        return random.integers(3, 30, size=shape).astype(dtype)
    return random.normal(size=shape).astype(dtype)


class Symbols(dict):
    """The sizes of a run by the names that optimum gives them; sums are written out as such."""

    def get(self, name, otherwise):
        return sum(dict.get(self, part.strip(), otherwise) if not part.strip().isdigit() else int(part) for part in name.split("+"))


RUNS = [
    Symbols(batch_size=2, sequence_length=7, past_sequence_length=0, encoder_sequence_length=6, decoder_sequence_length=4, past_decoder_sequence_length=3,
            height=32, width=32, num_channels=3),
    Symbols(batch_size=3, sequence_length=1, past_sequence_length=9, encoder_sequence_length=9, decoder_sequence_length=1, past_decoder_sequence_length=5,
            height=32, width=32, num_channels=3),
]


def feeds_of(path, symbols):
    random = numpy.random.default_rng(SEED)
    return {port.name: fill(port, symbols, random) for port in onnx.load(path, load_external_data=False).graph.input}


class Runs:
    """The inputs of the file, which is there only after the export."""

    def __init__(self, path, sizes):
        self.path, self.sizes = path, sizes

    def __iter__(self):
        return (feeds_of(self.path, Symbols(symbols | self.sizes)) for symbols in RUNS)


def case_of(folder, name, entry, part):
    path = folder / f"{name}.optimum" / f"{part}.onnx"
    return {"label": f"{name} {part} (optimum)", "architecture": name.removeprefix("optimum_"), "exporter": "optimum-onnx", "package": "optimum-onnx", "path": path,
            "export": lambda: export(entry, path.parent), "runs": Runs(path, entry["sizes"])}


def main():
    options = arguments().parse_args()
    run_cases(options, [case_of(options.folder, name, entry, part) for name, entry in chosen(options, OPTIMUM).items()
                        for part in PARTS.get(entry["task"], ["model"])])


if __name__ == "__main__":
    main()
