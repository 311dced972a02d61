"""The networks of `make bench` (bench_models.py): PyTorch modules of the sizes that people run, with seeded random weights.

Each entry makes a module and its example inputs, a dict of tensors; all shapes are fixed. Depths of transformers are cut, so that files
stay below about 200 MB, and so are vocabularies; widths, heads and sequences are those of the originals.
"""

import torch
from torch import nn

from models import SEED, settle_statistics

WIDE = dict(hidden_size=768, num_hidden_layers=4, num_attention_heads=12, intermediate_size=3072, vocab_size=2000)


def generator():
    return torch.Generator().manual_seed(SEED)


def floats(*shape):
    return torch.randn(*shape, generator=generator())


def tokens(length, vocabulary=2000):
    return torch.randint(0, vocabulary, (1, length), generator=generator())


def vision(name, size=224, **options):
    import torchvision

    return lambda: torchvision.models.get_model(name, weights=None, **options), {"image": floats(1, 3, size, size)}


class Transformer(nn.Module):
    """One of transformers, whose inputs are these names in their order; its first output."""

    def __init__(self, model, config, names, settings):
        super().__init__()
        import transformers

        made = getattr(transformers, config)(**settings)
        made._attn_implementation = "eager"
        self.inner, self.names = getattr(transformers, model)(made), names

    def forward(self, *values):
        return self.inner(**dict(zip(self.names, values)), return_dict=False)[0]


def transformer(model, config, inputs, **settings):
    return lambda: Transformer(model, config, list(inputs), settings), inputs


def sentence(length=128):
    return {"input_ids": tokens(length), "attention_mask": torch.ones(1, length, dtype=torch.int64)}


class Decoder(nn.Module):
    """A step of a decoder as it is run token by token: the past comes in, and goes out longer by one."""

    def __init__(self, width=768, layers=4, heads=12, key_heads=12, vocabulary=2000, gated=False):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, key_heads, gated) for _ in range(layers))
        self.norm, self.head = norm_of(width, gated), nn.Linear(width, vocabulary, bias=False)

    def forward(self, input_ids, *past):
        x, present = self.table(input_ids), []
        for layer, key, value in zip(self.layers, past[::2], past[1::2]):
            x, key, value = layer(x, key, value)
            present += [key, value]
        return self.head(self.norm(x)), *present


