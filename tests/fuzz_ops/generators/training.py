"""One step of an optimizer, over one tensor or several."""

from maker import Node, ops
from onnx import TensorProto

TRAINING = "ai.onnx.preview.training"


def optimized(m, states, **attributes):
    """The learning rate, the steps before, tensors, their gradients and states; what is squared is not negative."""
    number, tensors = m.pick(TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.DOUBLE), m.number(1, 3)
    shapes = [m.shape(0, 4) for _ in range(tensors)]
    rate = m.scalar(m.pick(0.1, 0.5, 1.0, 0.001), m.pick(TensorProto.FLOAT, TensorProto.DOUBLE))
    steps = m.scalar(m.pick(0, 0, 1, 2, 10, 100000), TensorProto.INT64)
    groups = [[m.tensor(number, shape, values) for shape in shapes] for values in ("usual", "usual", *states)]
    given = {name: value for name, value in attributes.items() if value is not None}
    return Node([rate, steps, *sum(groups, [])], given, outputs=tensors * (1 + len(states)))


def coefficient(m):
    return m.pick(0.0, 0.01, 0.5) if m.chance(0.6) else None


@ops("Adagrad", domain=TRAINING)
def adagrad(m):
    return optimized(m, ["positive"], norm_coefficient=coefficient(m), decay_factor=coefficient(m), epsilon=m.pick(1e-2, None))


@ops("Adam", domain=TRAINING)
def adam(m):
    return optimized(m, ["usual", "positive"], norm_coefficient=coefficient(m), norm_coefficient_post=coefficient(m),
                     alpha=m.pick(0.5, 0.95, None), beta=m.pick(0.1, 0.9, None), epsilon=m.pick(1e-2, None))


@ops("Momentum", domain=TRAINING)
def momentum(m):
    return optimized(m, ["usual"], norm_coefficient=m.pick(0.0, 0.1), alpha=m.pick(0.0, 0.9), beta=m.pick(0.5, 1.0),
                     mode=m.pick("standard", "nesterov"))
