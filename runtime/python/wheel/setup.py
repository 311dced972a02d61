"""Packs a wheel around the extension that make has built beside this file; pyproject.toml has all else."""

import sysconfig

from setuptools import Distribution, setup


class WithExtension(Distribution):
    def has_ext_modules(self):
        return True


free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
setup(distclass=WithExtension, options={} if free_threaded else {"bdist_wheel": {"py_limited_api": "cp39"}})
