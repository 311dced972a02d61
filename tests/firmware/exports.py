"""Small networks of the kinds that microcontrollers run, as PyTorch exports them and onnxruntime quantizes them; networks.py tests with them."""

import logging
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from torch import nn

# ---- parts -------------------------------------------------------------------------------------------------------------


def conv(inputs, outputs, kernel=3, stride=1, groups=1, act=nn.ReLU):
    """Convolution with the sizes kept, normalization, activation."""
    pads = kernel // 2 if isinstance(kernel, int) else tuple(size // 2 for size in kernel)
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, pads, groups=groups, bias=False), nn.BatchNorm2d(outputs), act())


def leaky():
    return nn.LeakyReLU(0.1)


class Inverted(nn.Module):
    """The block of MobileNetV2, whose depthwise layer is the widest."""

    def __init__(self, inputs, outputs, stride, factor):
        super().__init__()
        wide = inputs * factor
        widen = [conv(inputs, wide, 1, act=nn.ReLU6)] if factor > 1 else []
        self.layers = nn.Sequential(*widen, conv(wide, wide, 3, stride, wide, nn.ReLU6), conv(wide, outputs, 1, act=nn.Identity))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


class Squeeze(nn.Module):
    """A weight for each channel, computed from the means of all."""

    def __init__(self, channels):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, channels // 4, 1), nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.up(F.relu(self.down(x.mean((2, 3), keepdim=True)))))


class Layer(nn.Module):
    """A layer of a transformer whose attention is written out."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.before, self.then = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        batch, places, width = x.shape
        size = width // self.heads
        q, k, v = self.queries(self.before(x)).reshape(batch, places, 3, self.heads, size).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q @ k.transpose(-2, -1) * size**-0.5).softmax(-1)
        x = x + self.mix((weights @ v).transpose(1, 2).reshape(batch, places, width))
        return x + self.narrow(F.gelu(self.widen(self.then(x))))


# ---- networks ----------------------------------------------------------------------------------------------------------


class KeyWords(nn.Module):
    """DS-CNN of 172 channels, as "Hello Edge" has it for a medium size."""

    def __init__(self, width=172):
        super().__init__()
        blocks = [nn.Sequential(conv(width, width, 3, stride, width), conv(width, width, 1)) for stride in (2, 1)]
        self.layers, self.last = nn.Sequential(conv(1, width, (10, 4), (2, 1)), *blocks), nn.Linear(width, 12)

    def forward(self, x):
        return F.softmax(self.last(self.layers(x).mean((2, 3))), -1)


class MobileNet(nn.Module):
    """MobileNetV2 with odd widths, and the head of 1280 filters."""

    def __init__(self):
        super().__init__()
        blocks = [Inverted(12, 6, 1, 1), Inverted(6, 9, 2, 6), Inverted(9, 9, 1, 6), Inverted(9, 18, 2, 6), Inverted(18, 18, 1, 6)]
        self.layers = nn.Sequential(conv(3, 12, 3, 2, act=nn.ReLU6), *blocks, conv(18, 1280, 1, act=nn.ReLU6))
        self.pool, self.last = nn.AdaptiveAvgPool2d(1), nn.Linear(1280, 10)

    def forward(self, x):
        return self.last(torch.flatten(self.pool(self.layers(x)), 1))


class Person(nn.Module):
    """Hard swish and weights of channels, as in MobileNetV3."""

    def __init__(self):
        super().__init__()
        first = [conv(1, 8, 3, 2, act=nn.Hardswish), conv(8, 8, 3, 2, 8), Squeeze(8), conv(8, 16, 1, act=nn.Hardswish)]
        self.layers = nn.Sequential(*first, conv(16, 16, 5, 1, 16, nn.Hardswish), Squeeze(16), conv(16, 24, 1))
        self.last = nn.Linear(24, 2)

    def forward(self, x):
        return F.softmax(self.last(F.adaptive_avg_pool2d(self.layers(x), 1).flatten(1)), 1)


class Anomaly(nn.Module):
    """A convolutional autoencoder, and the mean square of what it misses."""

    def __init__(self):
        super().__init__()
        up = [nn.ConvTranspose2d(12, 8, 3, 2, 1, 1), nn.ReLU(), nn.ConvTranspose2d(8, 1, 2, 2), nn.Sigmoid()]
        self.layers = nn.Sequential(conv(1, 8, 3, 2), conv(8, 12, 3, 2), *up)

    def forward(self, x):
        y = self.layers(x)
        return y, ((x - y) ** 2).mean((1, 2, 3))


class Motion(nn.Module):
    """Layers over time for an accelerometer: a stride, a pool, a dilation, the maximum of all."""

    def __init__(self):
        super().__init__()
        first = [nn.Conv1d(3, 16, 5, 2, 2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 24, 3, padding=1), nn.ReLU()]
        self.layers, self.last = nn.Sequential(*first, nn.Conv1d(24, 24, 3, padding=2, dilation=2), leaky()), nn.Linear(24, 5)

    def forward(self, x):
        return self.last(self.layers(x).amax(-1))


class Detector(nn.Module):
    """TinyYOLO: two sizes joined, and boxes computed in the network."""

    def __init__(self):
        super().__init__()
        self.large = nn.Sequential(conv(3, 8, act=leaky), nn.MaxPool2d(2), conv(8, 16, act=leaky))
        self.small = nn.Sequential(nn.MaxPool2d(2), conv(16, 24, act=nn.SiLU), conv(24, 8, 1, act=leaky))
        self.last = nn.Conv2d(24, 18, 1)

    def forward(self, x):
        large = self.large(x)
        small = F.interpolate(self.small(large), scale_factor=2, mode="nearest")
        y = self.last(torch.cat([small, large], 1))
        batch, _, height, width = y.shape
        y = y.view(batch, 3, 6, height, width).permute(0, 1, 3, 4, 2).reshape(batch, -1, 6)
        middle, size, sure = y.split([2, 2, 2], -1)
        return torch.cat([torch.sigmoid(middle) * 2, torch.exp(size) * 0.5, torch.sigmoid(sure)], -1)


class Transformer(nn.Module):
    """ViT of two layers and four heads."""

    def __init__(self, width=32):
        super().__init__()
        self.patches, self.places = nn.Conv2d(1, width, 4, 4), nn.Parameter(torch.randn(1, 16, width) * 0.1)
        self.layers, self.norm, self.last = nn.Sequential(Layer(width, 4), Layer(width, 4)), nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.last(self.norm(self.layers(x)).mean(1))


class Segments(nn.Module):
    """UNet: linear Resize, Concat, and the class of each pixel."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Sequential(conv(3, 8), conv(8, 8)), conv(8, 16), conv(16, 16)
        self.pool, self.up, self.join = nn.MaxPool2d(2), conv(32, 8), conv(16, 8)
        self.last = nn.Conv2d(8, 3, 1)

    def forward(self, x):
        def twice(value):
            return F.interpolate(value, scale_factor=2, mode="bilinear", align_corners=False)

        large = self.first(x)
        half = self.second(self.pool(large))
        half = self.up(torch.cat([twice(self.third(self.pool(half))), half], 1))
        return self.last(self.join(torch.cat([twice(half), large], 1))).argmax(1)


