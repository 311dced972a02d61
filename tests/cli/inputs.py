"""Inputs that are files: arrays, archives, pictures."""

import io
import os
import struct
import subprocess
import zipfile
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from suite import DIGITS, SECONDS, case_folder, floats, identity_model, save_model, tensor


def test_inputs_with_a_default(suite, folder):
    """An initializer that is an input too: the default, until the input is named."""
    model = folder / "m.onnx"
    two = numpy_helper.from_array(np.array([2, 2, 2], np.float32), "scale")
    save_model(model, [helper.make_node("Mul", ["x", "scale"], ["y"])], [floats("x", [3]), floats("scale", ["n"])], [floats("y", [3])], weights=[two])
    for name, values in (("x", [1, 2, 3]), ("five", [5, 5, 5]), ("long", [7, 7])):
        np.save(folder / f"{name}.npy", np.array(values, np.float32))

    def result(*more):
        suite.expect(0, "placement", "run", model, "--input", f"x={folder / 'x.npy'}", "--save", folder, *more)
        return np.load(folder / "output_0.npy").tolist()

    suite.check(result() == [2, 4, 6], "the default")
    suite.check(result("--input", f"scale={folder / 'five.npy'}") == [5, 10, 15], "another value")
    suite.check(all(0 <= value <= 3 for value in result("--shape", "scale=3", "--random", "scale=0..1")), "random values")
    suite.expect(3, "do not broadcast", "run", model, "--input", f"x={folder / 'x.npy'}", "--input", f"scale={folder / 'long.npy'}")
    suite.expect(2, "did you mean 'scale'", "run", model, "--input", f"x={folder / 'x.npy'}", "--input", f"scale={folder / 'x.npy'}", "--input", f"scal={folder / 'x.npy'}")
    np.savez(folder / "both.npz", x=np.ones(3, np.float32), scale=np.ones(3, np.float32))
    suite.expect(3, "'scale' has a default", "run", model, "--input", folder / "both.npz")
    told = suite.expect(0, ["inputs with a default", "scale  float  3"], "inspect", model)
    inspected = suite.expect(0, "", "inspect", model, "--json").json()
    suite.check([port["name"] for port in inspected["optional_inputs"]] == ["scale"] and [port["name"] for port in inspected["inputs"]] == ["x"], told.out)
    suite.check("scale" not in suite.expect(0, "outputs", "inspect", DIGITS).out, "no weight is an input")


def test_input_files(suite, folder):
    model, array = folder / "m.onnx", np.arange(6, dtype=np.float32).reshape(2, 3)
    identity_model(model, TensorProto.FLOAT, ["n", 3])
    np.save(folder / "x.npy", array)
    np.savez(folder / "stored.npz", x=array)
    np.savez_compressed(folder / "packed.npz", other=array)
    (folder / "x.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    (folder / "x.raw").write_bytes(array.tobytes())
    for name, more in (("x.npy", ()), ("stored.npz", ()), ("packed.npz", ()), ("x.pb", ()), ("x.raw", ("--shape", "x=2x3"))):
        for prefix in ("", "x="):
            suite.expect(0, "y", "run", model, "--input", f"{prefix}{folder / name}", "--save", folder / "out", *more)
            suite.check(np.array_equal(np.load(folder / "out" / "output_0.npy"), array), f"{prefix}{name} arrives as it is")
            (folder / "out" / "output_0.npy").unlink()
    suite.expect(0, "input 'x' is taken from array 'other' of", "run", model, "--input", folder / "packed.npz")
    np.savez(folder / "nameless.npz", array)
    suite.check("is taken from" not in suite.expect(0, "placement", "run", model, "--input", folder / "nameless.npz").err, "arr_0 is not a name")
    suite.expect(2, "--shape x=1x3", "run", model, "--input", folder / "x.raw")
    suite.expect(3, "24 bytes", "run", model, "--input", folder / "x.raw", "--shape", "x=3x3")
    np.save(folder / "double.npy", array.astype(np.float64))
    suite.expect(3, ["double", "wants float"], "run", model, "--input", folder / "double.npy")
    np.save(folder / "long.npy", np.zeros((2, 4), np.float32))
    suite.expect(3, ["2x4", "n x 3"], "run", model, "--input", folder / "long.npy")
    np.savez(folder / "two.npz", x=array, z=array)
    suite.expect(3, "no input 'z'", "run", model, "--input", folder / "two.npz")
    suite.expect(2, "given twice", "run", model, "--input", f"x={folder / 'x.npy'}", "--input", f"x={folder / 'x.npy'}")
    suite.expect(2, "an input is a .npy", "run", model, "--input", "LICENSE")
    bytes_ = (folder / "stored.npz").read_bytes()
    for length in range(0, len(bytes_), 7):
        (folder / "cut.npz").write_bytes(bytes_[:length])
        suite.expect(3, "cut.npz", "run", model, "--input", folder / "cut.npz")
    with zipfile.ZipFile(folder / "text.npz", "w") as archive:
        archive.writestr("x.npy", "no array")
    suite.expect(3, "text.npz", "run", model, "--input", folder / "text.npz")


def two_inputs(path, first="x", second="i"):
    """Gather: a float input, and indices into it."""
    save_model(path, [helper.make_node("Gather", [first, second], ["y"])], [floats(first, ["n"]), tensor(second, TensorProto.INT64, ["k"])], [floats("y", ["k"])])


def save_pb(path, array):
    path.write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())


