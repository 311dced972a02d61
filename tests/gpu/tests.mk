# What only a GPU can tell: tests/gpu/RESULTS.md holds what it said. The programs are made here and carried: `make gpu-bundle` puts
# them with the models and scripts they need into build/gpu, one folder that needs the C library, NVIDIA's driver and a shell. It has
# NVIDIA's compute-sanitizer too, fetched from PyPI (COMPUTE_SANITIZER=0: not), for machines that have none.
# A tree that was carried with build/gpu, but without the objects of its build, runs what lies there and builds nothing.
# What `make test` runs of this are the same programs on the simulated device, with tiny sizes.

GPU := $(BUILD)/gpu
GPU_BENCH_SOURCES := tests/gpu/bench.c tests/gpu/bench_table.c tests/cuda/kernel_case.c tests/cuda/wrapped.c tests/onnx_bytes.c tests/report_of.c

TESTS += test-gpu-model

.PHONY: test-gpu-model gpu-model
## Hold the model of time on a GPU to what tests/gpu/RESULTS.md says of it: how many held-out lines it tells within 25 %.
test-gpu-model:
	@mkdir -p $(BUILD)/tests/gpu
	@python3 tests/gpu/model.py > $(BUILD)/tests/gpu/model.log || { cat $(BUILD)/tests/gpu/model.log; exit 1; }
	@tail -n 1 $(BUILD)/tests/gpu/model.log
	@sed 's/[0-9]* of \([0-9]*\) held-out lines/\1 of \1 held-out lines/' tests/gpu/RESULTS.md > $(BUILD)/tests/gpu/model.md
	@if python3 tests/gpu/model.py --page $(BUILD)/tests/gpu/model.md > /dev/null 2>&1; then echo "a page that says too much was believed"; exit 1; fi
	@echo "gpu-model: 2 passed, 0 failed"

ifneq ($(CUDASIM_CXX),)
TESTS += test-gpu-bench

## Say without a GPU what kernels and networks should take on H200, H100, A100 and RTX 4090: modelled, not measured.
gpu-model: $(TINYORT) $(BUILD)/gpu-networks/bert.onnx
	@python3 tests/gpu/model.py
	@python3 tests/gpu/model.py --networks $(BUILD)/gpu-networks --tinyort $(TINYORT)

$(BUILD)/gpu-networks/bert.onnx: $(BUILD)/tests/gpu/networks
	@mkdir -p $(@D)
	$(Q)$< $(@D)

# One object, so that what the simulator shares with libtinyort.a by name stays its own.
$(OBJ)/cudasim/$(CUDASIM_MODE)/bench.o: $(OBJ)/cudasim/$(CUDASIM_MODE)/tests/gpu/bench.o $(call cudasim_simulator,$(CUDASIM_MODE)) \
    $(call cudasim_provider,$(CUDASIM_MODE))
	@echo "  LD    $@"
	$(Q)$(LD) -r --force-group-allocation -o $@ $^
	$(Q)$(OBJCOPY) --keep-global-symbol=main $@

$(BUILD)/tests/gpu/bench: $(OBJ)/cudasim/$(CUDASIM_MODE)/bench.o \
    $(patsubst %.c,$(OBJ)/%.o,$(filter-out tests/gpu/bench.c,$(GPU_BENCH_SOURCES))) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CUDASIM_CXX) $(SANITIZE_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBRARY_LIBS)

$(BUILD)/tests/gpu/networks: $(OBJ)/tests/gpu/networks.o $(OBJ)/tests/onnx_bytes.o $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)

$(BUILD)/tests/gpu/replays: $(OBJ)/tests/gpu/replays.o $(OBJ)/tests/report_of.o $(LIBRARY)
$(BUILD)/tests/gpu/tokens: $(OBJ)/tests/gpu/tokens.o $(OBJ)/tests/cuda/speaker.o $(LIBRARY)
$(BUILD)/tests/gpu/replays $(BUILD)/tests/gpu/tokens:
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS) -lm

.PHONY: test-gpu-bench
## Run what gpu-bench runs once, tiny, on the simulated device: own and library rows agree, networks equal those on cpu.
test-gpu-bench: $(BUILD)/tests/gpu/bench $(BUILD)/tests/gpu/networks $(BUILD)/tests/gpu/replays $(BUILD)/tests/gpu/tokens $(TINYORT) $(CUDASIM_LIBRARY)
	@sh tests/gpu/test.sh $(BUILD)/tests/gpu $(TINYORT) $(VENV)/bin/python
endif

ifneq ($(CUDA_LIBRARY),)
# A library is linked from its archive where Debian has one; cJSON has none, so its shared object lies beside the program. What
# belongs to the C library stays shared.
gpu_archive = $(if $(filter -lm -lpthread,$(1)),,$(filter /%,$(shell $(CC) -print-file-name=$(1:-l%=lib%.a))))
GPU_LIBS = $(foreach library,$(CLI_LIBS) $(LIBRARY_LIBS),$(or $(call gpu_archive,$(library)),$(library))) $(CUDA_LIBS)
GPU_BESIDE = $(patsubst -l%,%,$(filter-out -lm -lpthread,$(filter -l%,$(filter-out $(CUDA_LIBS),$(GPU_LIBS)))))
GPU_PROGRAMS := $(addprefix $(GPU)/,tinyort kernels bench mistakes networks replays tokens)
GPU_SCRIPTS := check.sh bench.sh machine.sh pytorch.py
COMPUTE_SANITIZER ?= 1
GPU_SANITIZER := $(if $(filter-out 0,$(COMPUTE_SANITIZER)),build/cuda-sanitizer/compute-sanitizer.tar.gz)

