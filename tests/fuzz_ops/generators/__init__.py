"""The generators of all operators, a module a family: importing them fills maker.GENERATORS."""

import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