VALUES, PICKED = np.array([5, 6, 7], np.float32), np.array([2, 0])


def test_folders(suite, folder):
    """Of test data in the model's order, or of files with the names of inputs."""
    model, data = folder / "m.onnx", folder / "data"
    case_folder(folder / "case", two_inputs, [VALUES, PICKED], [VALUES[PICKED]])
    two_inputs(model)

    def check(what, *more, path=data):
        suite.expect(0, "placement", "run", model, "--input", path, "--save", folder / "out", *more)
        suite.check(np.load(folder / "out" / "output_0.npy").tolist() == [7, 5], what)

    check("test data", path=folder / "case" / "test_data_set_0")
    check("with an end of its own", path=f"{folder / 'case' / 'test_data_set_0'}/")
    suite.expect(3, f"did you mean '{folder / 'case' / 'test_data_set_0'}'?", "run", model, "--input", folder / "case")
    data.mkdir()
    suite.expect(3, ["has neither input_0.pb nor x.npy (or .pb .raw .npz .png .jpg)", "nor a file of another input"], "run", model, "--input", data)
    (data / "README").write_text("nothing")
    np.save(data / "y.npy", VALUES)
    suite.expect(3, "has neither input_0.pb", "run", model, "--input", data)
    np.save(data / "x.npy", VALUES)
    suite.expect(2, "input 'i' (int64 k) is not given", "run", model, "--input", data)
    suite.expect(0, "placement", "run", model, "--input", data, "--random", "i=0..2", "--shape", "i=2")
    np.save(folder / "given.npy", PICKED)
    check("the rest by name", "--input", f"i={folder / 'given.npy'}")
    np.savez(data / "i.npz", i=PICKED)
    check(".npy and .npz")
    suite.expect(0, "no node differs", "compare", model, "--input", data, "--ep", "cpu", "--ep", "cpu:isa=plain")
    suite.check(suite.run("bench", model, "--input", data, "--repeat", "2", "--json").json()["runs"] == 2, "bench")
    suite.expect(2, "input 'i' is given twice", "run", model, "--input", data, "--input", f"i={folder / 'given.npy'}")
    suite.expect(3, "is a folder, not a file", "run", model, "--input", f"x={data}")
    save_pb(data / "input_1.pb", PICKED)
    suite.expect(3, ["input 'i' has two files", "input_1.pb", "i.npz"], "run", model, "--input", data)
    (data / "i.npz").unlink()
    check("by number and by name")
    (data / "x.npy").unlink()
    (data / "x.raw").write_bytes(VALUES.tobytes())
    check(".raw", "--shape", "x=3")
    save_pb(data / "input_2.pb", PICKED)
    suite.expect(3, "there is input_2.pb, and the model has only 2 inputs", "run", model, "--input", data)
    suite.expect(2, "pictures", "run", model, "--input", folder / "case" / "test_data_set_0", "--bgr")
    (data / "input_2.pb").unlink()
    (data / "x.raw").unlink()
    os.mkfifo(data / "x.npy")
    suite.expect(3, "is not a regular file", "run", model, "--input", data)
    (data / "x.npy").unlink()
    os.symlink("nothing", data / "x.npy")
    suite.expect(3, "x.npy", "bench", model, "--input", data)


