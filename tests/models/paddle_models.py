"""Networks of PaddlePaddle as paddle2onnx writes them, compared with onnxruntime by compare.py.

    paddle_models.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]
"""

import multiprocessing

import numpy
import paddle
from compare import arguments, chosen, run_cases
from paddle import nn
from paddle.nn import functional

SEED = 3


def values(*shape, seed=SEED):
    return numpy.random.default_rng(seed).normal(size=shape).astype(numpy.float32)


def integers(high, *shape, seed=SEED):
    return numpy.random.default_rng(seed).integers(0, high, size=shape).astype(numpy.int64)


class TextRecognizer(nn.Layer):
    """Convolutions down to one line, a recurrent layer in both directions, and letters for each column."""

    def __init__(self, kind=nn.LSTM):
        super().__init__()
        self.convolutions = nn.Sequential(nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.Hardswish(), nn.MaxPool2D(2),
                                          nn.Conv2D(8, 12, 3, stride=(2, 1), padding=1), nn.ReLU(), nn.MaxPool2D((4, 1)))
        self.recurrent, self.letters = kind(12, 10, num_layers=2, direction="bidirect"), nn.Linear(20, 15)

    def forward(self, x):
        x = self.convolutions(x).squeeze(2).transpose([0, 2, 1])
        return functional.softmax(self.letters(self.recurrent(x)[0]), axis=2)


class TextDetector(nn.Layer):
    """A pyramid of features, and maps of text and of its border, of which one is the differentiable threshold of the other."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2D(3, 8, 3, stride=2, padding=1), nn.Conv2D(8, 16, 3, stride=2, padding=1)
        self.lateral, self.attend = nn.Conv2D(16, 8, 1), nn.Conv2D(8, 8, 1)
        self.enlarge = nn.Conv2DTranspose(8, 8, 2, stride=2, groups=4, bias_attr=False)
        self.heads = nn.LayerList([nn.Sequential(nn.Conv2DTranspose(8, 4, 2, stride=2, bias_attr=False), nn.BatchNorm2D(4), nn.ReLU(), nn.Conv2D(4, 1, 3, padding=1)) for _ in range(2)])

    def forward(self, x):
        high = functional.relu(self.first(x))
        low = functional.hardswish(self.second(high))
        x = high + self.enlarge(self.lateral(low))
        x = x * functional.hardsigmoid(self.attend(functional.adaptive_avg_pool2d(x, 1)))
        text, border = (functional.sigmoid(head(x)) for head in self.heads)
        return paddle.concat([text, functional.sigmoid(50 * (text - border))], axis=1)


class Words(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, activation="gelu"), 2)
        self.classes = nn.Linear(16, 4)

    def forward(self, tokens):
        mask = (tokens == 0).astype("float32").unsqueeze([1, 2]) * -1e4
        return self.classes(self.encoder(self.embed(tokens), mask)[:, 0])


class Detector(nn.Layer):
    """Boxes of a grid, and the suppression of those that overlap."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2D(3, 8, 3, stride=4, padding=1), nn.LeakyReLU(), nn.Conv2D(8, 2 * 8, 3, stride=4, padding=1))

    def forward(self, image, size):
        boxes, scores = paddle.vision.ops.yolo_box(self.features(image), size, anchors=[10, 13, 16, 30], class_num=3, conf_thresh=0.01, downsample_ratio=16)
        return boxes, paddle.transpose(scores, [0, 2, 1])


class Warp(nn.Layer):
    """A picture straightened by a grid that is computed from it."""

    def __init__(self):
        super().__init__()
        self.place = nn.Sequential(nn.AvgPool2D((3, 2)), nn.Flatten(), nn.Linear(60, 6))
        rows, columns = numpy.meshgrid(numpy.linspace(-1, 1, 12), numpy.linspace(-1, 1, 10), indexing="ij")
        self.places = paddle.to_tensor(numpy.stack([columns, rows, numpy.ones_like(rows)], -1).reshape(120, 3).astype(numpy.float32))

    def forward(self, x):
        theta = self.place(x).reshape([-1, 2, 3]) * 0.1 + paddle.to_tensor([[[1.0, 0, 0], [0, 1, 0]]])
        grid = paddle.matmul(self.places, theta.transpose([0, 2, 1])).reshape([-1, 12, 10, 2])
        return functional.grid_sample(x, grid, align_corners=False)


class Volumes(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv3D(2, 4, 3, padding=1), nn.BatchNorm3D(4), nn.Swish(), nn.MaxPool3D(2), nn.Conv3D(4, 6, 3, groups=2))

    def forward(self, x):
        return paddle.mean(self.layers(x), axis=[2, 3, 4]), paddle.cumsum(paddle.sum(x, axis=[1, 2, 3]), axis=1)


