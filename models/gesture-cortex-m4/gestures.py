"""Gestures as an accelerometer sees them, made here: what train.py learns from, and what judges it."""

import numpy as np


def gestures(random, count):
    """Accelerations [count, 3, 64] along three axes, 64 samples each, and what they are: 0 still, 1 shaken, 2 moved in a circle."""
    time, kind = np.arange(64) / 64, random.integers(3, size=count)
    speed = np.where(kind == 1, 8.0, 2.0)[:, None, None] * random.uniform(0.8, 1.2, (count, 1, 1))
    phase = random.uniform(0, 1, (count, 1, 1)) + np.where(kind == 2, 0.25, 0.0)[:, None, None] * np.arange(3)[None, :, None]
    wave = np.sin(2 * np.pi * (speed * time + phase)) * (kind > 0)[:, None, None]
    return (wave + 0.3 * random.standard_normal((count, 3, 64))).astype(np.float32), kind
