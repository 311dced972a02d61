# The library and the command line have no warning of clang's either, of which most machines build with gcc. Each file is checked and
# no object is made; of kernels/cpu/simd, whose loops clang vectorizes in its own way, nothing is looked at.
TESTS += test-clang

CLANG_SOURCES := $(filter-out $(wildcard ops/extra/*),$(LIBRARY_SOURCES)) $(CLI_SOURCES) $(PLUGIN_OBJECTS:$(OBJ)/%.o=%.c)

.PHONY: test-clang
## Check every C source of the library and the command line with clang's warnings as errors.
test-clang: $(FORMAT).h
	@sh tests/clang/test.sh '$(TORT_CPPFLAGS) -DTORT_COMMIT=\"\" $(cuda_all_images) -std=c11 $(WARNINGS)' $(CLANG_SOURCES)