class Causal(nn.Module):
    """TCN: dilated layers that see only what was before, with residuals."""

    def __init__(self, width=16):
        super().__init__()
        self.first, self.last = nn.Conv1d(10, width, 1), nn.Linear(width, 4)
        self.layers = nn.ModuleList([nn.Conv1d(width, width, 3, dilation=2**i) for i in range(3)])

    def forward(self, x):
        x = self.first(x)
        for i, layer in enumerate(self.layers):
            x = x + F.relu(layer(F.pad(x, (2 * 2**i, 0))))
        return self.last(x[:, :, -1])


class Voice(nn.Module):
    """Conv-TasNet that streams: a part of the last block is an input, and an output for the next."""

    def __init__(self, width=12):
        super().__init__()
        self.encode, self.norm, self.decode = nn.Conv1d(1, width, 8, 4), nn.GroupNorm(1, width), nn.ConvTranspose1d(width, 1, 8, 4)
        self.before, self.act = nn.Conv1d(width, width, 1), nn.PReLU()
        self.mask = nn.Sequential(nn.Conv1d(width, width, 3, groups=width), nn.Conv1d(width, width, 1), nn.Sigmoid())

    def forward(self, x, state):
        x = self.encode(x)
        y = torch.cat([state, self.act(self.before(self.norm(x)))], -1)
        return self.decode(x * self.mask(y)), y[:, :, -2:]


