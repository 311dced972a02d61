# The simulated CUDA device: build/libtinyort-cudasim.so, from this folder and the very sources of kernels/cuda.
#
# Any C++17 compiler for x86-64 builds it; nothing of NVIDIA's is needed. clang++ is taken where it is there, because with
# -femulated-tls the simulator sees every __shared__ array; under g++ results are the same and fewer mistakes are caught.
# `cudasim_mode` makes the rules for one way of compiling everything; tests/cudasim/tests.mk uses it for further ways.

ifeq ($(MACHINE),x86_64)
CUDASIM_CLANG := $(shell command -v clang++)
# A build with sanitizers has one compiler's runtime library: that of $(CC).
CUDASIM_CXX ?= $(or $(if $(SANITIZE),$(if $(findstring clang,$(CC)),$(CUDASIM_CLANG),g++)),$(CUDASIM_CLANG),$(shell command -v g++))
endif

ifeq ($(CUDASIM_CXX),)
CUDASIM_STATE := without the simulated CUDA device ($(if $(filter x86_64,$(MACHINE)),no clang++ or g++,it needs x86-64))
else
CUDASIM_STATE := with the simulated CUDA device (--ep cudasim)
CUDASIM_LIBRARY := $(BUILD)/libtinyort-cudasim.so
CUDASIM_SOURCES := $(filter-out kernels/cudasim/plugin.cpp,$(wildcard kernels/cudasim/*.cpp))
CUDASIM_DEVICE_SOURCES := $(wildcard kernels/cuda/*.cu)
CUDASIM_HOST_SOURCES := $(wildcard kernels/cuda/*.c)

CUDASIM_CPPFLAGS := $(TORT_CPPFLAGS) -DTORT_CUDA=1 -DTORT_CUDASIM=1 $(cuda_all_images)
CUDASIM_CXXFLAGS := -std=c++17 -g1 -ffp-contract=off -fno-math-errno $(PREFIX_MAP) -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -pthread \
    -Wall -Wextra -Wno-unknown-pragmas -Werror
CUDASIM_STRICT := -Wshadow -Wconversion -Wno-sign-conversion

# All but the kernels, which are inner loops. Fibers change stacks, of which a shadow would not know.
CUDASIM_HARDENED := -fstack-protector-strong

CUDASIM_CFLAGS := -std=c11 -g1 $(FLOAT) $(PREFIX_MAP) -fPIC -fvisibility=hidden -pthread

# What depends on the C++ compiler $(1).
cudasim_compiler_flags = $(if $(findstring clang,$(1)),-DCUDASIM_EMULATED_TLS -Wno-pass-failed)
cudasim_kernel_flags = $(if $(findstring clang,$(1)),-femulated-tls)
cudasim_c_compiler = $(if $(findstring clang,$(1)),$(1:++=),$(1:++=cc))

# $(1) name of the mode, $(2) C++ compiler, $(3) flags for everything, $(4) more for kernels, $(5) what objcopy does to kernels.
define cudasim_mode
$$(OBJ)/cudasim/$(1)/flags: FORCE
	@mkdir -p $$(@D)
	@echo '$(2) $$(CUDASIM_CPPFLAGS) $$(CUDASIM_CXXFLAGS) $$(CUDASIM_HARDENED) $(3) $(4) $(5)' | cmp -s - $$@ || \
	    echo '$(2) $$(CUDASIM_CPPFLAGS) $$(CUDASIM_CXXFLAGS) $$(CUDASIM_HARDENED) $(3) $(4) $(5)' > $$@

$$(OBJ)/cudasim/$(1)/%.o: %.cpp $$(OBJ)/cudasim/$(1)/flags
	@mkdir -p $$(@D)
	@echo "  CXX   $$< (cudasim $(1))"
	$$(Q)$$(CCACHE) $(2) $$(CUDASIM_CPPFLAGS) $$(CUDASIM_CXXFLAGS) $$(CUDASIM_HARDENED) $$(CUDASIM_STRICT) $(call cudasim_compiler_flags,$(2)) $(3) -MD -MP -c -o $$@ $$<

$$(OBJ)/cudasim/$(1)/%.cu.o: %.cu $$(OBJ)/cudasim/$(1)/flags
	@mkdir -p $$(@D)
	@echo "  CXX   $$< (cudasim $(1))"
	$$(Q)$$(CCACHE) $(2) $$(CUDASIM_CPPFLAGS) $$(CUDASIM_CXXFLAGS) $(call cudasim_compiler_flags,$(2)) $(call cudasim_kernel_flags,$(2)) $(3) $(4) \
	    -MD -MP -x c++ -c -o $$@ $$<
	$(if $(5),$$(Q)objcopy $(5) $$@)

$$(OBJ)/cudasim/$(1)/kernels/cuda/cuda_provider.o: $$(OBJ)/kernels/cuda/tables.inc
$$(OBJ)/cudasim/$(1)/%.o: %.c $$(OBJ)/cudasim/$(1)/flags
	@mkdir -p $$(@D)
	@echo "  CC    $$< (cudasim $(1))"
	$$(Q)$$(CCACHE) $(call cudasim_c_compiler,$(2)) $$(CUDASIM_CPPFLAGS) $$(CUDASIM_CFLAGS) $$(CUDASIM_HARDENED) $$(WARNINGS) $(3) -MD -MP -c -o $$@ $$<
endef

# The objects of a mode: the machine; the provider that runs on it. In the mode race only kernels differ from clang's,
# in that of coverage only the provider.
cudasim_host_mode = $(1:race=clang)
cudasim_simulator = $(CUDASIM_SOURCES:%.cpp=$(OBJ)/cudasim/$(call cudasim_host_mode,$(1:coverage=clang))/%.o)
cudasim_provider = $(CUDASIM_DEVICE_SOURCES:%.cu=$(OBJ)/cudasim/$(1)/%.cu.o) \
    $(patsubst %.c,$(OBJ)/cudasim/$(call cudasim_host_mode,$(1))/%.o,$(CUDASIM_HOST_SOURCES)) \
    $(OBJ)/cudasim/$(call cudasim_host_mode,$(1))/kernels/cudasim/plugin.o

# The mode of the shared object; tests take it for their own where it is the same.
CUDASIM_MODE := $(if $(SANITIZE),sanitized,$(if $(findstring clang,$(CUDASIM_CXX)),clang,gnu))
$(eval $(call cudasim_mode,$(CUDASIM_MODE),$(CUDASIM_CXX),-O2 $(SANITIZE_FLAGS),,))

# What the provider needs of the runtime comes out of libtinyort.a, and stays inside.
$(CUDASIM_LIBRARY): $(call cudasim_simulator,$(CUDASIM_MODE)) $(call cudasim_provider,$(CUDASIM_MODE)) $(LIBRARY) kernels/cudasim/exports.map
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CUDASIM_CXX) $(SANITIZE_FLAGS) $(READ_ONLY) $(LDFLAGS) -shared $(if $(SANITIZE),,-static-libstdc++ -static-libgcc -Wl,-z,defs) \
	    -Wl,--version-script=kernels/cudasim/exports.map -o $@ $(filter %.o %.a,$^) $(filter-out -lprotobuf-c,$(LIBRARY_LIBS))

all: $(CUDASIM_LIBRARY)

.PHONY: clean-cudasim
clean-cudasim:
	rm -f $(CUDASIM_LIBRARY)
clean: clean-cudasim
endif
