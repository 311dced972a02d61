# Packages for others' tools (runtime/packages): Conan's, Buildroot's, a container. Each takes minutes.
THOROUGH_TESTS += test-conan test-buildroot test-container

CONAN_VENV ?= $(BUILD)/conan_venv
BUILDROOT ?=

.PHONY: test-conan test-buildroot test-container
## Make Conan's package of both libraries; its test recognizes a digit.
test-conan:
	@.ci/setup.sh build pictures regex cmake conan=$(CONAN_VENV)
	@sh tests/packages/conan.sh $(BUILD)/tests/conan $(CONAN_VENV)/bin/conan

## Run the commands of Buildroot's package for aarch64, and what they install under qemu; with BUILDROOT=DIR, its checker too.
test-buildroot:
	@.ci/setup.sh aarch64-linux-gnu sources=build/sources
	@CCACHE="$(CCACHE)" MAKE="$(MAKE)" sh tests/packages/buildroot.sh $(BUILD)/tests/buildroot "$(BUILDROOT)" $(VENV)/bin/python

## Build the container by buildah, and recognize a digit in it.
test-container:
	@.ci/setup.sh container || echo "no buildah: no container is built"
	@sh tests/packages/container.sh $(BUILD)/tests/container
