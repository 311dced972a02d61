"""Options that would do nothing, and names that are not there: refused, with what leads to what was meant."""

import numpy as np
from onnx import TensorProto, helper

from suite import DIGITS, NO_CUDA, SEVEN, floats, identity_model, save_model, tensor, weight


def test_options_that_need_others(suite, folder):
    run = ("run", DIGITS, "--random", "1")
    suite.expect(2, "add --top", *run, "--labels", "models/digits.labels.txt")
    suite.expect(2, "add --save", *run, "--format", "pb")
    suite.expect(2, "add --strict", *run, "--allow", "Conv")
    bench = ("bench", DIGITS)
    suite.expect(2, "above 0", *bench, "--seconds", "0")
    suite.expect(2, "above 0", *bench, "--seconds", "nan")
    suite.expect(2, "take one of them", *bench, "--seconds", "1", "--repeat", "2")
    suite.expect(2, "compares no values", "test", "x", "--shapes-only", "--rtol", "1")
    suite.expect(2, "the JSON has every node", "plan", DIGITS, "--only", "Conv", "--json")
    suite.expect(2, "the JSON has all there is", "plan", DIGITS, "--full", "--json")
    suite.expect(2, "JSON has no width", "plan", DIGITS, "--width", "80", "--json")


def test_options_that_apply_to_no_input(suite, folder):
    given = ("run", DIGITS, "--input", SEVEN)
    suite.expect(2, "every input is given", *given, "--random", "1")
    suite.expect(2, "every input is given", "bench", DIGITS, "--input", SEVEN, "--random", "1")
    suite.expect(2, "input 'image' is given by --input", *given, "--random", "image=0..1")
    np.save(folder / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    for option in (("--resize", "8"), ("--crop", "8"), ("--mean", "1"), ("--std", "1"), ("--scale", "1"), ("--layout", "nchw"), ("--bgr",)):
        suite.expect(2, [option[0], "is for pictures"], "run", DIGITS, "--input", folder / "x.npy", *option)
        suite.expect(2, [option[0], "is for pictures"], "run", DIGITS, "--random", "1", *option)
    suite.expect(2, "no input and no dimension 'imge'; did you mean 'image'?", "plan", DIGITS, "--shape", "imge=1x1x8x8")
    suite.expect(2, "dimensions are: 'N'", "plan", DIGITS, "--shape", "batch_size=1")
    suite.expect(2, "is given twice", "plan", DIGITS, "--shape", "N=1", "--shape", "N=2")
    suite.expect(2, "--shape N=1", "plan", DIGITS, "--shape", "N=1x2")
    suite.expect(2, "did you mean 'image'?", "run", DIGITS, "--random", "imag=0..1")
    suite.expect(2, "has no name", "plan", DIGITS, "--require", "")
    suite.expect(2, "has no name", "plan", DIGITS, "--strict", "--allow", ",")
    early = suite.expect(2, "unknown provider", "run", DIGITS, "--random", "1", "--ep", "xyz")
    suite.check("taken as" not in early.err, "what is assumed of inputs is told where there is a run")


def test_names_of_operators(suite, folder):
    suite.expect(2, ["'Comv'", "did you mean 'Conv'?"], "run", DIGITS, "--random", "1", "--strict", "--allow", "Relu,Comv")
    suite.expect(0, "placement", "run", DIGITS, "--random", "1", "--strict", "--allow", "Relu,TopK")
    suite.expect(2, "did you mean 'Conv'?", "plan", DIGITS, "--only", "convv")
    suite.expect(2, "did you mean 'Conv'?", "test", "models", "--strict", "--allow", "Comv")


def test_names_of_providers(suite, folder):
    plan = ("plan", DIGITS, "--ep")
    suite.expect(2, 'did you mean "cpu"', *plan, "cpux")
    suite.expect(2, 'did you mean "cuda"', *plan, "CUDA,cpu")
    result = suite.expect(0, ["CUDAExecutionProvider is onnxruntime's name of cuda", "CPUExecutionProvider is onnxruntime's name of cpu"], *plan, "CUDAExecutionProvider,CPUExecutionProvider:threads=2", **NO_CUDA)
    suite.check("CPUExecutionProvider" not in result.out and result.out.splitlines()[1].startswith("cuda"), result.out)
    suite.check("provider cpu is in the chain twice" in suite.run(*plan, "CPUExecutionProvider,cpu").err, "names of one provider")
    suite.expect(2, "an NVIDIA GPU is cuda", *plan, "gpu,cpu")
    suite.expect(2, "TensorRT", *plan, "tensorrt,cpu")
    suite.expect(2, "TensorRT", *plan, "TensorrtExecutionProvider")
    suite.expect(2, '"cuda:device=1"', *plan, "cuda1,cpu")
    suite.expect(2, '"cuda:device=0"', *plan, "cuda:0")
    suite.expect(0, "placement", *plan, " cuda , cpu : threads = 2 ")
    suite.expect(2, ['no option "device_id"', 'did you mean "device"?'], *plan, "cuda:device_id=0,cpu")
    suite.expect(2, 'did you mean "mem_limit"?', *plan, "cuda:gpu_mem_limit=1000,cpu")
    suite.expect(2, 'did you mean "threads"?', *plan, "cpu:thread=2")
    suite.expect(2, 'did you mean "threads"?', *plan, "cpu:intra_op_num_threads=2")
    suite.expect(2, "nothing grows", *plan, "cuda:arena_extend_strategy=kSameAsRequested,cpu")
    suite.expect(2, "it takes: threads", *plan, "cpu:thread=2")
    suite.expect(2, "a comma too many", *plan, "cpu,")
    suite.expect(2, "in the chain twice", *plan, "cpu,cpu")
    suite.expect(2, "did you mean 'cuda'?", "run", DIGITS, "--random", "1", TINYORT_DISABLE="cudaa")
    suite.expect(2, "no provider 'cudaa'", "providers", TINYORT_DISABLE="cpu,cudaa")
    suite.expect(0, "DISABLED", "providers", "--ep", "cuda", **NO_CUDA)


def test_pins(suite, folder):
    plan = ("plan", DIGITS, "--ep", "cuda,cpu", "--target", "cuda:sm_86")
    suite.expect(2, "conv9", *plan, "--pin", "conv9=cpu")
    suite.expect(2, "runs on no provider", *plan, "--pin", "flatten=cpu")
    suite.expect(2, "is pinned to cpu already", *plan, "--pin", "conv1=cpu", "--pin", "#0=cuda")


def test_files(suite, folder):
    suite.expect(3, "did you mean 'models/digits.onnx'?", "run", "models/digitz.onnx", "--random", "1")
    suite.expect(3, "", "run", "LICENSE", "--random", "1")
    suite.expect(3, "is a folder", "plan", "models")
    suite.expect(3, "did you mean 'models/pictures/7.png'?", "run", DIGITS, "--input", "models/pictures/77.png")
    (folder / "o").write_text("x")
    lonely = suite.run("plan", folder / "-")
    suite.check(lonely.status == 3 and "did you mean" not in lonely.err, f"a name of one letter is no hint: {lonely.err}")


def test_pictures_that_are_none(suite, folder):
    run = ("run", DIGITS, "--input")
    (folder / "text.png").write_text("Hello, this is text.")
    suite.expect(3, ["text.png", "neither a PNG nor a JPEG", "'Hell'"], *run, folder / "text.png")
    (folder / "no.jpg").write_bytes(b"this is not a picture")
    suite.expect(3, "no.jpg", *run, folder / "no.jpg")
    (folder / "nothing.png").write_bytes(b"")
    suite.expect(3, "nothing.png is empty", *run, folder / "nothing.png")
    picture = open(SEVEN, "rb").read()
    (folder / "broken.png").write_bytes(picture[:60])
    suite.expect(3, "broken.png", *run, folder / "broken.png")
    (folder / "png.jpg").write_bytes(picture)
    suite.expect(0, "placement", *run, folder / "png.jpg")


def test_inputs(suite, folder):
    suite.expect(2, ["'image'", "--random 1"], "run", DIGITS)
    suite.expect(2, "did you mean 'image'?", "run", DIGITS, "--input", "imag=" + SEVEN)
    suite.expect(2, "only 1 input", "run", DIGITS, "--input", SEVEN, "--input", SEVEN)
    suite.expect(2, "does not fit", "run", DIGITS, "--random", "1", "--shape", "image=1x1x9x8")
    suite.expect(3, "--resize 8x8", "run", DIGITS, "--input", SEVEN, "--resize", "16x16")
    suite.expect(3, "larger than the picture", "run", DIGITS, "--input", SEVEN, "--crop", "16")
    suite.expect(2, "--mean has 3 numbers", "run", DIGITS, "--input", SEVEN, "--mean", "1,2,3")
    suite.expect(2, "--labels: 10 names for rows of 20", "run", wide(folder), "--random", "1", "--top", "1", "--labels", "models/digits.labels.txt")


def wide(folder):
    identity_model(folder / "wide.onnx", TensorProto.FLOAT, [1, 20])
    return folder / "wide.onnx"


def test_what_firmware_lacks_has_a_cure(suite, folder):
    """The two ways of quantizing that it does not run: products whose scales are found while they run, and 4 bits."""
    save_model(folder / "dynamic.onnx", [helper.make_node("DynamicQuantizeMatMul", ["x", "w", "scale"], ["y"], domain="com.microsoft")], [floats("x", [2, 3])], [floats("y", [2, 4])],
               domains=["com.microsoft"], weights=[weight("w", np.zeros((3, 4), np.int8)), weight("scale", np.float32(0.01))])  # fmt: skip
    save_model(folder / "narrow.onnx", [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"])], [floats("x", [4])], [tensor("y", TensorProto.INT4, [4])],
               opset=21, weights=[weight("scale", np.float32(0.01)), helper.make_tensor("zero", TensorProto.INT4, [], [0])])  # fmt: skip
    for name, cure in (("dynamic", "onnxruntime.quantization.quantize_static"), ("narrow", "-> quantize activations to 8 bits")):
        suite.expect(4, [cure, "tinyort plan --ep firmware shows all"], "compile", folder / f"{name}.onnx", "-o", folder / name)
