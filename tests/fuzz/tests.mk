# Fuzzing with clang's libFuzzer: loading and planning, running, saved plans, and all files and words that the command line reads; and of
# the loader beside the onnx package. In `make test` the small corpora of tests/fuzz/corpus, which `make fuzz-corpus` makes, are replayed.
#
# For libFuzzer the library is built again under $(BUILD)/fuzz with the sanitizers, with which clang does not vectorize every loop that
# asks for it (-Wno-pass-failed). Loops of Cast convert first and look afterwards which numbers did not fit. A corpus grows there from
# run to run.

SECONDS ?= 600
FUZZ := $(BUILD)/fuzz
FUZZ_SANITIZE := address,undefined
# An entry, and the corpus that it reads.
FUZZ_ENTRIES := load_and_plan:models load_and_run:models saved_plan:plans tensor_file:tensors archive:archives labels:labels \
    lock:locks piece:models command_line:command_lines $(if $(PICTURES),pictures:pictures)
FUZZ_NAMES := $(foreach pair,$(FUZZ_ENTRIES),$(firstword $(subst :, ,$(pair))))
FUZZ_HELPERS := $(addprefix $(OBJ)/tests/,counting_env.o saved_plan.o onnx_bytes.o) $(filter-out $(OBJ)/runtime/cli/main.o,$(CLI_OBJECTS)) \
    $(EXTRA_LIBRARY) $(LIBRARY)
FUZZ_LIBS := $(CLI_LIBS) $(EXTRA_LIBS) $(LIBRARY_LIBS)
# A file of 1 MiB is loaded within some 100 MiB and a second, whatever it says; the sanitizers take a multiple of both.
FUZZ_LIMITS := -max_total_time=$(SECONDS) -max_len=1048576 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1
fuzz_run = $(FUZZ)/entries/$(1) $(FUZZ_LIMITS) -artifact_prefix=$(FUZZ)/findings/$(1)- $(FUZZ)/corpus/$(2) $(wildcard tests/fuzz/corpus/$(2)) $(FUZZ)/seeds/$(2)

.PHONY: fuzz fuzz-runs fuzz-tensors fuzz-plans fuzz-archives fuzz-labels fuzz-locks fuzz-pieces fuzz-command-lines fuzz-pictures fuzz-onnx fuzz-build fuzz-corpus test-with-onnx test-fuzz-corpus
## Fuzz loading and planning for SECONDS (600) seconds; fails when something is found.
fuzz: fuzz-build
	$(call fuzz_run,load_and_plan,models)
## Fuzz loading, preparing and running on small inputs for SECONDS seconds.
fuzz-runs: fuzz-build
	$(call fuzz_run,load_and_run,models)
## Fuzz the reading of .npy and .pb tensors for SECONDS seconds.
fuzz-tensors: fuzz-build
	$(call fuzz_run,tensor_file,tensors)
## Fuzz the reading of .npz archives for SECONDS seconds.
fuzz-archives: fuzz-build
	$(call fuzz_run,archive,archives)
## Fuzz the reading of names of classes for SECONDS seconds.
fuzz-labels: fuzz-build
	$(call fuzz_run,labels,labels)
## Fuzz the reading of locks for SECONDS seconds.
fuzz-locks: fuzz-build
	$(call fuzz_run,lock,locks)
## Fuzz taking models apart, and copies of them with metadata, for SECONDS seconds.
fuzz-pieces: fuzz-build
	$(call fuzz_run,piece,models)
## Fuzz the reading of command lines, and the planning of a model with their options, for SECONDS seconds.
fuzz-command-lines: fuzz-build
	$(call fuzz_run,command_line,command_lines)
## Fuzz the loading of saved plans, and runs of what loads, for SECONDS seconds.
fuzz-plans: fuzz-build
	$(call fuzz_run,saved_plan,plans)
## Fuzz the reading of pictures for SECONDS seconds.
fuzz-pictures: fuzz-build
	$(call fuzz_run,pictures,pictures)
