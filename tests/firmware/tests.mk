# Models as C for firmware: compiled here, and held to the bits of the provider firmware.
TESTS += test-firmware

.PHONY: test-firmware
## Test `tinyort compile`: strict compilers, bits of --ep firmware, symbols, refusals.
test-firmware: $(TINYORT)
	@$(VENV)/bin/python tests/firmware/run.py $(TINYORT)
	@$(VENV)/bin/python tests/firmware/bytes.py $(TINYORT)
