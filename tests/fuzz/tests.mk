# Fuzzing with clang's libFuzzer: loading and planning, running, and reading of tensor files, saved plans and pictures; and of the
# loader beside the onnx package. Not part of `make test`, but for a few thousand models of the last.
#
# The library is built again under $(BUILD)/fuzz with the sanitizers, with which clang does not vectorize every loop that asks for it
# (-Wno-pass-failed). Loops of Cast convert first and look afterwards which numbers did not fit. A corpus grows there from run to run.

SECONDS ?= 600
FUZZ := $(BUILD)/fuzz
FUZZ_SANITIZE := address,undefined
FUZZ_OBJECTS := $(addprefix $(FUZZ)/obj/tests/,counting_env.o onnx_bytes.o saved_plan.o \
    $(addprefix fuzz/,load_and_plan.o load_and_run.o tensor_file.o saved_plan.o pictures.o write_sample.o write_plans.o)) $(VALUE_FILE_OBJECTS:$(OBJ)/%=$(FUZZ)/obj/%)
FUZZ_LIMITS := -max_total_time=$(SECONDS) -max_len=8192 -timeout=30 -rss_limit_mb=3072 -print_final_stats=1

.PHONY: fuzz fuzz-runs fuzz-tensors fuzz-plans fuzz-pictures fuzz-onnx fuzz-build test-with-onnx
## Fuzz loading and planning for SECONDS (600) seconds; fails when something is found.
fuzz: fuzz-build
	$(FUZZ)/load_and_plan $(FUZZ_LIMITS) -artifact_prefix=$(FUZZ)/findings/model- $(FUZZ)/corpus/models $(FUZZ)/seeds/models
## Fuzz loading, preparing and running on small inputs for SECONDS seconds.
fuzz-runs: fuzz-build
	$(FUZZ)/load_and_run $(FUZZ_LIMITS) -artifact_prefix=$(FUZZ)/findings/run- $(FUZZ)/corpus/runs $(FUZZ)/seeds/models
## Fuzz the reading of .npy and .pb tensors for SECONDS seconds.
fuzz-tensors: fuzz-build
	$(FUZZ)/tensor_file $(FUZZ_LIMITS) -artifact_prefix=$(FUZZ)/findings/tensor- $(FUZZ)/corpus/tensors $(FUZZ)/seeds/tensors
## Fuzz the loading of saved plans, and runs of what loads, for SECONDS seconds.
fuzz-plans: fuzz-build
	$(FUZZ)/saved_plan $(FUZZ_LIMITS) -artifact_prefix=$(FUZZ)/findings/plan- $(FUZZ)/corpus/plans $(FUZZ)/seeds/plans
## Fuzz the reading of pictures for SECONDS seconds.
fuzz-pictures: fuzz-build
	$(FUZZ)/pictures $(FUZZ_LIMITS) -artifact_prefix=$(FUZZ)/findings/picture- $(FUZZ)/corpus/pictures $(FUZZ)/seeds/pictures
## Load mutated models with tinyort and with the onnx package for SECONDS seconds: both accept them, or both refuse.
fuzz-onnx: $(SHARED) test-setup
	@mkdir -p $(FUZZ)/onnx
	@$(VENV)/bin/python tests/fuzz/seeds.py $(FUZZ)/seeds
	@$(VENV)/bin/python tests/fuzz/with_onnx.py $(SHARED) $(FUZZ)/seeds/models $(FUZZ)/onnx --seconds $(SECONDS)

fuzz-build:
	@.ci/setup.sh build regex pictures fuzz
	@.ci/setup.sh venv=$(VENV)
	@$(MAKE) --no-print-directory BUILD=$(FUZZ) CC=clang CXX=clang++ CUDA=0 SANITIZE=$(FUZZ_SANITIZE),fuzzer-no-link \
	    OPT='-O1 -g -Wno-pass-failed' CFLAGS=-fno-sanitize=float-cast-overflow $(FUZZ)/libtinyort.a \
	    $(FUZZ)/libtinyort_extra.a $(FUZZ_OBJECTS)
	@for entry in load_and_plan load_and_run saved_plan; do \
	    clang -fsanitize=fuzzer,$(FUZZ_SANITIZE) -o $(FUZZ)/$$entry $(FUZZ)/obj/tests/fuzz/$$entry.o \
	        $(FUZZ)/obj/tests/counting_env.o $(FUZZ)/obj/tests/saved_plan.o $(FUZZ)/libtinyort.a $(LIBRARY_LIBS) || exit 1; \
	done
	@clang -fsanitize=fuzzer,$(FUZZ_SANITIZE) -o $(FUZZ)/tensor_file $(FUZZ)/obj/tests/fuzz/tensor_file.o $(FUZZ)/obj/tests/counting_env.o \
	    $(VALUE_FILE_OBJECTS:$(OBJ)/%=$(FUZZ)/obj/%) $(FUZZ)/libtinyort.a $(LIBRARY_LIBS)
	@clang -fsanitize=fuzzer,$(FUZZ_SANITIZE) -o $(FUZZ)/pictures $(FUZZ)/obj/tests/fuzz/pictures.o $(FUZZ)/libtinyort_extra.a \
	    $(FUZZ)/libtinyort.a $(EXTRA_LIBS) $(LIBRARY_LIBS)
	@clang -fsanitize=$(FUZZ_SANITIZE) -o $(FUZZ)/write_sample $(FUZZ)/obj/tests/fuzz/write_sample.o \
	    $(FUZZ)/obj/tests/onnx_bytes.o
	@clang -fsanitize=$(FUZZ_SANITIZE) -o $(FUZZ)/write_plans $(FUZZ)/obj/tests/fuzz/write_plans.o $(FUZZ)/libtinyort.a \
	    $(LIBRARY_LIBS)
	@mkdir -p $(addprefix $(FUZZ)/,corpus/models corpus/runs corpus/tensors corpus/plans corpus/pictures seeds/plans findings)
	@$(VENV)/bin/python tests/fuzz/seeds.py $(FUZZ)/seeds
	@$(FUZZ)/write_sample $(FUZZ)/seeds/models/sample.onnx
	@$(FUZZ)/write_plans $(FUZZ)/seeds/plans $(FUZZ)/seeds/models/*.onnx

TESTS += test-with-onnx
## Compare what tinyort and the onnx package accept, on some thousand mutated models.
test-with-onnx: $(SHARED)
	@mkdir -p $(BUILD)/tests/with_onnx
	@$(VENV)/bin/python tests/fuzz/seeds.py $(BUILD)/tests/with_onnx/seeds
	@$(VENV)/bin/python tests/fuzz/with_onnx.py $(SHARED) $(BUILD)/tests/with_onnx/seeds/models $(BUILD)/tests/with_onnx --cases 6000 --seed 1
