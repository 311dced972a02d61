"""Real graphs: networks of torchvision and transformers with seeded random weights, as both PyTorch exporters write them.

Each entry makes a module, example inputs, other inputs of sizes that the export did not see, and the dynamic axes. Weights
are random, so nothing is downloaded; sizes are the networks' own unless a smaller configuration says the same.
"""

import torch

SEED = 7


def image(batch, size):
    return torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(SEED))


def batch_norms(module):
    return [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)]


def settle_statistics(module):
    """BatchNormalization with its initial statistics is nearly the identity: give it some that are not."""
    generator = torch.Generator().manual_seed(SEED)
    for part in batch_norms(module):
        part.running_mean.copy_(0.1 * torch.randn(part.running_mean.shape, generator=generator))
        part.running_var.copy_(0.5 + torch.rand(part.running_var.shape, generator=generator))


def vision(build, size=224, other=None, dynamic_size=False, settle=settle_statistics, **options):
    """A torchvision network by name, or what `build` makes of torchvision: exported with batch 2, run with two others, and
    another size where it allows one."""
    import torchvision

    def make():
        torch.manual_seed(SEED)
        if callable(build):
            module = build(torchvision.models).eval()
        else:
            module = torchvision.models.get_model(build, weights=None, **options).eval()
        settle(module)
        return module

    axes = {0: "batch"} | ({2: "height", 3: "width"} if dynamic_size else {})
    return {
        "make": make,
        "names": ["image"],
        "example": (image(2, size),),
        "runs": [(image(1, size),), (image(3, other or size),)],
        "axes": {"image": axes},
    }


def segmentation(name, size=128):
    import torchvision

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(SEED)
            self.inner = torchvision.models.get_model(name, weights=None, weights_backbone=None).eval()

        def forward(self, image):
            return self.inner(image)["out"]

    entry = vision("resnet18", size=size)
    return entry | {"make": lambda: Plain().eval()}


def pictures(class_name, config_name, size, **config):
    """A transformers model of pictures."""
    return vision("resnet18", size=size) | {"make": lambda: transformer(class_name, config_name, ["pixel_values"], config)}


def transformer(class_name, config_name, names, config):
    """With seeded weights; its forward takes the one or two inputs of these names and returns the first output."""
    import transformers

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(SEED)
            made = getattr(transformers, config_name)(**config)
            made._attn_implementation = "eager"
            self.inner = getattr(transformers, class_name)(made).eval()

        def forward(self, first, second=None):
            return self.inner(**dict(zip(names, (first, second))), return_dict=False)[0]

    return Plain().eval()


def tokens(batch, length, vocabulary=99):
    return torch.randint(0, vocabulary, (batch, length), generator=torch.Generator().manual_seed(SEED))


