"""Trains a network of 2,947 parameters that tells three gestures by an accelerometer, and exports it: gesture.onnx, and samples.npy for its ranges."""

import numpy as np
import onnx
import torch
from gestures import gestures

torch.manual_seed(0)
torch.set_num_threads(1)
random = np.random.default_rng(0)

net = torch.nn.Sequential(
    torch.nn.Conv1d(3, 16, 5, padding=2), torch.nn.ReLU(), torch.nn.MaxPool1d(2),
    torch.nn.Conv1d(16, 32, 5, padding=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool1d(1),
    torch.nn.Flatten(), torch.nn.Linear(32, 3), torch.nn.Softmax(1))
optimizer = torch.optim.Adam(net.parameters(), 0.01)
for _ in range(200):
    x, kind = map(torch.from_numpy, gestures(random, 64))
    loss = torch.nn.functional.nll_loss(torch.log(net(x) + 1e-9), kind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
x, kind = map(torch.from_numpy, gestures(random, 1000))
print(f"right: {(net.eval()(x).argmax(1) == kind).float().mean():.3f}")
torch.onnx.export(net, (x[:1],), "gesture.onnx", dynamo=True, external_data=False, input_names=["motion"])
np.save("samples.npy", gestures(random, 200)[0])

model = onnx.load("gesture.onnx")  # without what PyTorch notes about the source of each node: files and lines of one machine
for part in (model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer):
    del part.metadata_props[:]
onnx.save(model, "gesture.onnx")
