"""silero-vad: where somebody speaks in a sound, and the probability of each chunk."""

import torch
from client import main
from inputs import voice
from silero_vad import get_speech_timestamps, load_silero_vad

RATE = 16000


def prepare():
    """The state of the network goes from chunk to chunk."""
    model = load_silero_vad(onnx=True)
    sound = torch.from_numpy(voice(RATE, 12))

    def call():
        model.reset_states()
        words = get_speech_timestamps(sound, model, threshold=0.3, sampling_rate=RATE)
        model.reset_states()
        return words, model.audio_forward(sound, RATE).numpy()

    return call


main(prepare)
