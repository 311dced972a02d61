# The wheel where its users install it: in an environment of this Python, and on other systems, older and newer.
THOROUGH_TESTS += test-python-wheel

.PHONY: test-python-wheel
## Install the wheel for Python in fresh roots of Debian 11 (Python 3.9) and 13 (3.13), without numpy and compiler, and run a model.
test-python-wheel: wheel $(if $(NVCC),wheel-cuda)
	@.ci/setup.sh systems
	@tests/python_wheel/test.sh $(BUILD)/wheel/tinyort-*.whl $(BUILD)/wheel/roots $(WHEEL_VENV) $(if $(NVCC),$(BUILD)/wheel_cuda/tinyort_cuda-*.whl)

THOROUGH_TESTS += test-python-wheel-aarch64

.PHONY: test-python-wheel-aarch64
## Run a model with the wheel for aarch64, by Debian 13's Python of that architecture under qemu-aarch64.
test-python-wheel-aarch64: wheel-aarch64
	@.ci/setup.sh systems
	@tests/python_wheel/aarch64.sh $(AARCH64)/wheel/tinyort-*.whl $(BUILD)/wheel/roots/aarch64
