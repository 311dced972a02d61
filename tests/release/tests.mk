# What make release publishes: the same bytes for each builder, and each file of use.
THOROUGH_TESTS += test-release

# One target with the loops of a processor, and one without: each is compiled twice, from nothing.
RELEASE_TESTED ?= x86_64-linux-musl riscv64-linux-gnu
.PHONY: test-release
## Make a release of the last commit in two folders: equal to the byte; unpack it and use what is in it. RELEASE_TESTED='TARGET...' chooses targets.
test-release:
	@MAKE="$(MAKE)" PYTHON="$(abspath $(VENV))/bin/python" sh tests/release/test.sh $(BUILD)/tests/release $(RELEASE_TESTED)
