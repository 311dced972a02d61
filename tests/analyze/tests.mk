# Static analysis of the C sources of the library and of the command line: clang's analyzer and cppcheck, file by file. A source of
# kernels/cpu/simd is analyzed for the widest instruction set, and kernels/cuda as in a build without CUDA.
THOROUGH_TESTS += analyze

ANALYZED := $(LIBRARY_SOURCES) $(CLI_SOURCES) $(PLUGIN_OBJECTS:$(OBJ)/%.o=%.c) $(filter %.c,$(EXTRA_SOURCES)) $(if $(SIMD_SETS),$(SIMD_SOURCES))
ANALYSES := $(ANALYZED:%.c=$(BUILD)/analyze/%.txt)
ANALYZED_AS := $(TORT_CPPFLAGS) $(CPU_DEFINES) $(OPS_DEFINES) $(EXTRA_DEFINES)
ANALYZED_SET := $(lastword $(SIMD_SETS))

.PHONY: analyze
## Analyze the C sources with clang's analyzer and cppcheck: fail where they find what tests/analyze/known.txt does not explain.
analyze: $(ANALYSES)
	@awk -f tests/analyze/compare.awk tests/analyze/known.txt $^

# An object is made again when a header has changed, and so is what was found.
$(filter-out $(BUILD)/analyze/kernels/cpu/simd/%,$(ANALYSES)): $(BUILD)/analyze/%.txt: %.c $(OBJ)/%.o
$(filter $(BUILD)/analyze/kernels/cpu/simd/%,$(ANALYSES)): $(BUILD)/analyze/%.txt: %.c $(OBJ)/%.$(ANALYZED_SET).o
$(BUILD)/analyze/kernels/cpu/simd/%: private ANALYZED_AS += -DTORT_SIMD=$(ANALYZED_SET)
$(BUILD)/analyze/kernels/cpu/simd/%: private ANALYZED_FOR = $(SIMD_FLAGS_$(ANALYZED_SET)) -fopenmp-simd
$(BUILD)/analyze/kernels/cuda/images.txt: private ANALYZED_AS += $(cuda_all_images)

# Warnings are the compiler's matter. cppcheck knows the functions of the system by itself, but not the macros of protobuf-c, without
# which it would not look at the loader.
$(ANALYSES): | $(BUILD)/analyze/tools
	@mkdir -p $(@D)
	@echo "  CHECK $<"
	$(Q)clang --analyze -Xclang -analyzer-output=text -std=c11 -Wno-everything $(ANALYZED_AS) $(ANALYZED_FOR) -o /dev/null $< > $@ 2>&1 || { cat $@; exit 1; }
	$(Q)cppcheck --quiet --enable=warning --std=c11 --template='{file}:{line}:{column}: warning: {message} [{id}]' --template-location='' \
	    $(ANALYZED_AS) -D__$(MACHINE)__ -DPROTOBUF_C_VERSION_NUMBER=0x7fffffff \
	    -DPROTOBUF_C__BEGIN_DECLS= -DPROTOBUF_C__END_DECLS= $< >> $@ 2>&1 || { cat $@; exit 1; }

$(BUILD)/analyze/tools:
	@mkdir -p $(@D)
	@.ci/setup.sh analyze
	@touch $@