## Load mutated models with tinyort and with the onnx package for SECONDS seconds: both accept them, or both refuse.
fuzz-onnx: $(SHARED) test-setup
	@mkdir -p $(FUZZ)/onnx
	@$(VENV)/bin/python tests/fuzz/seeds.py $(FUZZ)/seeds
	@$(VENV)/bin/python tests/fuzz/with_onnx.py $(SHARED) $(FUZZ)/seeds/models $(FUZZ)/onnx --seconds $(SECONDS)

fuzz-build:
	@.ci/setup.sh build regex pictures fuzz
	@.ci/setup.sh venv=$(VENV)
	@$(MAKE) --no-print-directory BUILD=$(FUZZ) CC=clang CXX=clang++ CUDA=0 SANITIZE=$(FUZZ_SANITIZE),fuzzer-no-link \
	    OPT='-O1 -g -Wno-pass-failed' CFLAGS=-fno-sanitize=float-cast-overflow $(FUZZ_NAMES:%=$(FUZZ)/entries/%) $(FUZZ)/tests/write_plans $(FUZZ)/tests/write_sample
	@mkdir -p $(FUZZ)/findings $(FUZZ)/seeds/plans $(foreach pair,$(FUZZ_ENTRIES),$(FUZZ)/corpus/$(lastword $(subst :, ,$(pair))))
	@$(VENV)/bin/python tests/fuzz/seeds.py $(FUZZ)/seeds
	@$(FUZZ)/tests/write_sample $(FUZZ)/seeds/models/sample.onnx
	@$(FUZZ)/tests/write_plans $(FUZZ)/seeds/plans $(FUZZ)/seeds/models/*.onnx

$(BUILD)/entries/%: $(OBJ)/tests/fuzz/%.o $(FUZZ_HELPERS)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CXX) $(SANITIZE_FLAGS) $(LDFLAGS) -fsanitize=fuzzer -pthread -o $@ $^ $(FUZZ_LIBS)
$(FUZZ_NAMES:%=$(BUILD)/tests/replay/%): $(BUILD)/tests/replay/%: $(OBJ)/tests/fuzz/%.o $(OBJ)/tests/fuzz/replay.o $(FUZZ_HELPERS)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(FUZZ_LIBS)
$(BUILD)/tests/write_plans: $(OBJ)/tests/fuzz/write_plans.o $(LIBRARY)
$(BUILD)/tests/write_sample: $(OBJ)/tests/fuzz/write_sample.o $(OBJ)/tests/onnx_bytes.o
$(BUILD)/tests/write_plans $(BUILD)/tests/write_sample:
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(LIBRARY_LIBS)

## Make tests/fuzz/corpus again: of what was found and of the seeds, those of at most 512 bytes that reach something of their own.
fuzz-corpus: fuzz-build
	@tests/fuzz/corpus.sh $(FUZZ) $(filter-out saved_plan:% load_and_run:% piece:%,$(FUZZ_ENTRIES))

TESTS += test-fuzz-corpus
## Hand the corpora of tests/fuzz/corpus to the entries of the fuzzers, and plans that are saved of its models.
test-fuzz-corpus: $(FUZZ_NAMES:%=$(BUILD)/tests/replay/%) $(BUILD)/tests/write_plans
	@tests/fuzz/replay.sh $(BUILD)/tests $(FUZZ_ENTRIES)

TESTS += test-with-onnx
## Compare what tinyort and the onnx package accept, on some thousand mutated models.
test-with-onnx: $(SHARED)
	@mkdir -p $(BUILD)/tests/with_onnx
	@$(VENV)/bin/python tests/fuzz/seeds.py $(BUILD)/tests/with_onnx/seeds
	@$(VENV)/bin/python tests/fuzz/with_onnx.py $(SHARED) $(BUILD)/tests/with_onnx/seeds/models $(BUILD)/tests/with_onnx --cases 6000 --seed 1
