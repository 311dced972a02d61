# What the compiler makes of the kernels. `make check-sass` disassembles the objects of this build, without a GPU, and holds their
# inner loops to kernels/cuda/sass_budgets.txt. It needs nvcc, and NVIDIA's cuobjdump and nvdisasm: from PyPI where they do not lie
# beside nvcc. With ONLY=KERNEL it compiles that kernel's file once more, in $(BUILD)/profile, with source lines.

ONLY ?=
SASS_ARCHS ?= $(CUDA_ARCHS)
SASS_FETCHED := build/disassembler
SASS_TOOLS := $(or $(patsubst %/nvdisasm,%,$(wildcard $(dir $(NVCC))nvdisasm)),$(SASS_FETCHED)/nvidia/cu13/bin)

SASS_ALL := $(CUDA_SOURCES) $(wildcard kernels/cuda/ladder/*.cu)
# The sources that name the kernel ONLY, up to its < or *.
SASS_NAME := $(firstword $(subst <, ,$(subst *, ,$(ONLY))))
SASS_SOURCES := $(or $(if $(SASS_NAME),$(shell grep -lw -e '$(SASS_NAME)' $(SASS_ALL))),$(SASS_ALL))
SASS_FILES := $(foreach source,$(SASS_SOURCES),$(foreach arch,$(filter $(call archs_of,$(source)),$(SASS_ARCHS)),$(OBJ)/sass/sm_$(arch)/$(source:.cu=.sass)))

# cuobjdump writes where it stands. Bytes are the sections with debugging information: nine tenths of what nvdisasm prints. Of
# what ptxas said, the lines of this architecture.
define sass_rule
$$(OBJ)/sass/sm_$(1)/%.sass: $$(OBJ)/%.cu.o
	@mkdir -p $$@.parts
	$$(Q)cd $$@.parts && $$(abspath $$(SASS_TOOLS))/cuobjdump -arch sm_$(1) -xelf all $$(abspath $$<) > listing
	$$(Q)$$(SASS_TOOLS)/nvdisasm -g $$@.parts/*.cubin > $$@.parts/whole 2> $$@.parts/said || { cat $$@.parts/said; exit 1; }
	$$(Q)awk '/Compiling entry function/ { mine = /sm_$(1)/ } mine' $$(<:.o=.ptxas) > $$(@:.sass=.ptxas)
	$$(Q)grep -v '\.byte' $$@.parts/whole > $$@
	@rm -r $$@.parts
endef
$(foreach arch,$(SASS_ARCHS),$(eval $(call sass_rule,$(arch))))

sass_skipped = echo "skipped: machine code of CUDA kernels ($(1))"; echo "cuda-sass: 0 passed, 0 failed, 1 skipped"

TESTS += check-sass

# A make of its own, because the disassembler may just have been fetched.
.PHONY: check-sass sass-report
## Hold the machine code of CUDA kernels to kernels/cuda/sass_budgets.txt; ONLY=matmul shows an inner loop, ALL=1 lists all kernels.
check-sass: $(if $(ONLY),,$(SASS_ALL:%.cu=$(if $(NVCC),$(OBJ)/%.cu.o)))
ifeq ($(NVCC),)
	@$(call sass_skipped,no nvcc here)
else ifeq ($(ONLY)$(SASS_ARCHS),)
	@$(call sass_skipped,SASS_ARCHS names none)
else
	@if [ -x $(SASS_TOOLS)/nvdisasm ] || .ci/setup.sh disassembler=$(SASS_FETCHED); then \
	    $(MAKE) $(PARALLEL) $(if $(ONLY),BUILD=$(BUILD)/profile PROFILE=1 CUDA_PTX= CUDA_ARCHS='$(or $(SASS_ARCHS),80)') sass-report; \
	    else $(call sass_skipped,no nvdisasm here$(comma) and PyPI does not give one); fi
endif
sass-report: $(SASS_FILES)
	@python3 .ci/check_sass.py --budgets kernels/cuda/sass_budgets.txt --compiler "$(call nvcc_release,$(NVCC:%nvcc=%ptxas))" $(if $(ONLY),--only '$(ONLY)') $(if $(ALL),--all) $(SASS_FILES)
