"""Real graphs: networks of torchvision and transformers with seeded random weights, as both PyTorch exporters write them.

Each entry makes a module, example inputs, other inputs of sizes that the export did not see, and the dynamic axes. Weights
are random, so nothing is downloaded; sizes are the networks' own unless a smaller configuration says the same.
"""

import torch

SEED = 7


def image(batch, size):
    return torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(SEED))


def vision(name, size=224, other=None, dynamic_size=False, **options):
    """A torchvision network: exported with batch 1, run with another batch, and another size where it allows one."""
    import torchvision

    def make():
        torch.manual_seed(SEED)
        module = torchvision.models.get_model(name, weights=None, **options).eval()
        settle_statistics(module)
        return module

    axes = {0: "batch"} | ({2: "height", 3: "width"} if dynamic_size else {})
    return {
        "make": make,
        "names": ["image"],
        "example": (image(2, size),),
        "runs": [(image(1, size),), (image(3, other or size),)],
        "axes": {"image": axes},
    }


def settle_statistics(module):
    """BatchNormalization with its initial statistics is nearly the identity: give it some that are not."""
    generator = torch.Generator().manual_seed(SEED)
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.running_mean.copy_(0.1 * torch.randn(part.running_mean.shape, generator=generator))
            part.running_var.copy_(0.5 + torch.rand(part.running_var.shape, generator=generator))


def segmentation(name):
    import torchvision

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(SEED)
            self.inner = torchvision.models.get_model(name, weights=None, weights_backbone=None).eval()

        def forward(self, image):
            return self.inner(image)["out"]

    entry = vision("resnet18", size=128)
    return entry | {"make": lambda: Plain().eval()}


def tokens(batch, length, vocabulary=99):
    return torch.randint(0, vocabulary, (batch, length), generator=torch.Generator().manual_seed(SEED))


def text(class_name, config_name, **config):
    """A transformers model of a small width: the graph is that of the large one."""
    import transformers

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(SEED)
            made = getattr(transformers, config_name)(**config)
            made._attn_implementation = "eager"
            self.inner = getattr(transformers, class_name)(made).eval()

        def forward(self, input_ids, attention_mask):
            return self.inner(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]

    def pair(batch, length):
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[-1, length - 2 :] = 0
        return tokens(batch, length), mask

    return {
        "make": lambda: Plain().eval(),
        "names": ["input_ids", "attention_mask"],
        "example": pair(2, 9),
        "runs": [pair(1, 9), pair(3, 14)],
        "axes": {name: {0: "batch", 1: "sequence"} for name in ("input_ids", "attention_mask")},
    }


SMALL = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=99)

MODELS = {
    "alexnet": vision("alexnet"),
    "vgg11": vision("vgg11"),
    "vgg11_bn": vision("vgg11_bn"),
    "resnet18": vision("resnet18", other=192, dynamic_size=True),
    "resnet50": vision("resnet50"),
    "resnext50": vision("resnext50_32x4d"),
    "inception_v3": vision("inception_v3", size=299, init_weights=False, transform_input=False),
    "googlenet": vision("googlenet", init_weights=False, transform_input=False),
    "densenet121": vision("densenet121"),
    "mobilenet_v2": vision("mobilenet_v2", other=160, dynamic_size=True),
    "mobilenet_v3_small": vision("mobilenet_v3_small"),
    "mobilenet_v3_large": vision("mobilenet_v3_large"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "efficientnet_v2_s": vision("efficientnet_v2_s", size=128),
    "shufflenet_v2": vision("shufflenet_v2_x1_0"),
    "squeezenet1_1": vision("squeezenet1_1"),
    "mnasnet0_5": vision("mnasnet0_5"),
    "regnet_y_400mf": vision("regnet_y_400mf"),
    "convnext_tiny": vision("convnext_tiny", size=96),
    "vit_b_16": vision("vit_b_16"),
    "swin_t": vision("swin_t"),
    "swin_v2_t": vision("swin_v2_t", size=256),
    "fcn_resnet50": segmentation("fcn_resnet50"),
    "lraspp_mobilenet_v3": segmentation("lraspp_mobilenet_v3_large"),
    "bert": text("BertModel", "BertConfig", **SMALL),
    "roberta": text("RobertaModel", "RobertaConfig", **(SMALL | {"pad_token_id": 1})),
    "distilbert": text("DistilBertModel", "DistilBertConfig", dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=99),
    "electra": text("ElectraModel", "ElectraConfig", embedding_size=32, **SMALL),
    "gpt2": text("GPT2Model", "GPT2Config", n_embd=64, n_layer=2, n_head=4, vocab_size=99),
}
