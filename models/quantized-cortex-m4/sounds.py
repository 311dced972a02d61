"""Trains sounds.onnx, a DS-CNN of 3,990 parameters that tells six sounds in noise by 49 frames of 10 bands, on sounds that are made here.

The sounds last a second at 16 kHz: noise alone, a tone, a tone that rises, one that falls, clicks, a tone that trembles. Frames, bands and layers are those of
MLPerf Tiny's keyword spotter, with fewer filters. `sounds(random, count)` needs numpy alone; training needs PyTorch with onnxscript. Seeded: the same machine gives the
same bytes.
"""

from pathlib import Path

import numpy as np
import onnx

RATE, FRAME, STEP, FRAMES, BANDS = 16000, 640, 320, 49, 10
KINDS = ("noise", "tone", "rising", "falling", "clicks", "trembling")


def filters():
    """Triangles, equally far apart in mel, as [bins, BANDS]."""
    edges = 700 * (10 ** (np.linspace(150, 2500, BANDS + 2) / 2595) - 1)
    at = np.arange(FRAME // 2 + 1) * RATE / FRAME
    up, down = (at - edges[:-2, None]) / np.diff(edges)[:-1, None], (edges[2:, None] - at) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(up, down)).T


def sound(random, kind):
    time = np.arange(RATE) / RATE
    slope = {"rising": 1.5, "falling": -1.5}.get(kind, 0) * random.uniform(0.6, 1)
    middle = random.uniform(500, 1600)
    frequency = middle * 2 ** (slope * (time - 0.5) + (0.25 * np.sin(2 * np.pi * random.uniform(4, 9) * time) if kind == "trembling" else 0))
    wave = np.sin(2 * np.pi * np.cumsum(frequency) / RATE)
    if kind == "clicks":
        wave = 2 * random.standard_normal(RATE) * np.exp(-60 * (time * random.uniform(3, 8) % 1))
    return wave * (kind != "noise") * random.uniform(0.2, 0.6) + random.uniform(0.2, 0.5) * random.standard_normal(RATE)


def sounds(random, count):
    """Features [count, 1, FRAMES, BANDS], and the kinds."""
    kinds, weights, window = random.integers(len(KINDS), size=count), filters(), np.hanning(FRAME)
    places = STEP * np.arange(FRAMES)[:, None] + np.arange(FRAME)
    features = [np.log10(np.abs(np.fft.rfft(sound(random, KINDS[kind])[places] * window)) ** 2 @ weights) - 2 for kind in kinds]
    return np.array(features, np.float32)[:, None], kinds


def save_bare(model, path):
    """Saves a model without what PyTorch notes about the source of each node: files and lines of one machine."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        del part.metadata_props[:]
    onnx.save(model, path)


def train():
    import torch
    from torch.nn import AdaptiveAvgPool2d, BatchNorm2d, Conv2d, Flatten, Linear, ReLU, Sequential, Softmax, ZeroPad2d

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [ZeroPad2d((1, 1, 4, 5)), Conv2d(1, 24, (10, 4), 2), BatchNorm2d(24), ReLU()]
    for _ in range(3):
        layers += [Conv2d(24, 24, 3, padding=1, groups=24), BatchNorm2d(24), ReLU(), Conv2d(24, 24, 1), BatchNorm2d(24), ReLU()]
    net = Sequential(*layers, AdaptiveAvgPool2d(1), Flatten(), Linear(24, len(KINDS)))
    features, kinds = map(torch.from_numpy, sounds(np.random.default_rng(1), 4000))
    rounds, batch = 15, 50
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds * len(kinds) // batch)
    for _ in range(rounds):
        for chosen in torch.randperm(len(kinds)).split(batch):
            loss = torch.nn.functional.cross_entropy(net(features[chosen]), kinds[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    net = Sequential(*net, Softmax(1)).eval()
    path = Path(__file__).with_name("sounds.onnx")
    torch.onnx.export(net, (features[:1],), path, dynamo=True, external_data=False, input_names=["bands"], output_names=["kinds"])
    save_bare(onnx.load(path), path)
    print(f"{sum(p.numel() for p in net.parameters())} parameters")


if __name__ == "__main__":
    train()