def test_names_in_folders(suite, folder):
    """Names that are no names of files, or those of other inputs; none leads out of the folder."""
    model, data = folder / "m.onnx", folder / "data"
    data.mkdir()
    run = ("run", model, "--input", data)
    np.save(folder / "out.npy", VALUES)
    two_inputs(model, "../out", "i")
    np.save(data / "i.npy", PICKED)
    suite.expect(2, "input '../out' (float n) is not given", *run)
    np.save(data / "_._out.npy", VALUES)
    suite.expect(0, "placement", *run)
    two_inputs(model, "in:0", "i")
    np.save(data / "in:0.npy", VALUES)
    suite.expect(0, "placement", *run)
    os.rename(data / "in:0.npy", data / "in_0.npy")
    suite.expect(0, "placement", *run)
    np.save(data / "in:0.npy", VALUES)
    suite.expect(3, "input 'in:0' has two files", *run)
    two_inputs(model, "in_0", "in/0")
    suite.expect(3, ["in_0.npy may be input 'in_0' or 'in/0'"], *run)
    two_inputs(model, "input_1", "input_0")
    save_pb(data / "input_0.pb", VALUES)
    save_pb(data / "input_1.pb", PICKED)
    suite.expect(0, "placement", *run)
    save_model(model, [helper.make_node("Constant", [], ["y"], value_floats=[1.0])], [], [floats("y", [1])])
    suite.expect(3, "the model has only 0 inputs", *run)


def test_sequences_in_folders(suite, folder):
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    save_model(folder / "m.onnx", [helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)], [sequence], [floats("y", None)])
    (folder / "input_0.pb").write_bytes(numpy_helper.from_list([VALUES, VALUES]).SerializeToString())
    suite.expect(0, "6", "run", folder / "m.onnx", "--input", folder)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_standard_input(suite, folder):
    model = folder / "m.onnx"
    two_inputs(model)
    np.save(folder / "i.npy", PICKED)
    for given in ("-", "x=-"):
        suite.expect(0, "placement", "run", model, "--input", given, "--input", f"i={folder / 'i.npy'}", "--save", folder, given=npy(VALUES))
        suite.check(np.load(folder / "output_0.npy").tolist() == [7, 5], f"--input {given}")
    large = np.arange(300_000, dtype=np.float32)
    suite.expect(0, "placement", "run", model, "--input", "-", "--input", f"i={folder / 'i.npy'}", "--save", folder, given=npy(large))
    suite.check(np.load(folder / "output_0.npy").tolist() == [2, 0], "more than one read")
    suite.expect(2, "standard input ('-') can be one input, not two", "run", model, "--input", "x=-", "--input", "i=-", given=npy(VALUES))
    run = ("run", model, "--input", "-", "--random", "1")
    suite.expect(3, "standard input is no .npy file (0 bytes are read)", *run, given=b"")
    suite.expect(3, "standard input is no .npy file", *run, given=b"\x93NUMP")
    suite.expect(3, "standard input is no .npy file", *run, given=(folder / "m.onnx").read_bytes())
    suite.expect(3, "standard input is double, and input 'x' wants float", *run, given=npy(VALUES.astype(np.float64)))
    suite.expect(3, "standard input is 1x3, and input 'x' wants n", *run, given=npy(VALUES[None]))
    for length in range(0, len(npy(VALUES)), 9):
        suite.expect(3, "standard input", *run, given=npy(VALUES)[:length])
    with open("/dev/zero", "rb") as endless:
        told = subprocess.run([suite.tinyort, *run], stdin=endless, capture_output=True, text=True, timeout=SECONDS)
    suite.check(told.returncode == 3 and "no .npy file" in told.stderr, f"refused when it begins: {told.stderr}")
    suite.expect(3, f"more than the {(1 << 20) + 6 * 16} bytes", "run", model, "--shape", "x=6", "--input", "-", "--random", "1", given=npy(VALUES) + bytes(2 << 20))