class Loops(nn.Layer):
    """while and if that depend on data."""

    def forward(self, x):
        trips = paddle.zeros([1], "int64")
        while paddle.max(paddle.abs(x)) > 0.1:
            x = x * 0.5
            trips = trips + 1
        if paddle.sum(x) > 0:
            x = x + 1
        else:
            x = -x
        return x, trips


def entry(make, *runs, dynamic=(0,), opset=16):
    """Each run is a list of inputs; the axes `dynamic` of all of them are open."""
    return {"make": make, "runs": runs, "dynamic": dynamic, "opset": opset}


def vision(name, size=64, **options):
    return entry(lambda: getattr(paddle.vision.models, name)(pretrained=False, num_classes=11, **options), [values(2, 3, size, size)], [values(1, 3, size, size, seed=1)])


PADDLE = {
    "paddle_mobilenet_v1": vision("mobilenet_v1", scale=0.25),
    "paddle_mobilenet_v3": vision("mobilenet_v3_small", scale=0.5),
    "paddle_resnet18": vision("resnet18", width=64),
    "paddle_shufflenet": vision("shufflenet_v2_x0_25"),
    "paddle_squeezenet": vision("squeezenet1_1"),
    "paddle_text_recognizer": entry(TextRecognizer, [values(2, 3, 16, 40)], [values(1, 3, 16, 64)], dynamic=(0, 3)),
    "paddle_text_recognizer_gru": entry(lambda: TextRecognizer(nn.GRU), [values(2, 3, 16, 40)], [values(1, 3, 16, 64)], dynamic=(0, 3)),
    "paddle_text_detector": entry(TextDetector, [values(1, 3, 32, 48)], [values(2, 3, 64, 32)], dynamic=(0, 2, 3)),
    "paddle_words": entry(Words, [integers(30, 2, 7)], [integers(30, 3, 5)], dynamic=(0, 1)),
    "paddle_detector": entry(Detector, [values(1, 3, 64, 64), numpy.array([[64, 64]], numpy.int32)], dynamic=()),
    "paddle_warp": entry(Warp, [values(2, 3, 12, 10)], dynamic=()),
    "paddle_volumes": entry(Volumes, [values(2, 2, 8, 8, 6)], [values(1, 2, 8, 8, 6)]),
    "paddle_loops": entry(Loops, [values(5)], [-values(7) ** 2], dynamic=(0,)),
}


def named(run):
    return dict(zip(("x", "size"), run))


def settle(layer):
    """Seeded weights, and statistics that are not those of the start."""
    random = numpy.random.default_rng(SEED)
    for name, value in layer.state_dict().items():
        if "_variance" in name:
            value.set_value(random.uniform(0.5, 1.5, value.shape).astype(numpy.float32))
        elif value.dtype == paddle.float32:
            scale = 0.1 if len(value.shape) < 2 else 1 / numpy.prod(value.shape[1:]) ** 0.5
            value.set_value((scale * random.normal(size=value.shape) + (name.endswith("weight") and len(value.shape) == 1)).astype(numpy.float32))
    return layer


def export(entry, path):
    layer = settle(entry["make"]())
    layer.eval()
    spec = [paddle.static.InputSpec([-1 if axis in entry["dynamic"] else size for axis, size in enumerate(value.shape)], str(value.dtype), name)
            for name, value in named(entry["runs"][0]).items()]
    paddle.onnx.export(layer, str(path.with_suffix("")), input_spec=spec, opset_version=entry["opset"])


def itself(entry, feeds):
    layer = settle(entry["make"]())
    layer.eval()
    outputs = layer(*map(paddle.to_tensor, feeds.values()))
    return [value.numpy() for value in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def export_apart(name, path):
    """In a process of its own, because what paddle2onnx does not know may abort it."""
    child = multiprocessing.get_context("spawn").Process(target=export_named, args=(name, path))
    child.start()
    child.join()
    if child.exitcode:
        raise RuntimeError(f"the process ended with {child.exitcode}")


def export_named(name, path):
    export(PADDLE[name], path)


def case_of(folder, name, entry):
    path = folder / f"{name}.onnx"
    return {"label": f"{name} (paddle2onnx)", "architecture": "" if name == "paddle_loops" else name.removeprefix("paddle_"), "exporter": "paddle2onnx", "package": "paddle2onnx", "path": path,
            "export": lambda: export_apart(name, path), "runs": [named(run) for run in entry["runs"]],
            "itself": lambda feeds: itself(entry, feeds)}


def main():
    options = arguments().parse_args()
    run_cases(options, [case_of(options.folder, name, entry) for name, entry in chosen(options, PADDLE).items()])


if __name__ == "__main__":
    main()
