# The pages that say how an operator, a kernel, a provider and a command are added, followed in a copy of the tree.
ifneq ($(CUDASIM_CXX),)
TESTS += test-adding

.PHONY: test-adding
## Follow the pages on adding an operator with kernels (at most 8 files), a provider (4) and a command (6), in copies of the tree; build and try them.
test-adding:
	@$(VENV)/bin/python tests/adding/adding.py . $(BUILD)/tests/adding $(MAKE) -s -j$(shell nproc) CUDA=0 BUILD=build CC='$(CC)' VENV='$(abspath $(VENV))'
endif
