"""Maps a session over a data set with Ray Data (pip install "ray[data]"): pictures in, digits out.

    python ray_data.py models/digits.onnx

Each of two actors opens one session, with one thread, and runs batches of 64 pictures.
"""

import sys

import numpy as np
import ray

import tinyort


class Recognize:
    """What map_batches makes once in each actor, and calls for each batch."""

    def __init__(self, model):
        self.session = tinyort.InferenceSession(model, chain="cpu:threads=1")

    def __call__(self, batch):
        (probabilities,) = self.session.run(["probabilities"], {"image": batch["image"]})
        return {"at": batch["at"], "digit": probabilities.argmax(1), "probability": probabilities.max(1)}


def pictures(count):
    """Pictures of 8x8 pixels at random."""
    return np.random.default_rng(0).random((count, 1, 8, 8), np.float32)


def recognize(model, images):
    """A row for each picture, in their order."""
    data = ray.data.from_items([{"at": at, "image": image} for at, image in enumerate(images)])
    rows = data.map_batches(Recognize, fn_constructor_args=(model,), batch_size=64,
                            compute=ray.data.ActorPoolStrategy(size=2))  # fmt: skip
    return sorted(rows.take_all(), key=lambda row: row["at"])


if __name__ == "__main__":
    for found in recognize(sys.argv[1], pictures(1000))[:10]:
        print(f"picture {found['at']}: {found['digit']}, {found['probability']:.0%}")