def text(class_name, config_name, **config):
    """A transformers model of a small width: the graph is that of the large one."""
    names = ["input_ids", "attention_mask"]

    def pair(batch, length):
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[-1, length - 2 :] = 0
        return tokens(batch, length), mask

    return {
        "make": lambda: transformer(class_name, config_name, names, config),
        "names": names,
        "example": pair(2, 9),
        "runs": [pair(1, 9), pair(3, 14)],
        "axes": {name: {0: "batch", 1: "sequence"} for name in names},
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

# Of full depth and small widths, for devices that are slow: what the exporters write is that of the wide ones.

DEEP = SMALL | {"hidden_size": 48, "num_hidden_layers": 12, "intermediate_size": 96}
LLAMA = SMALL | {"num_key_value_heads": 2, "use_cache": False}
PATCHES = dict(image_size=32, patch_size=8, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96)


def narrow_swin(version, window):
    def build(models):
        block = {1: (None, models.swin_transformer.PatchMerging),
                 2: (models.swin_transformer.SwinTransformerBlockV2, models.swin_transformer.PatchMergingV2)}[version]
        return models.SwinTransformer([4, 4], 12, [2, 2, 6, 2], [1, 2, 3, 6], [window, window], block=block[0], downsample_layer=block[1])

    return build


def narrow_convnext(models):
    setting = models.convnext.CNBlockConfig
    widths = (12, 24, 36, 48)
    return models.ConvNeXt([setting(a, b, depth) for a, b, depth in zip(widths, widths[1:] + (None,), (3, 3, 9, 3))])


def narrow_efficientnet(models):
    setting, last = models.efficientnet._efficientnet_conf("efficientnet_b0", width_mult=0.25, depth_mult=1.0)
    return models.EfficientNet(setting, dropout=0.2, last_channel=last or 320)


NARROW = {
    "resnet50": vision(lambda m: m.ResNet(m.resnet.Bottleneck, [3, 4, 6, 3], width_per_group=8), 64, 96, True),
    "mobilenet_v2": vision(lambda m: m.MobileNetV2(width_mult=0.25), 64, 96, True),
    "vit": vision(lambda m: m.VisionTransformer(32, 8, 12, 3, 48, 96), 32),
    "bert": text("BertModel", "BertConfig", **DEEP),
    "bert_classifier": text("BertForSequenceClassification", "BertConfig", **DEEP),
    "resnet18": vision("resnet18", 64, 96, True),
    "densenet": vision(lambda m: m.DenseNet(8, (6, 12, 24, 16), 16), 64),
    "googlenet": vision("googlenet", 64, init_weights=False, transform_input=False),
    "mobilenet_v3_small": vision("mobilenet_v3_small", 64),
    "efficientnet": vision(narrow_efficientnet, 64),
    "shufflenet_v2": vision("shufflenet_v2_x0_5", 64),
    "squeezenet1_1": vision("squeezenet1_1", 64),
    "regnet_y_400mf": vision("regnet_y_400mf", 64),
    "convnext": vision(narrow_convnext, 64),
    "swin": vision(narrow_swin(1, 4), 64),
    "swin_v2": vision(narrow_swin(2, 4), 64),
    "fcn_resnet50": segmentation("fcn_resnet50", 32),
    "lraspp_mobilenet_v3": segmentation("lraspp_mobilenet_v3_large", 64),
    "deeplabv3": segmentation("deeplabv3_mobilenet_v3_large", 64),
    "roberta": text("RobertaModel", "RobertaConfig", **(SMALL | {"pad_token_id": 1})),
    "distilbert": MODELS["distilbert"],
    "electra": MODELS["electra"],
    "gpt2": MODELS["gpt2"],
    "albert": text("AlbertModel", "AlbertConfig", embedding_size=32, **SMALL),
    "mpnet": text("MPNetModel", "MPNetConfig", **SMALL),
    "t5_encoder": text("T5EncoderModel", "T5Config", d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=99),
    "deberta_v2": text("DebertaV2Model", "DebertaV2Config", relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], **SMALL),
    "clip_text": text("CLIPTextModelWithProjection", "CLIPTextConfig", projection_dim=32, eos_token_id=98, **SMALL),
    "llama": text("LlamaModel", "LlamaConfig", **LLAMA),
    "qwen2": text("Qwen2Model", "Qwen2Config", **LLAMA),
    "opt": text("OPTModel", "OPTConfig", use_cache=False, ffn_dim=128, word_embed_proj_dim=64, **{k: v for k, v in SMALL.items() if k != "intermediate_size"}),
    "gpt_neox": text("GPTNeoXModel", "GPTNeoXConfig", use_cache=False, **SMALL),
    "dinov2": pictures("Dinov2Model", "Dinov2Config", 42, **(PATCHES | {"image_size": 28, "patch_size": 7})),
    "beit": pictures("BeitModel", "BeitConfig", 32, use_relative_position_bias=True, **PATCHES),
    "segformer": pictures("SegformerForSemanticSegmentation", "SegformerConfig", 64, hidden_sizes=[16, 32, 48, 64],
                          num_attention_heads=[1, 2, 4, 4], depths=[1, 1, 1, 1], decoder_hidden_size=32),
    "mobilevit": pictures("MobileViTModel", "MobileViTConfig", 64, image_size=64),
}
