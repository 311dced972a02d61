# The pages that say how an operator and a kernel are added, followed in a copy of the tree.
ifneq ($(CUDASIM_CXX),)
TESTS += test-adding

.PHONY: test-adding
## Follow the pages on adding an operator and its kernels: in a copy of the tree, with at most 8 files; build and run it.
test-adding:
	@$(VENV)/bin/python tests/adding/adding.py . $(BUILD)/tests/adding $(MAKE) -s -j$(shell nproc) CUDA=0 BUILD=build CC='$(CC)' VENV='$(abspath $(VENV))'
endif