# The bundle carries no more libraries than it must: it does without the operators of ops/extra (tests/extra/tests.mk).
$(GPU)/tinyort: $(CLI_OBJECTS) $(OBJ)/no_extra.o $(CUDA_BUILD) $(LIBRARY) $(CUDA_LIBRARY)
$(GPU)/kernels: $(CUDA_TEST_OBJECTS) $(CUDA_BUILD) $(LIBRARY) $(CUDA_LIBRARY)
$(GPU)/networks: $(OBJ)/tests/gpu/networks.o $(OBJ)/tests/onnx_bytes.o $(LIBRARY)
$(GPU)/replays: $(OBJ)/tests/gpu/replays.o $(OBJ)/tests/report_of.o $(CUDA_BUILD) $(LIBRARY) $(CUDA_LIBRARY)
$(GPU)/tokens: $(OBJ)/tests/gpu/tokens.o $(OBJ)/tests/cuda/speaker.o $(CUDA_BUILD) $(LIBRARY) $(CUDA_LIBRARY)
$(GPU)/tinyort $(GPU)/kernels $(GPU)/networks $(GPU)/replays $(GPU)/tokens:
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -Wl,-rpath,'$$ORIGIN' -Wl,--as-needed -s -o $@ $^ $(GPU_LIBS)

# These call CUDA themselves, so the provider's objects are linked, and cudart once.
$(GPU)/bench: $(OBJ)/with_cuda/tests/gpu/bench.o $(patsubst %.c,$(OBJ)/%.o,$(filter-out tests/gpu/bench.c,$(GPU_BENCH_SOURCES))) \
    $(CUDA_OBJECTS) $(CUDA_BUILD) $(LIBRARY)
$(GPU)/mistakes: $(OBJ)/tests/gpu/mistakes.cu.o
$(GPU)/bench $(GPU)/mistakes:
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -Wl,--as-needed -s -o $@ $^ -L$(CUDA_HOME)/lib64 -L$(CUDA_HOME)/lib -lcudart_static $(GPU_LIBS)

build/cuda-sanitizer/compute-sanitizer.tar.gz:
	@.ci/setup.sh sanitizer=$@ || { echo "make COMPUTE_SANITIZER=0 does without"; exit 1; }

.PHONY: gpu-bundle
## Make build/gpu and build/tinyort-gpu.tar.gz: all that gpu-check and gpu-bench need on a machine with a GPU.
gpu-bundle: $(GPU_PROGRAMS) $(GPU_SANITIZER)
	@cp -p $(GPU_SCRIPTS:%=tests/gpu/%) $(GPU)
	@rm -rf $(GPU)/exported && mkdir -p $(GPU)/exported
	@$(VENV)/bin/python tests/cuda/networks.py --write $(GPU)/exported
	@rm -f $(GPU)/compute-sanitizer.tar.gz
	$(if $(GPU_SANITIZER),@cp -p $(GPU_SANITIZER) $(GPU))
	@for library in $(GPU_BESIDE); do \
	    path=$$($(CC) -print-file-name=lib$$library.so) && \
	    cp "$$path" $(GPU)/"$$(objdump -p "$$path" | awk '/SONAME/ { print $$2 }')" || exit 1; \
	done
	@mkdir -p $(GPU)/models/pictures
	@cp models/digits.onnx models/digits.labels.txt $(GPU)/models
	@cp models/pictures/7.png $(GPU)/models/pictures
	@echo "$(VERSION) $$(git describe --always --dirty 2>/dev/null), compute capabilities $(CUDA_ARCHS)" > $(GPU)/VERSION
	@tar -czf $(BUILD)/tinyort-gpu.tar.gz -C $(BUILD) gpu
	@du -sh $(GPU) $(BUILD)/tinyort-gpu.tar.gz
endif

# Without $(OBJ) this tree was carried here.
.PHONY: gpu-check gpu-bench
## Check every CUDA kernel and whole networks on this machine's GPU, and with compute-sanitizer.
gpu-check:
## Time kernels and networks on this machine's GPU, beside cuBLAS, cuDNN and PyTorch where they are installed.
gpu-bench:
ifneq ($(if $(wildcard $(OBJ)),,$(wildcard $(GPU)/kernels)),)
gpu-check gpu-bench: gpu-carried
else ifneq ($(CUDA_LIBRARY),)
gpu-check gpu-bench: gpu-bundle
else
gpu-check gpu-bench: gpu-missing
endif
gpu-check gpu-bench:
	@sh $(GPU)/$(patsubst gpu-%,%,$@).sh

.PHONY: gpu-carried gpu-missing
gpu-carried:
	@echo "running what was carried here in $(GPU): tinyort $$(cat $(GPU)/VERSION)"
gpu-missing:
	@echo "this needs nvcc, or $(GPU) carried from where 'make gpu-bundle' made it ($(CUDA_STATE))"; exit 1
