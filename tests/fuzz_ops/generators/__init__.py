"""The generators of all operators, a module a family: importing them fills maker.GENERATORS."""

from . import elementwise, normalize, pooling, products, quantized, recurrent, reductions, shapes, signals, text  # noqa: F401
