"""optimum with IO binding: hidden states of a BERT, and a text that a GPT-2 continues."""

import onnxruntime
import torch
import transformers_models
from client import main
from optimum.onnxruntime import ORTModelForCausalLM, ORTModelForFeatureExtraction
from transformers import AutoTokenizer

TEXTS = ["where does this node run?", "on the processor"]


def loaded(kind, folder, threads, **arguments):
    """A model of the folder, whose inputs and outputs are bound in memory of PyTorch."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return kind.from_pretrained(folder, session_options=options, use_io_binding=True, **arguments)


def prepare(threads):
    """The GPT-2 gets its past from the step before."""
    folder = transformers_models.encoder()
    tokens = AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    bert = loaded(ORTModelForFeatureExtraction, folder, threads)
    gpt2 = loaded(ORTModelForCausalLM, transformers_models.decoder(), threads, use_cache=True)
    start = torch.arange(10, 18)[None]

    def call():
        hidden = bert(**tokens).last_hidden_state
        text = gpt2.generate(start, attention_mask=torch.ones_like(start), max_new_tokens=24, do_sample=False,
                             pad_token_id=0, output_logits=True, return_dict_in_generate=True)
        return hidden.numpy(), text.sequences.numpy(), torch.stack(text.logits).numpy()

    return call


main(prepare)
