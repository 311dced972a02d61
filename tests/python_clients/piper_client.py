"""piper-tts: text to speech, and the vowel signs of an Arabic text by the network of the package."""

import tempfile
from pathlib import Path

import piper_voice
from client import main
from piper import PiperVoice, SynthesisConfig
from piper.tashkeel import TashkeelDiacritizer

TEXT = "Every node tells where it runs. Nothing moves to another device unseen, and nothing is lost."
ARABIC = "ذهب الولد إلى المدرسة صباح اليوم"
NO_NOISE = SynthesisConfig(noise_scale=0, noise_w_scale=0)  # random numbers differ from runtime to runtime


def prepare():
    """The network runs once for each sentence."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "voice.onnx")
        piper_voice.write(path)
        voice = PiperVoice.load(path)
    diacritizer = TashkeelDiacritizer()

    def call():
        chunks = [(chunk.phonemes, chunk.audio_float_array) for chunk in voice.synthesize(TEXT, NO_NOISE)]
        return chunks, diacritizer.diacritize(ARABIC)

    return call


main(prepare)
