"""Models that onnxruntime's own tools quantize and optimize, run by tinyort and by onnxruntime on the same inputs (compare.py).

    quantized_models.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]

Small networks with seeded weights are exported by PyTorch; then they are quantized: statically (as QuantizeLinear and DequantizeLinear
around plain operators, or as operators of quantized tensors), dynamically, or their weights alone, in blocks. Some of them are then
saved by onnxruntime's optimizer, which joins what it finds to operators of com.microsoft. What onnxruntime computes of a file is the
reference, without optimization. A sum that lies just between two numbers may be rounded either way, which one step of a scale may
show in the end: so outputs may be apart by about a step.
"""

import warnings

import onnx
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from compare import arguments, chosen, run_cases

warnings.filterwarnings("ignore")

SEED = 7


class Residual(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = (torch.nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.norm = torch.nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.norm(self.first(x)))))


class Pictures(torch.nn.Module):
    """Convolutions, residuals, gates, a concatenation, both pools and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem, self.wide = torch.nn.Conv2d(3, 16, 3, stride=2, padding=1), torch.nn.Conv2d(16, 16, 1)
        self.blocks = torch.nn.Sequential(Residual(16), Residual(16))
        self.depthwise = torch.nn.Conv2d(32, 32, 3, padding=1, groups=32)
        self.gate, self.classes = torch.nn.Linear(32, 32), torch.nn.Linear(32, 10)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.stem(x)), 2)
        x = self.blocks(x)
        x = torch.cat([x, torch.nn.functional.leaky_relu(self.wide(x), 0.1)], 1)
        x = torch.nn.functional.avg_pool2d(self.depthwise(x), 2)
        pooled = torch.nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
        gate = torch.sigmoid(self.gate(pooled))
        return torch.softmax(self.classes(pooled * gate), 1)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.LSTM(24, 32, num_layers=2, bidirectional=True, batch_first=False)
        self.last = torch.nn.Linear(64, 12)

    def forward(self, x):
        return self.last(self.layers(x)[0])


class Tokens(torch.nn.Module):
    """What the weights of a language model are: a table, and products."""

    def __init__(self, width=64):
        super().__init__()
        self.table = torch.nn.Embedding(100, width)
        self.first, self.second = torch.nn.Linear(width, 160, bias=False), torch.nn.Linear(160, width)
        self.head = torch.nn.Linear(width, 100, bias=False)

    def forward(self, tokens):
        x = self.table(tokens)
        return self.head(x + self.second(torch.nn.functional.silu(self.first(x))))


def bert():
    import transformers

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            config = transformers.BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                                             vocab_size=200, attn_implementation="eager")
            self.inner = transformers.BertModel(config)

        def forward(self, tokens, mask):
            return self.inner(tokens, attention_mask=mask).last_hidden_state

    return Plain()


def mobilenet():
    import torchvision

    return torchvision.models.mobilenet_v2(weights=None, width_mult=0.25, num_classes=20)


def resnet():
    import torchvision

    return torchvision.models.ResNet(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=20)


def generator():
    return torch.Generator().manual_seed(SEED)


def image(batch, size):
    return {"image": torch.randn(batch, 3, size, size, generator=generator())}


def sentence(batch, length, vocabulary, masked):
    tokens = torch.randint(0, vocabulary, (batch, length), generator=generator())
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length - 2 :] = 0
    return {"tokens": tokens} | ({"mask": mask} if masked else {})


def steps(length, batch):
    return {"steps": torch.randn(length, batch, 24, generator=generator())}


NETWORKS = {
    "pictures": (Pictures, image(2, 32), [image(1, 32), image(3, 32)], {"image": {0: "batch"}}),
    "mobilenet": (mobilenet, image(2, 64), [image(1, 64), image(3, 64)], {"image": {0: "batch"}}),
    "resnet": (resnet, image(2, 64), [image(1, 64), image(3, 64)], {"image": {0: "batch"}}),
    "bert": (bert, sentence(2, 8, 200, True), [sentence(1, 5, 200, True), sentence(3, 12, 200, True)],
             {"tokens": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}),
    "lstm": (Recurrent, steps(5, 2), [steps(4, 1), steps(9, 3)], {"steps": {0: "length", 1: "batch"}}),
    "tokens": (Tokens, sentence(2, 8, 100, False), [sentence(1, 1, 100, False), sentence(3, 17, 100, False)],
               {"tokens": {0: "batch", 1: "length"}}),
}


def export(name, path):
    make, example, _, axes = NETWORKS[name]
    torch.manual_seed(SEED)
    module = make().eval()
    raw = path.with_suffix(".raw.onnx")
    torch.onnx.export(module, tuple(example.values()), str(raw), dynamo=False, input_names=list(example), output_names=["output"],
                      dynamic_axes=axes, opset_version=17)
    quant_pre_process(str(raw), str(path), skip_symbolic_shape=True)


class Calibration(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def static(form, activations, weights, **options):
    """quantize_static; `form` is QDQ or QOperator."""

    def quantize(name, source, target):
        feeds = [{key: value.numpy() for key, value in run.items()} for run in NETWORKS[name][2]]
        quantize_static(str(source), str(target), Calibration(feeds), quant_format=form, activation_type=activations,
                        weight_type=weights, **options)

    return quantize


def dynamic(weights, **options):
    def quantize(name, source, target):
        quantize_dynamic(str(source), str(target), weight_type=weights, **options)

    return quantize


def fused_dynamic(name, source, target):
    """Attention is joined first, so that it becomes QAttention."""
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    options = FusionOptions("bert")
    model = optimize_model(str(source), model_type="bert", num_heads=4, hidden_size=64, opt_level=0, optimization_options=options)
    fused = target.with_suffix(".fused.onnx")
    model.save_model_to_file(str(fused))
    quantize_dynamic(str(fused), str(target), weight_type=QuantType.QUInt8, extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})


def blocks(**options):
    """The weights of products, and of tables, alone; see MatMulNBitsQuantizer."""

    def quantize(name, source, target):
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        quantizer = MatMulNBitsQuantizer(onnx.load(str(source)), **options)
        quantizer.process()
        quantizer.model.save_model_to_file(str(target), use_external_data_format=False)

    return quantize


def optimized(quantize):
    """The same saved by onnxruntime's optimizer."""

    def save(name, source, target):
        before = target.with_suffix(".before.onnx")
        quantize(name, source, before)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(target)
        onnxruntime.InferenceSession(str(before), options, providers=["CPUExecutionProvider"])

    return save