class RootMeanSquare(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.scale * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


def norm_of(width, gated):
    return RootMeanSquare(width) if gated else nn.LayerNorm(width)


def rotated(x, past):
    """Rotary positions of the tokens behind the past, as LLaMA has them."""
    half = x.shape[-1] // 2
    angles = torch.arange(past, past + x.shape[2])[:, None] * 10000 ** (-torch.arange(half) / half)
    cos, sin = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class DecoderLayer(nn.Module):
    """Of GPT-2; `gated`, of LLaMA: RMS norms, rotary positions, a gated product, fewer heads of keys."""

    def __init__(self, width, heads, key_heads, gated):
        super().__init__()
        self.heads, self.key_heads, self.gated = heads, key_heads, gated
        self.first, self.second = norm_of(width, gated), norm_of(width, gated)
        size, inner = width // heads, 2048 if gated else 4 * width
        self.query, self.key, self.value = (nn.Linear(width, n * size, bias=not gated) for n in (heads, key_heads, key_heads))
        self.out = nn.Linear(width, width, bias=not gated)
        self.up, self.down = nn.Linear(width, inner, bias=not gated), nn.Linear(inner, width, bias=not gated)
        self.gate = nn.Linear(width, inner, bias=False) if gated else None

    def forward(self, x, past_key, past_value):
        y = self.first(x)
        split = lambda t, n: t.view(1, t.shape[1], n, -1).transpose(1, 2)
        query, key, value = split(self.query(y), self.heads), split(self.key(y), self.key_heads), split(self.value(y), self.key_heads)
        if self.gated:
            query, key = rotated(query, past_key.shape[2]), rotated(key, past_key.shape[2])
        key, value = torch.cat([past_key, key], 2), torch.cat([past_value, value], 2)
        groups = self.heads // self.key_heads
        many_keys, many_values = ((t if groups == 1 else t.repeat_interleave(groups, 1)) for t in (key, value))
        weights = torch.softmax(query @ many_keys.transpose(2, 3) / query.shape[-1] ** 0.5, -1)
        x = x + self.out((weights @ many_values).transpose(1, 2).reshape(x.shape))
        y = self.second(x)
        y = nn.functional.silu(self.gate(y)) * self.up(y) if self.gated else nn.functional.gelu(self.up(y), approximate="tanh")
        return x + self.down(y), key, value


def decoder(past, **settings):
    heads, size, layers = settings.get("key_heads", 12), 64, 4
    kept = {f"past_{i}": floats(1, heads, past, size) for i in range(2 * layers)}
    return lambda: Decoder(**settings), {"input_ids": tokens(1)} | kept


class Block(nn.Sequential):
    def __init__(self, wide, out, size=3, stride=1, activation=nn.SiLU):
        super().__init__(nn.Conv2d(wide, out, size, stride, size // 2, bias=False), nn.BatchNorm2d(out), activation())


class Stage(nn.Module):
    """A cross-stage partial block, as the YOLO family has them."""

    def __init__(self, wide, out, depth):
        super().__init__()
        self.left, self.right, self.last = Block(wide, out // 2, 1), Block(wide, out // 2, 1), Block(out, out, 1)
        self.blocks = nn.ModuleList(nn.Sequential(Block(out // 2, out // 2, 1), Block(out // 2, out // 2)) for _ in range(depth))

    def forward(self, x):
        y = self.left(x)
        for block in self.blocks:
            y = y + block(y)
        return self.last(torch.cat([y, self.right(x)], 1))


class Yolo(nn.Module):
    """Backbone, pyramid and heads of a small YOLOv5, with the decoding of boxes."""

    def __init__(self, w=32, classes=80):
        super().__init__()
        self.stem = nn.Sequential(Block(3, w, 6 - 1, 2), Block(w, 2 * w, 3, 2), Stage(2 * w, 2 * w, 1))
        self.three = nn.Sequential(Block(2 * w, 4 * w, 3, 2), Stage(4 * w, 4 * w, 2))
        self.four = nn.Sequential(Block(4 * w, 8 * w, 3, 2), Stage(8 * w, 8 * w, 3))
        self.five = nn.Sequential(Block(8 * w, 16 * w, 3, 2), Stage(16 * w, 16 * w, 1), Block(16 * w, 8 * w, 1))
        self.up4, self.up3 = Stage(16 * w, 4 * w, 1), Stage(8 * w, 4 * w, 1)
        self.heads = nn.ModuleList(nn.Conv2d(n, 3 * (5 + classes), 1) for n in (4 * w, 4 * w, 8 * w))

    def boxes(self, x):
        x = x.view(1, 3, -1, x.shape[2], x.shape[3]).permute(0, 1, 3, 4, 2).sigmoid()
        return torch.cat([x[..., :2] * 2 - 0.5, (x[..., 2:4] * 2) ** 2, x[..., 4:]], -1).reshape(1, -1, x.shape[-1])

    def forward(self, image):
        three = self.three(self.stem(image))
        four = self.four(three)
        five = self.five(four)
        grow = lambda t: nn.functional.interpolate(t, scale_factor=2.0, mode="nearest")
        four = self.up4(torch.cat([grow(five), four], 1))
        three = self.up3(torch.cat([grow(four), three], 1))
        return torch.cat([self.boxes(head(x)) for head, x in zip(self.heads, (three, four, five))], 1)


class UNet(nn.Module):
    def __init__(self, w=32):
        super().__init__()
        twice = lambda a, b: nn.Sequential(Block(a, b, activation=nn.ReLU), Block(b, b, activation=nn.ReLU))
        widths = [w, 2 * w, 4 * w, 8 * w]
        self.down = nn.ModuleList(twice(a, b) for a, b in zip([3, *widths], widths))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * b, b, 2, 2) for b in widths[-2::-1])
        self.up = nn.ModuleList(twice(2 * b, b) for b in widths[-2::-1])
        self.last = nn.Conv2d(w, 2, 1)

    def forward(self, image):
        kept, x = [], image
        for index, part in enumerate(self.down):
            x = part(nn.functional.max_pool2d(x, 2) if index else x)
            kept.append(x)
        for grow, part, skip in zip(self.grow, self.up, kept[-2::-1]):
            x = part(torch.cat([skip, grow(x)], 1))
        return self.last(x)


class Recurrent(nn.Module):
    def __init__(self, kind, width=256):
        super().__init__()
        self.layers, self.last = kind(width, width, num_layers=2, batch_first=False), nn.Linear(width, 64)

    def forward(self, steps):
        return self.last(self.layers(steps)[0])


class Speech(nn.Module):
    """Convolutions over a spectrogram, two recurrent layers of both directions, letters at each step."""

    def __init__(self):
        super().__init__()
        self.convolutions = nn.Sequential(Block(1, 32, 5, 2, nn.ReLU), Block(32, 32, 3, (2, 1), nn.ReLU))
        self.layers, self.last = nn.GRU(32 * 20, 256, 2, bidirectional=True), nn.Linear(512, 29)

    def forward(self, spectrogram):
        x = self.convolutions(spectrogram)
        x = x.permute(3, 0, 1, 2).flatten(2)
        return torch.log_softmax(self.last(self.layers(x)[0]), -1)


def generative(w=64):
    """The generator of DCGAN: 64x64 pictures of 100 numbers."""
    part = lambda a, b, *how: [nn.ConvTranspose2d(a, b, 4, *how, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
    return nn.Sequential(*part(100, 8 * w, 1, 0), *part(8 * w, 4 * w, 2, 1), *part(4 * w, 2 * w, 2, 1), *part(2 * w, w, 2, 1),
                         nn.ConvTranspose2d(w, 3, 4, 2, 1, bias=False), nn.Tanh())


def super_resolution(w=64):
    """Sub-pixel convolution: three times the size."""
    return nn.Sequential(nn.Conv2d(1, w, 5, padding=2), nn.Tanh(), nn.Conv2d(w, w, 3, padding=1), nn.Tanh(), nn.Conv2d(w, w // 2, 3, padding=1),
                         nn.Tanh(), nn.Conv2d(w // 2, 9, 3, padding=1), nn.PixelShuffle(3))


class Vgg(nn.Module):
    """The convolutions of VGG-16 and a classifier of a hundredth of its weights."""

    def __init__(self):
        super().__init__()
        import torchvision

        self.features = torchvision.models.vgg16(weights=None).features
        self.classifier = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1000))

    def forward(self, image):
        return self.classifier(self.features(image).mean((2, 3)))


def vit():
    import torchvision

    return torchvision.models.VisionTransformer(224, 16, 4, 12, 768, 3072)


def whisper():
    import transformers

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            config = transformers.WhisperConfig(**WHISPER)
            config._attn_implementation = "eager"
            self.inner = transformers.WhisperModel(config).encoder

        def forward(self, spectrogram):
            return self.inner(spectrogram, return_dict=False)[0]

    return Encoder()


T5 = dict(d_model=512, d_kv=64, d_ff=2048, num_layers=4, num_heads=8, vocab_size=2000, use_cache=False)
WHISPER = dict(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, decoder_layers=1, vocab_size=2000,
               pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
GPT2 = dict(n_embd=768, n_layer=4, n_head=12, vocab_size=2000, use_cache=False)
PICTURE = {"image": floats(1, 3, 224, 224)}

NETWORKS = {
    "resnet18": vision("resnet18"),
    "resnet50": vision("resnet50"),
    "vgg16": (Vgg, PICTURE),
    "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3_large": vision("mobilenet_v3_large"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "shufflenet_v2": vision("shufflenet_v2_x1_0"),
    "squeezenet1_1": vision("squeezenet1_1"),
    "densenet121": vision("densenet121"),
    "regnet_y_400mf": vision("regnet_y_400mf"),
    "inception_v3": vision("inception_v3", size=299, init_weights=False, transform_input=False),
    "convnext_tiny": vision("convnext_tiny"),
    "yolo": (Yolo, {"image": floats(1, 3, 320, 320)}),
    "unet": (UNet, {"image": floats(1, 3, 256, 256)}),
    "dcgan": (generative, {"noise": floats(1, 100, 1, 1)}),
    "super_resolution": (super_resolution, {"luminance": floats(1, 1, 224, 224)}),
    "vit_b_16": (vit, PICTURE),
    "swin_t": vision("swin_t"),
    "bert": transformer("BertModel", "BertConfig", sentence(), **WIDE),
    "distilbert": transformer("DistilBertModel", "DistilBertConfig", sentence(), dim=768, n_layers=4, n_heads=12, hidden_dim=3072, vocab_size=2000),
    "gpt2": transformer("GPT2LMHeadModel", "GPT2Config", sentence(), **GPT2),
    "gpt2_past": decoder(127),
    "llama_past": decoder(127, key_heads=4, gated=True),
    "t5": transformer("T5ForConditionalGeneration", "T5Config", {"input_ids": tokens(128), "decoder_input_ids": tokens(16)}, **T5),
    "whisper_encoder": (whisper, {"spectrogram": floats(1, 80, 3000)}),
    "lstm": (lambda: Recurrent(nn.LSTM), {"steps": floats(64, 1, 256)}),
    "gru": (lambda: Recurrent(nn.GRU), {"steps": floats(64, 1, 256)}),
    "speech": (Speech, {"spectrogram": floats(1, 1, 80, 200)}),
}


def export(name, path):
    make, inputs = NETWORKS[name]
    torch.manual_seed(SEED)
    module = make().eval()
    settle_statistics(module)
    torch.onnx.export(module, tuple(inputs.values()), str(path), dynamo=False, input_names=list(inputs), opset_version=18)


def feeds_of(name):
    return {key: value.numpy() for key, value in NETWORKS[name][1].items()}
