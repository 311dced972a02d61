"""Small transformers with random weights, exported by optimum into a folder, with a tokenizer of characters."""

import client

SPECIAL = ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"]
SIZES = {"vocab_size": 105, "max_position_embeddings": 128, "hidden_size": 128, "num_hidden_layers": 4,
         "num_attention_heads": 4}


def write_tokenizer(folder):
    """A vocabulary of all printable characters, alone and inside of a word."""
    from transformers import BertTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'-"
    words = [*SPECIAL, *letters, *("##" + letter for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=128).save_pretrained(folder)


def export(name, make, task):
    """The folder of the model of that name, which the first that asks for it makes."""
    folder = client.folder() / name
    if (folder / "model.onnx").exists():
        return folder
    import torch
    from optimum.exporters.onnx import main_export

    torch.manual_seed(0)
    weights = folder / "weights"
    make().eval().save_pretrained(weights)
    write_tokenizer(weights)
    main_export(str(weights), folder, task=task, do_validation=False)
    return folder


def encoder():
    """A BERT."""
    from transformers import BertConfig, BertModel

    return export("bert", lambda: BertModel(BertConfig(**SIZES, intermediate_size=512)), "feature-extraction")


def decoder():
    """A GPT-2 with its past as inputs and outputs."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return export("gpt2", lambda: GPT2LMHeadModel(GPT2Config(**SIZES)), "text-generation-with-past")