def test_standard_input_and_sizes(suite, folder):
    """It is there once, and sizes of another input are tried more than once."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Mul", ["c", "s"], ["y"])]
    weights = [numpy_helper.from_array(np.ones((1, 1, 5, 5), np.float32), "w")]
    save_model(folder / "m.onnx", nodes, [floats("s", [1]), floats("x", [1, 1, "h", "w"])], [floats("y", None)], weights=weights)
    told = suite.expect(0, "sizes were made up", "run", folder / "m.onnx", "--input", "s=-", "--random", "1", "--save", folder, given=npy(np.zeros(1, np.float32)))
    suite.check((np.load(folder / "output_0.npy") == 0).all() and told.err.count("taken as") == 1, told.err)


def write_png(path, pixels):
    """An 8-bit RGB picture, written with the standard library alone."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def picture_tensor(suite, folder, model, *options):
    suite.expect(0, "y", "run", model, "--input", folder / "p.png", "--save", folder / "picture", *options)
    return np.load(folder / "picture" / "output_0.npy")


def test_channels_that_are_last(suite, folder):
    np.save(folder / "nhwc.npy", np.zeros((1, 8, 8, 1), np.float32))
    suite.expect(3, ["is 1x8x8x1", "channels seem to be last; transpose it to 1x1x8x8"], "run", DIGITS, "--input", folder / "nhwc.npy")
    np.save(folder / "odd.npy", np.zeros((1, 7, 8, 1), np.float32))
    result = suite.expect(3, "is 1x7x8x1", "run", DIGITS, "--input", folder / "odd.npy")
    suite.check("transpose" not in result.err, "what does not fit the other way round gets no such hint")


def test_pictures(suite, folder):
    pixels = np.random.default_rng(1).integers(0, 256, (6, 8, 3), np.uint8)
    write_png(folder / "p.png", pixels)
    nchw, nhwc, bytes_model = folder / "nchw.onnx", folder / "nhwc.onnx", folder / "bytes.onnx"
    identity_model(nchw, TensorProto.FLOAT, [1, 3, "h", "w"])
    identity_model(nhwc, TensorProto.FLOAT, ["n", "h", "w", 3])
    identity_model(bytes_model, TensorProto.UINT8, [1, 3, "h", "w"])
    unit = pixels.astype(np.float32) / np.float32(255)
    same = lambda found, wanted: found.shape == wanted.shape and np.allclose(found, wanted, atol=1e-6)
    suite.check(same(picture_tensor(suite, folder, nchw), unit.transpose(2, 0, 1)[None]), "NCHW")
    suite.check(same(picture_tensor(suite, folder, nhwc), unit[None]), "NHWC, told from the shape")
    suite.check(same(picture_tensor(suite, folder, nchw, "--bgr"), unit[..., ::-1].transpose(2, 0, 1)[None]), "BGR")
    suite.check(np.array_equal(picture_tensor(suite, folder, bytes_model), pixels.transpose(2, 0, 1)[None]), "uint8")
    levels = pixels.astype(np.float32).transpose(2, 0, 1)[None]
    suite.check(same(picture_tensor(suite, folder, nchw, "--scale", "1"), levels), "--scale")
    mean, std = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
    normal = ((unit - mean) / std).transpose(2, 0, 1)[None]
    found = picture_tensor(suite, folder, nchw, "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225")
    suite.check(np.allclose(found, normal, atol=1e-5), "--mean and --std")
    found = picture_tensor(suite, folder, nchw, "--crop", "4x2")
    suite.check(same(found, unit[2:4, 2:6].transpose(2, 0, 1)[None]), "--crop takes the middle")
    found = picture_tensor(suite, folder, nchw, "--resize", "3")
    suite.check(found.shape == (1, 3, 3, 4), "--resize of the shorter side keeps the proportions")
    flat = np.full((6, 8, 3), 77, np.uint8)
    write_png(folder / "p.png", flat)
    found = picture_tensor(suite, folder, nchw, "--resize", "5x13", "--scale", "1")
    suite.check(found.shape == (1, 3, 13, 5) and (found == 77).all(), "an even colour stays what it is")


