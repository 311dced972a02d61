# Compiled models on emulated boards: three Cortex-M, a 32-bit RISC-V and a Cortex-A53. Not part of `make test`, because it needs
# cross compilers, emulators and some minutes; tests/firmware runs one model on the boards that it finds tools for.
#
# ONLY=digits,ds_cnn_fp32, BOARD=cortex-m4,riscv32 and OPTION=-O2 choose; BANDS=1 compiles with --bands, and compares with whole
# layers; FUNCTIONS=1 shows where instructions are spent, JSON=1 prints the table as JSON (with `make -s`).

EMBED := $(BUILD)/embed
EMBED_OPTIONS = $(if $(ONLY),--only $(ONLY)) $(if $(BOARD),--target $(BOARD)) $(if $(OPTION),--option=$(OPTION)) \
    $(if $(BANDS),--bands) $(if $(FUNCTIONS),--functions) $(if $(JSON),--json)

.PHONY: setup-embed
## Install the cross compilers, C libraries and emulators of test-embed.
setup-embed:
	@.ci/setup.sh embed

.PHONY: test-embed
## Run compiled models on emulated boards: results, code, memory, instructions. ONLY=MODEL,... BOARD=cortex-m4,... OPTION=-O2 BANDS=1 FUNCTIONS=1 JSON=1
test-embed: $(TINYORT) $(EMBED)/models/made setup-embed
	@CC='$(CC)' $(VENV)/bin/python tests/embed/run.py $(TINYORT) $(EMBED)/models $(EMBED)/work $(EMBED_OPTIONS)

.PHONY: test-embed-depthwise
## Tell what depthwise convolutions of 8 bits cost on emulated boards, by the number of channels, and that none costs much more than others.
test-embed-depthwise: $(TINYORT) setup-embed
	@CC='$(CC)' $(VENV)/bin/python tests/embed/depthwise.py $(TINYORT) $(EMBED)/depthwise

.PHONY: test-embed-features
## Tell what Fourier transforms, keyword spotters with their features and forests of trees take on an emulated Cortex-M4; results are those of the host.
test-embed-features: $(TINYORT) setup-embed
	@CC='$(CC)' $(VENV)/bin/python tests/embed/features.py $(TINYORT) $(EMBED)/features

$(EMBED)/models/made: tests/embed/models.py
	@$(VENV)/bin/python $< $(@D)
	@touch $@
