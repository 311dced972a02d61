# Tests of the simulated CUDA device itself. Every program is built in several ways, because each way catches other mistakes:
# clang (as in libtinyort-cudasim.so), asan (clang++, address and undefined-behaviour sanitizers), race (kernels instrumented
# for the race checker and the traffic meter), gcc (g++, undefined-behaviour sanitizer). clang++ must be there; `make setup`
# installs it.

TESTS += test-cudasim

ifneq ($(CUDASIM_CXX),)

CUDASIM_TEST_MODES := clang asan race gcc
CUDASIM_TEST_PROGRAMS := sample_test instruction_test activation_test ladder_test api_test library_test planted_bug
CUDASIM_TEST_DEVICE_sample_test := tests/cudasim/sample_kernels
CUDASIM_TEST_DEVICE_instruction_test := tests/cudasim/sample_kernels
CUDASIM_TEST_DEVICE_activation_test := kernels/cuda/epilogue
CUDASIM_TEST_DEVICE_ladder_test := $(addprefix kernels/cuda/ladder/,product sum attention)
CUDASIM_TEST_DEVICE_api_test := tests/cudasim/sample_kernels
CUDASIM_TEST_DEVICE_library_test := tests/cudasim/sample_kernels
CUDASIM_TEST_DEVICE_traffic_test := tests/cudasim/traffic_kernels
CUDASIM_TEST_DEVICE_planted_bug := tests/cudasim/planted_bugs
CUDASIM_TESTS := $(BUILD)/tests/cudasim

$(if $(filter-out clang,$(CUDASIM_MODE)),$(eval $(call cudasim_mode,clang,clang++,-O2,,)))
$(eval $(call cudasim_mode,asan,clang++,-O1 -fno-omit-frame-pointer -fsanitize=address$(comma)undefined -fno-sanitize-recover=all,,))
$(eval $(call cudasim_mode,gcc,g++,-O1 -fsanitize=undefined -fno-sanitize-recover=all,,))
# In the mode race only kernels are instrumented; copies of whole structs, which compilers leave to memcpy, must reach the hooks
# too. They are optimized as nvcc would, but by nothing that makes one access of several, and no read is left out where a
# write follows.
CUDASIM_COPIES_HOOKED := --redefine-sym memcpy=__tsan_memcpy --redefine-sym memmove=__tsan_memmove --redefine-sym memset=__tsan_memset
$(eval $(call cudasim_mode,race,clang++,-O2,-fsanitize=thread -fno-vectorize -fno-slp-vectorize -fno-unroll-loops \
    -DGRID_MAX_BLOCKS=cudasim::grid_limit \
    $(addprefix -mllvm ,-tsan-instrument-read-before-write=1 -tsan-instrument-func-entry-exit=0 -disable-loop-idiom-all),\
    $(CUDASIM_COPIES_HOOKED)))

CUDASIM_LINK_clang := clang++ -pthread
CUDASIM_LINK_asan := clang++ -pthread -fsanitize=address,undefined
CUDASIM_LINK_race := clang++ -pthread
CUDASIM_LINK_gcc := g++ -pthread -fsanitize=undefined

# $(1) program, $(2) mode.
define cudasim_test_program
$(CUDASIM_TESTS)/$(1).$(2): $(call cudasim_simulator,$(2)) \
    $(OBJ)/cudasim/$(call cudasim_host_mode,$(2))/tests/cudasim/$(1).o \
    $(CUDASIM_TEST_DEVICE_$(1):%=$(OBJ)/cudasim/$(2)/%.cu.o)
	@mkdir -p $$(@D)
	@echo "  LINK  $$@"
	$$(Q)$$(CUDASIM_LINK_$(2)) -o $$@ $$^
endef
$(foreach program,$(CUDASIM_TEST_PROGRAMS),$(foreach mode,$(CUDASIM_TEST_MODES),\
    $(eval $(call cudasim_test_program,$(program),$(mode)))))

$(eval $(call cudasim_test_program,traffic_test,race))

CUDASIM_RUN := $(filter-out planted_bug,$(CUDASIM_TEST_PROGRAMS))
CUDASIM_BINARIES := $(foreach program,$(CUDASIM_TEST_PROGRAMS),$(CUDASIM_TEST_MODES:%=$(CUDASIM_TESTS)/$(program).%))

$(CUDASIM_TESTS)/open_test: tests/cudasim/open_test.c kernels/cudasim/control.h runtime/core/providers/plugin.h runtime/include/provider.h
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) $(TORT_CPPFLAGS) $(CPPFLAGS) $(CUDASIM_CFLAGS) $(CFLAGS) $(WARNINGS) $(LDFLAGS) -o $@ $< -ldl

.PHONY: test-cudasim
## Test the simulated CUDA device: kernels in every order and build, the fake API, planted bugs.
test-cudasim: $(CUDASIM_BINARIES) $(CUDASIM_TESTS)/traffic_test.race $(CUDASIM_TESTS)/open_test $(CUDASIM_LIBRARY)
	@status=0; \
	for program in $(CUDASIM_RUN); do for mode in $(CUDASIM_TEST_MODES); do \
	    echo "$$program ($$mode)"; $(CUDASIM_TESTS)/$$program.$$mode || status=1; \
	done; done; \
	echo "traffic_test (race)"; $(CUDASIM_TESTS)/traffic_test.race || status=1; \
	sh tests/cudasim/planted_bugs.sh $(CUDASIM_TESTS)/planted_bug tests/cudasim/planted_bugs.expected $(CUDASIM_TEST_MODES) || status=1; \
	sh tests/cudasim/exports.sh $(CUDASIM_LIBRARY) || status=1; \
	$(CUDASIM_TESTS)/open_test $(abspath $(CUDASIM_LIBRARY)) || status=1; \
	sh tests/cudasim/nvidia_headers.sh "$(CC)" $(if $(CUDA_HOME),$(CUDA_HOME)/include $(filter-out $(CUDA_HOME)/include,$(NVCC_13:%/bin/nvcc=%/include))) || status=1; \
	sh tests/cudasim/nvcc.sh "$(NVCC)" $(CUDASIM_TESTS)/sample_kernels.nvcc.o || status=1; \
	exit $$status
else
.PHONY: test-cudasim
test-cudasim:
	@echo "skipped: tests of the simulated CUDA device: this build is $(CUDASIM_STATE)"
	@echo "cudasim: 0 passed, 0 failed, 1 skipped"
endif
