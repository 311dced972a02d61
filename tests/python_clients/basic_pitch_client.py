"""basic-pitch: the notes of a melody."""

import tempfile
import wave
from pathlib import Path

import numpy as np
from basic_pitch import FilenameSuffix, build_icassp_2022_model_path
from basic_pitch.inference import Model, predict
from client import main
from inputs import melody

RATE = 22050


def recording(folder):
    """A file with the melody."""
    path = Path(folder, "melody.wav")
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((melody(RATE) * 16000).astype(np.int16).tobytes())
    return path


def prepare():
    """The ONNX file of the package, whichever frameworks are installed."""
    model = Model(build_icassp_2022_model_path(FilenameSuffix.onnx))
    folder = tempfile.TemporaryDirectory()
    path = recording(folder.name)

    def call(folder=folder):
        outputs, _, notes = predict(path, model)
        return outputs, sorted(note[:4] for note in notes)

    return call


main(prepare)
