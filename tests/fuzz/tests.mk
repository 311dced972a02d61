# Fuzzing of the loader and the planner with clang's libFuzzer; not part of `make test`.
#
# The library is built again under $(BUILD)/fuzz with the sanitizers. The corpus grows in $(BUILD)/fuzz/corpus from run to run.

SECONDS ?= 600
FUZZ := $(BUILD)/fuzz
FUZZ_SANITIZE := address,undefined

.PHONY: fuzz
## Fuzz loading and planning for SECONDS (600) seconds; fails when something is found.
fuzz:
	@.ci/setup.sh build fuzz
	@.ci/setup.sh venv=$(VENV)
	@$(MAKE) --no-print-directory BUILD=$(FUZZ) CC=clang CUDA=0 SANITIZE=$(FUZZ_SANITIZE),fuzzer-no-link OPT='-O1 -g' \
	    $(FUZZ)/libtinyort.a $(FUZZ)/obj/tests/counting_env.o $(FUZZ)/obj/tests/onnx_bytes.o \
	    $(FUZZ)/obj/tests/fuzz/load_and_plan.o $(FUZZ)/obj/tests/fuzz/write_sample.o
	@clang -fsanitize=fuzzer,$(FUZZ_SANITIZE) -o $(FUZZ)/load_and_plan $(FUZZ)/obj/tests/fuzz/load_and_plan.o \
	    $(FUZZ)/obj/tests/counting_env.o $(FUZZ)/libtinyort.a $(LIBRARY_LIBS)
	@clang -fsanitize=$(FUZZ_SANITIZE) -o $(FUZZ)/write_sample $(FUZZ)/obj/tests/fuzz/write_sample.o \
	    $(FUZZ)/obj/tests/onnx_bytes.o
	@mkdir -p $(FUZZ)/corpus $(FUZZ)/findings
	@$(VENV)/bin/python tests/fuzz/seeds.py $(FUZZ)/seeds
	@$(FUZZ)/write_sample $(FUZZ)/seeds/sample.onnx
	$(FUZZ)/load_and_plan -max_total_time=$(SECONDS) -max_len=8192 -timeout=30 -rss_limit_mb=3072 -print_final_stats=1 \
	    -artifact_prefix=$(FUZZ)/findings/ $(FUZZ)/corpus $(FUZZ)/seeds
