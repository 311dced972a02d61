# Packages for others' tools (runtime/packages): Conan's. It takes minutes.
THOROUGH_TESTS += test-conan

CONAN_VENV ?= $(BUILD)/conan_venv

.PHONY: test-conan
## Make Conan's package of both libraries; its test recognizes a digit.
test-conan:
	@.ci/setup.sh build pictures regex cmake conan=$(CONAN_VENV)
	@sh tests/packages/conan.sh $(BUILD)/tests/conan $(CONAN_VENV)/bin/conan