class Objects(nn.Module):
    """FOMO: a map of where objects are."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(conv(3, 8, 3, 2, act=nn.ReLU6), Inverted(8, 12, 2, 4), Inverted(12, 12, 1, 4), nn.Conv2d(12, 16, 1), nn.ReLU(), nn.Conv2d(16, 3, 1))

    def forward(self, x):
        return F.softmax(self.layers(x), 1)


class Wake(nn.Module):
    """A GRU whose state is an input and an output."""

    def __init__(self):
        super().__init__()
        self.layer, self.last = nn.GRU(10, 24, batch_first=True), nn.Linear(24, 4)

    def forward(self, x, state):
        y, state = self.layer(x, state)
        return self.last(y[:, -1]), state


class Gestures(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.last = nn.LSTM(10, 16, batch_first=True, bidirectional=True), nn.Linear(32, 4)

    def forward(self, x):
        return self.last(self.layer(x)[0].mean(1))


class Letters(nn.Module):
    """CRNN: convolutions, then a GRU in both directions over the columns."""

    def __init__(self):
        super().__init__()
        self.layers, self.last = nn.Sequential(conv(1, 8, 3, (2, 1)), conv(8, 12, 3, (2, 1))), nn.Linear(24, 11)
        self.columns = nn.GRU(48, 12, bidirectional=True, batch_first=True)

    def forward(self, x):
        return self.last(self.columns(self.layers(x).permute(0, 3, 1, 2).flatten(2))[0])


# name: the network, shapes of its inputs
NETWORKS = {
    "keywords": (KeyWords, [(1, 1, 49, 10)]),
    "mobilenet": (MobileNet, [(1, 3, 32, 32)]),
    "person": (Person, [(1, 1, 32, 32)]),
    "anomaly": (Anomaly, [(1, 1, 16, 16)]),
    "motion": (Motion, [(1, 3, 64)]),
    "detector": (Detector, [(1, 3, 32, 32)]),
    "transformer": (Transformer, [(1, 1, 16, 16)]),
    "segments": (Segments, [(1, 3, 16, 16)]),
    "causal": (Causal, [(1, 10, 24)]),
    "voice": (Voice, [(1, 1, 64), (1, 12, 2)]),
    "objects": (Objects, [(1, 3, 32, 32)]),
    "wake": (Wake, [(1, 8, 10), (1, 1, 24)]),
    "gestures": (Gestures, [(1, 8, 10)]),
    "letters": (Letters, [(1, 1, 16, 20)]),
}
RECURRENT = ("wake", "gestures", "letters")

# ---- files -------------------------------------------------------------------------------------------------------------

# form: format, type of what changes, scales by filter, symmetric; the second exporter has the first two
FORMS = {
    "qdq_s8_channel": (QuantFormat.QDQ, QuantType.QInt8, True, False),
    "qdq_u8": (QuantFormat.QDQ, QuantType.QUInt8, False, False),
    "qdq_u8_channel": (QuantFormat.QDQ, QuantType.QUInt8, True, False),
    "qdq_s8": (QuantFormat.QDQ, QuantType.QInt8, False, False),
    "qdq_symmetric": (QuantFormat.QDQ, QuantType.QInt8, True, True),
    "qop_s8": (QuantFormat.QOperator, QuantType.QInt8, False, False),
    "qop_u8_channel": (QuantFormat.QOperator, QuantType.QUInt8, True, False),
}


class Samples(CalibrationDataReader):
    def __init__(self, shapes):
        self.samples = iter(range(8))
        self.shapes = shapes

    def get_next(self):
        seed = next(self.samples, None)
        return None if seed is None else values(self.shapes, seed)


def values(shapes, seed):
    """Values of the inputs, by name."""
    rng = np.random.default_rng(seed)
    return {f"x{i}": rng.normal(size=shape).astype(np.float32) for i, shape in enumerate(shapes)}


def settle(network):
    """Gives the normalizations numbers as of a training."""
    for part in network.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.2)
            part.running_var.uniform_(0.5, 1.5)
            part.weight.data.uniform_(0.5, 1.5)
            part.bias.data.normal_(0, 0.2)


def quantize(name, path, plain, shapes, forms):
    """Quantizes the network in each form: paths by form."""
    made = {}
    for form in forms:
        how, kind, channel, symmetric = FORMS[form]
        made[form] = path.parent / f"{path.stem}_{form}.onnx"
        quantize_static(plain, made[form], Samples(shapes), quant_format=how, activation_type=kind, weight_type=QuantType.QInt8, per_channel=channel,
                        extra_options={"ActivationSymmetric": symmetric})
    if name in RECURRENT and len(forms) == len(FORMS):
        made["dynamic"] = path.parent / f"{path.stem}_dynamic.onnx"
        quantize_dynamic(plain, made["dynamic"], weight_type=QuantType.QInt8)
    return made


def export(name, folder):
    """Paths of the network's models, by exporter and form; "float" is one that is not quantized."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    make, shapes = NETWORKS[name]
    network = make().eval()
    settle(network)
    models = {}
    for exporter, opset in (("dynamo", 18), ("legacy", 17)):
        path, plain = folder / f"{name}_{exporter}.onnx", folder / f"{name}_{exporter}_plain.onnx"
        torch.onnx.export(network, tuple(map(torch.zeros, shapes)), path, input_names=[f"x{i}" for i in range(len(shapes))], opset_version=opset,
                          **({"dynamo": True, "external_data": False, "verbose": False} if exporter == "dynamo" else {"dynamo": False}))
        quant_pre_process(path, plain, skip_symbolic_shape=True)
        forms = list(FORMS) if exporter == "dynamo" else list(FORMS)[:2]
        models |= {(exporter, "float"): path, **{(exporter, form): made for form, made in quantize(name, path, plain, shapes, forms).items()}}
    return models
