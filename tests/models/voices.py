"""The voice detectors of the PyPI package silero-vad, run by its own clients: once with onnxruntime's session, as the package
makes it, and once with one of tinyort in its place. State goes from chunk to chunk, so a difference would grow.

    voices.py --library build/libtinyort.so [--ep CHAIN] [--seconds N]
"""

import argparse
import pathlib
import sys
import warnings

import numpy
import onnxruntime
import silero_vad
import torch
from session import Session
from silero_vad.sequence_vad import SileroVADSequence
from silero_vad.utils_vad import OnnxWrapper, get_speech_timestamps

DATA = pathlib.Path(silero_vad.__file__).parent / "data"
RATES = {"silero_vad.onnx": [8000, 16000], "silero_vad_op18_ifless.onnx": [8000, 16000], "silero_vad_16k_op15.onnx": [16000],
         "silero_vad_half.onnx": [16000], "silero_vad_openvino_16k.onnx": [16000], "silero_vad_16k_sequence.onnx": [16000]}
ONE_VOICE = ["silero_vad_openvino_16k.onnx", "silero_vad_16k_sequence.onnx"]  # a batch of one alone
TOLERANCE = 1e-4


def speech(rate, seconds, seed=0):
    """Vowels of a voice that glides, in words of half a second with pauses, and noise below: float32 in -1..1."""
    random = numpy.random.default_rng(seed)
    time = numpy.arange(int(rate * seconds)) / rate
    pitch = 2 * numpy.pi * numpy.cumsum(120 + 30 * numpy.sin(2 * numpy.pi * 0.7 * time)) / rate
    formants = [(700 + 200 * numpy.sin(2 * numpy.pi * 1.3 * time), 120), (1200 + 500 * numpy.sin(2 * numpy.pi * 0.9 * time), 150), (2500, 200)]
    voice = numpy.zeros_like(time)
    for harmonic in range(1, int(rate / 2 / 160)):
        gain = sum(numpy.exp(-(((harmonic * 120 - centre) / width) ** 2)) for centre, width in formants)
        voice += (0.05 / harmonic + gain) * numpy.sin(harmonic * pitch)
    words = numpy.clip(4 * numpy.sin(2 * numpy.pi * 0.8 * time), 0, 1) * (time % 3 < 2.2)
    return (0.8 * voice * words / numpy.abs(voice).max() + 0.002 * random.normal(size=time.size)).astype(numpy.float32)


def probabilities(client, audio, rate):
    """Of each chunk; the state starts anew."""
    if isinstance(client, SileroVADSequence):
        return client.audio_forward(audio, sampling_rate=rate, max_frames=50)
    client.reset_states()
    return client.audio_forward(torch.from_numpy(audio), rate).numpy()


def words_of(client, audio, rate):
    return [] if isinstance(client, SileroVADSequence) else get_speech_timestamps(torch.from_numpy(audio), client, threshold=0.2, sampling_rate=rate)


class WithoutRate:
    """The files for one rate alone do not take it, though the client gives it."""

    def __init__(self, session):
        self.session = session

    def run(self, names, feeds):
        return self.session.run(names, {name: value for name, value in feeds.items() if name != "sr"})


def differences(path, rate, options):
    """What the two disagree on, and what was compared."""
    kind = SileroVADSequence if "sequence" in path.name else OnnxWrapper
    theirs, ours = kind(str(path)), kind(str(path))
    ours.session = session = Session(path, options.ep, options.library)
    if kind is OnnxWrapper and "sr" not in session.inputs:
        theirs.session, ours.session = WithoutRate(theirs.session), WithoutRate(session)
    audio = speech(rate, options.seconds)
    inputs = [audio] if path.name in ONE_VOICE else [audio, numpy.stack([audio, audio[::-1], 0.1 * audio])]
    problems, spans = [], []
    for samples in inputs:
        want, got = probabilities(theirs, samples.copy(), rate), probabilities(ours, samples.copy(), rate)
        spans.append(f"{want.size} chunks {want.min():.3f}..{want.max():.3f}")
        worst = numpy.abs(got - want).max() if got.shape == want.shape else numpy.inf
        problems += [f"probabilities differ by {worst:.3g}"] * (not worst <= TOLERANCE)
    words = words_of(theirs, audio, rate)
    problems += ["other words are found"] * (words != words_of(ours, audio, rate))
    session.close()
    return problems, f"{', '.join(spans)}; {len(words)} words"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default="build/libtinyort.so")
    parser.add_argument("--ep", default="cpu")
    parser.add_argument("--seconds", type=float, default=6)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    onnxruntime.set_default_logger_severity(3)
    passed = failed = 0
    for path, rate in ((DATA / name, rate) for name, rates in RATES.items() for rate in rates):
        problems, compared = differences(path, rate, options)
        passed, failed = passed + (not problems), failed + bool(problems)
        print(f"{'FAIL' if problems else 'PASS'} {path.name} at {rate} Hz: {'; '.join(problems) or compared}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