def test_sizes_beyond_64_bits(suite, folder):
    """What a file asks for is never a bug of ours: the error is the input's, at its node."""
    huge = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2**62, 2])
    nodes = [helper.make_node("Size", ["x"], ["s"]), helper.make_node("Add", ["s", "s"], ["y"], name="twice")]
    save_model(folder / "m.onnx", nodes, [huge], [helper.make_tensor_value_info("y", TensorProto.INT64, [])])
    suite.expect(3, ['node 1 "twice" (Add-14)', "do not fit 64 bits"], "plan", folder / "m.onnx")
    suite.expect(3, "do not fit 64 bits", "plan", folder / "m.onnx", "--json")


def test_inputs_that_are_no_files(suite, folder):
    """Not waited for, as a pipe would be, nor read without end, as a device would be; nor are files larger than any such input."""
    model, most = folder / "m.onnx", {"npy": 8 << 30, "pb": 8 << 30, "npz": 1 << 30, "png": 512 << 20, "jpg": 512 << 20, "raw": 24, "txt": 64 << 20}
    identity_model(model, TensorProto.FLOAT, [1, 3, 1, 2])
    for ending, size in most.items():
        pipe, device, large = (folder / f"{name}.{ending}" for name in ("pipe", "device", "large"))
        os.mkfifo(pipe)
        os.symlink("/dev/zero", device)
        with open(large, "wb") as file:
            file.truncate(size + 1)
        given = ("run", DIGITS, "--random", "1", "--top", "1", "--labels") if ending == "txt" else ("run", model, "--input")
        for path in (pipe, device):
            suite.expect(3, "is not a regular file", *given, path)
        suite.expect(3, f"{size + 1} bytes", *given, large)
    os.mkfifo(folder / "a=b.npy")
    suite.expect(3, "is not a regular file", "run", model, "--input", folder / "a=b.npy")
    for command in (("inspect", folder / "pipe.npy"), ("run", "--plan", folder / "pipe.npy"), ("run", "--plan", "/dev/zero")):
        suite.expect(3, "is not a regular file", *command)


def write_archive(path, entries):
    """A zip of deflated entries (name, packed bytes, unpacked size), whatever they claim; without bytes it is that of the entry before."""
    body, directory, at, packed = b"", b"", 0, b""
    for name, given, size in entries:
        packed = given or packed
        facts = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, 0, len(packed), size, len(name), 0)
        if given:
            at = len(body)
            body += b"PK\3\4" + facts + name + packed
        directory += b"PK\1\2\x14\0" + facts + struct.pack("<HHHII", 0, 0, 0, 0, at) + name
    end = struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), len(body), 0)
    path.write_bytes(body + directory + b"PK\5\6" + end)


def test_archives_that_unpack_to_too_much(suite, folder):
    """Refused by their directory, before anything is unpacked."""
    identity_model(folder / "m.onnx", TensorProto.FLOAT, [2])
    array = io.BytesIO()
    np.save(array, np.array([1, 2], np.float32))
    packer = zlib.compressobj(wbits=-15)
    entry = packer.compress(array.getvalue()) + packer.flush(), len(array.getvalue())
    run = ("run", folder / "m.onnx", "--input", folder / "a.npz")
    write_archive(folder / "a.npz", [(b"x.npy", *entry)])
    suite.expect(0, "placement", *run)
    write_archive(folder / "a.npz", [(b"x.npy", *entry), (b"y.npy", None, entry[1])])
    suite.expect(3, "entries of the archive overlap", *run)
    write_archive(folder / "a.npz", [(b"x.npy", *entry)] + 1000 * [(b"y.npy", None, entry[1])])
    suite.expect(3, "entries of the archive overlap", *run)
    half = bytes((1 << 29) // 1032 + 1)
    write_archive(folder / "a.npz", [(b"x.npy", half, 1 << 29), (b"y.npy", half, (1 << 29) + 1)])
    suite.expect(3, f"unpacked it has {(1 << 30) + 1} bytes, and at most {1 << 30} are read", *run)
