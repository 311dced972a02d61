"""The generators of all operators, a module a family: importing them fills maker.GENERATORS."""

from . import control, elementwise, normalize, pooling, products, quantized, recurrent, reductions, sequences, shapes, signals, text, training  # noqa: F401
from . import microsoft_float, microsoft_small  # noqa: F401
from . import maps, ml  # noqa: F401
from . import control, elementwise, normalize, pooling, products, quantized, recurrent, reductions, sequences, shapes, signals, text, trees  # noqa: F401
from . import control, elementwise, files, normalize, pooling, products, quantized, recurrent, reductions, sequences, shapes, signals, text, training  # noqa: F401
from . import control, elementwise, microsoft_attention, normalize, pooling, products, quantized, recurrent, reductions, sequences, shapes, signals, text, training  # noqa: F401
from . import control, elementwise, microsoft_quantized, normalize, pooling, products, quantized, recurrent, reductions, sequences, shapes, signals, text  # noqa: F401
import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
from . import microsoft_attention  # noqa: F401
from . import microsoft_float  # noqa: F401
