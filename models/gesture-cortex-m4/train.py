"""Trains a network of 3,235 parameters that tells three gestures by an accelerometer, on samples that are made here, and exports it: gesture.onnx, samples.raw."""

import math
import torch

torch.manual_seed(0)
torch.set_num_threads(1)

def gestures(count):
    """Accelerations along three axes, 64 samples: still, shaken, or moved in a circle."""
    time, kind = torch.arange(64) / 64, torch.randint(3, (count,))
    speed = torch.where(kind == 1, 8.0, 2.0)[:, None, None] * (0.8 + 0.4 * torch.rand(count, 1, 1))
    phase = torch.rand(count, 1, 1) + torch.where(kind == 2, 0.25, 0.0)[:, None, None] * torch.arange(3)[None, :, None]
    wave = torch.sin(2 * math.pi * (speed * time + phase)) * (kind > 0)[:, None, None]
    return wave + 0.3 * torch.randn(count, 3, 64), kind

net = torch.nn.Sequential(
    torch.nn.Conv1d(3, 16, 5, padding=2), torch.nn.ReLU(), torch.nn.MaxPool1d(2),
    torch.nn.Conv1d(16, 32, 5, padding=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool1d(1),
    torch.nn.Flatten(), torch.nn.Linear(32, 3), torch.nn.Softmax(1))
optimizer = torch.optim.Adam(net.parameters(), 0.01)
for _ in range(200):
    x, kind = gestures(64)
    loss = torch.nn.functional.nll_loss(torch.log(net(x) + 1e-9), kind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
x, kind = gestures(1000)
print(f"right: {(net.eval()(x).argmax(1) == kind).float().mean():.3f}")
torch.onnx.export(net, (x[:1],), "gesture.onnx", dynamo=True, external_data=False, input_names=["motion"])
x[:200].numpy().tofile("samples.raw")