U8, S8, U16 = QuantType.QUInt8, QuantType.QInt8, QuantType.QUInt16
QDQ, OPERATORS = QuantFormat.QDQ, QuantFormat.QOperator

# name: network, how it is quantized, operators that the file must have
MODELS = {
    "pictures_qdq_u8": ("pictures", static(QDQ, U8, S8), {"QuantizeLinear"}),
    "pictures_qdq_s8_channels": ("pictures", static(QDQ, S8, S8, per_channel=True), {"QuantizeLinear"}),
    "pictures_qdq_u16": ("pictures", static(QDQ, U16, U8, extra_options={"UseQDQContribOps": True}), {"com.microsoft.QuantizeLinear"}),
    "pictures_operators_u8": ("pictures", static(OPERATORS, U8, U8), {"com.microsoft.QLinearAdd", "QLinearConv"}),
    "pictures_operators_s8_channels": ("pictures", static(OPERATORS, S8, S8, per_channel=True), {"com.microsoft.QLinearConcat"}),
    "pictures_optimized": ("pictures", optimized(static(QDQ, U8, S8)), {"QLinearConv"}),
    "mobilenet_qdq_channels": ("mobilenet", static(QDQ, U8, S8, per_channel=True), {"QuantizeLinear"}),
    "mobilenet_operators": ("mobilenet", static(OPERATORS, U8, U8), {"com.microsoft.QLinearAdd"}),
    "mobilenet_optimized": ("mobilenet", optimized(static(QDQ, S8, S8)), {"com.microsoft.QLinearGlobalAveragePool"}),
    "resnet_operators_channels": ("resnet", static(OPERATORS, U8, S8, per_channel=True), {"com.microsoft.QGemm"}),
    "resnet_optimized": ("resnet", optimized(static(QDQ, U8, S8)), {"com.microsoft.QLinearGlobalAveragePool"}),
    "bert_dynamic": ("bert", dynamic(S8), {"MatMulInteger"}),
    "bert_dynamic_optimized": ("bert", optimized(dynamic(U8)), {"com.microsoft.DynamicQuantizeMatMul"}),
    "bert_attention": ("bert", fused_dynamic, {"com.microsoft.QAttention"}),
    "bert_qdq": ("bert", static(QDQ, U8, S8), {"QuantizeLinear"}),
    "bert_operators": ("bert", static(OPERATORS, U8, U8), {"com.microsoft.QLinearAdd", "QLinearMatMul"}),
    "bert_qdq_optimized": ("bert", optimized(static(QDQ, U8, S8)), {"QLinearMatMul"}),
    "lstm_dynamic": ("lstm", dynamic(S8), {"com.microsoft.DynamicQuantizeLSTM"}),
    "lstm_dynamic_u8": ("lstm", dynamic(U8, per_channel=True), {"com.microsoft.DynamicQuantizeLSTM"}),
    "tokens_4_bits": ("tokens", blocks(bits=4, block_size=32, is_symmetric=True), {"com.microsoft.MatMulNBits"}),
    "tokens_4_bits_zeros": ("tokens", blocks(bits=4, block_size=16, is_symmetric=False, accuracy_level=4), {"com.microsoft.MatMulNBits"}),
    "tokens_8_bits": ("tokens", blocks(bits=8, block_size=64, is_symmetric=False), {"com.microsoft.MatMulNBits"}),
    "tokens_table": ("tokens", blocks(bits=4, block_size=32, is_symmetric=False, op_types_to_quantize=("MatMul", "Gather")),
                     {"com.microsoft.GatherBlockQuantized"}),
    "tokens_4_bits_qdq": ("tokens", blocks(bits=4, block_size=32, quant_format=QDQ), {"DequantizeLinear"}),
}


def operators(path):
    nodes = onnx.load(str(path), load_external_data=False).graph.node
    return {f"{node.domain}{'.' if node.domain else ''}{node.op_type}" for node in nodes}


def write(folder, name, path):
    network, quantize, wanted = MODELS[name]
    source = folder / f"{network}.source.onnx"
    if not source.exists():
        export(network, source)
    quantize(network, source, path)
    missing = wanted - operators(path)
    assert not missing, f"{path} has no {', '.join(sorted(missing))}"


def case_of(folder, name):
    path = folder / f"{name}.quantized.onnx"
    return {
        "label": name,
        "architecture": MODELS[name][0],
        "exporter": "onnxruntime.quantization",
        "package": "onnxruntime",
        "path": path,
        "export": lambda: write(folder, name, path),
        "runs": [{key: value.numpy() for key, value in run.items()} for run in NETWORKS[MODELS[name][0]][2]],
        "optimized": False,
        "close": (2e-2, 2e-2),
    }


def main():
    options = arguments().parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    run_cases(options, [case_of(options.folder, name) for name in chosen(options, MODELS)])


if __name__ == "__main__":
    main()
