# What the compiler makes of the kernels. `make check-sass` compiles them for a GPU without one, disassembles them and holds
# their inner loops to kernels/cuda/sass_budgets.txt. It needs nvcc, and NVIDIA's nvdisasm: from PyPI where it is not installed.

SASS_ARCHS ?= 80 90
ONLY ?=
NVDISASM_FETCHED := build/nvdisasm/nvidia/cu13/bin/nvdisasm
ifneq ($(NVCC),)
NVDISASM := $(firstword $(foreach tool,$(wildcard $(dir $(NVCC))nvdisasm) $(shell command -v nvdisasm) $(wildcard $(NVDISASM_FETCHED)), \
    $(if $(filter $(NVCC_NEEDED),$(call nvcc_release,$(tool))),$(tool))) $(NVDISASM_FETCHED))
endif

SASS_ALL := $(CUDA_SOURCES) $(wildcard kernels/cuda/ladder/*.cu)
# The sources that name the kernel ONLY, up to its < or *.
SASS_NAME := $(firstword $(subst <, ,$(subst *, ,$(ONLY))))
SASS_SOURCES := $(or $(if $(SASS_NAME),$(shell grep -lw -e '$(SASS_NAME)' $(SASS_ALL))),$(SASS_ALL))
SASS_FILES := $(foreach arch,$(SASS_ARCHS),$(SASS_SOURCES:%.cu=$(OBJ)/sass/sm_$(arch)/%.sass))

$(OBJ)/sass/flags: FLAGS_NOW = $(NVCC) $(KERNEL_FLAGS)
$(OBJ)/sass/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' > $@

# Bytes are the sections with debugging information: nine tenths of what nvdisasm prints.
define sass_rule
$$(OBJ)/sass/sm_$(1)/%.sass: %.cu $$(OBJ)/sass/flags | $$(filter $$(NVCC_FETCHED),$$(NVCC))
	@mkdir -p $$(@D)
	@echo "  SASS  $$< (sm_$(1))"
	$$(Q)$$(NVCC) -arch=sm_$(1) $$(KERNEL_FLAGS) -MMD -MP -MT $$@ -MF $$(@:.sass=.d) -cubin -o $$(@:.sass=.cubin) $$< \
	    > $$(@:.sass=.ptxas) 2>&1 || { cat $$(@:.sass=.ptxas); exit 1; }
	$$(Q)$$(NVDISASM) -g $$(@:.sass=.cubin) > $$@.whole
	$$(Q)grep -v '\.byte' $$@.whole > $$@
	@rm $$@.whole
endef
$(foreach arch,$(SASS_ARCHS),$(eval $(call sass_rule,$(arch))))

sass_skipped = echo "skipped: machine code of CUDA kernels ($(1))"; echo "cuda-sass: 0 passed, 0 failed, 1 skipped"

TESTS += check-sass

# A make of its own, which compiles on every processor where the user's has no -j.
.PHONY: check-sass sass-report
## Hold the machine code of CUDA kernels to kernels/cuda/sass_budgets.txt; ONLY=matmul shows an inner loop, ALL=1 lists all kernels.
check-sass:
	$(if $(NVCC),,@$(call sass_skipped,no nvcc here))
	$(if $(NVCC),@if [ -x "$(NVDISASM)" ] || .ci/setup.sh nvdisasm=$(NVDISASM_FETCHED:/nvidia/cu13/bin/nvdisasm=); then \
	    $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) sass-report; \
	    else $(call sass_skipped,no nvdisasm here$(comma) and PyPI does not give one); fi)
sass-report: $(SASS_FILES)
	@python3 .ci/check_sass.py --budgets kernels/cuda/sass_budgets.txt $(if $(ONLY),--only '$(ONLY)') $(if $(ALL),--all) $(SASS_FILES)
