# The package for Python: build/python/tinyort, to be used by PYTHONPATH=build/python, and the wheel that pip installs.
#
# The extension has the library in it, compiled for the stable ABI of Python 3.9 with the headers of $(PYTHON); a build of Python
# without an interpreter lock has no stable ABI, and needs an extension of its own (make python PYTHON=python3.13t).
PYTHON ?= python3
PYTHON_PACKAGE := $(BUILD)/python/tinyort
PYTHON_SOURCES := $(wildcard runtime/python/core/*.c)
PYTHON_OBJECTS = $(PYTHON_SOURCES:%.c=$(OBJ)/%.o) $(EXPORT_OBJECTS)
PYTHON_FILES := $(wildcard runtime/python/tinyort/*.py runtime/python/tinyort/*/*.py runtime/python/tinyort/*.pyi runtime/python/tinyort/py.typed)
PYTHON_HERE := $(BUILD)/python_here.mk

# PYTHON_INCLUDE, and the name of the extension; asked once for each PYTHON.
ifneq ($(filter python% wheel% test-python% test-locale bench-python% test-plugin% bench-plugin test-hardening run-tests test check test-all %.so,$(or $(MAKECMDGOALS),none)),)
PYTHON_CONFIG := $(shell $(PYTHON) -c "import sysconfig as s; free = s.get_config_var('Py_GIL_DISABLED'); \
    print(s.get_path('include'), s.get_config_var('EXT_SUFFIX') if free else '.abi3.so', '' if free else '-DPy_LIMITED_API=0x03090000')")
endif
PYTHON_EXTENSION := $(PYTHON_PACKAGE)/_core$(or $(word 2,$(PYTHON_CONFIG)),.abi3.so)
$(OBJ)/runtime/python/%.o: private TORT_CPPFLAGS += -isystem $(word 1,$(PYTHON_CONFIG)) $(word 3,$(PYTHON_CONFIG))

# The provider cuda is in a package of its own, tinyort_cuda, beside this one.
PYTHON_BUILD := $(OBJ)/python_build.o
PYTHON_LIBRARY := $(filter-out $(OBJ)/runtime/build.o,$(LIBRARY_OBJECTS)) $(PYTHON_BUILD) $(HOST_SOURCES:%.c=$(OBJ)/%.o)
PYTHON_RPATH := -Wl,-rpath,'$$ORIGIN/../tinyort_cuda'
$(PYTHON_BUILD): private TORT_CPPFLAGS += $(CPU_DEFINES) -DTORT_CUDA_PLUGIN
$(PYTHON_BUILD): runtime/build.c $(OBJ)/flags | $(BUILD)/prerequisites
	@mkdir -p $(@D)
	@echo "  CC    $< (for Python)"
	$(Q)$(COMPILE) $(WARNINGS) -c -o $@ $<

$(PYTHON_EXTENSION): $(PYTHON_OBJECTS) $(PYTHON_LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) $(PYTHON_RPATH) -o $@ $^ $(LIBRARY_LIBS) -ldl

$(PYTHON_PACKAGE)/.files: $(PYTHON_FILES)
	@mkdir -p $(@D)
	$(Q)cd runtime/python/tinyort && cp --parents $(PYTHON_FILES:runtime/python/tinyort/%=%) $(abspath $(@D))
	@touch $@

.PHONY: python
## Build the package for Python in build/python: PYTHONPATH=build/python python3 -c 'import tinyort'.
python: $(PYTHON_EXTENSION) $(PYTHON_PACKAGE)/.files

# ---- wheels -----------------------------------------------------------------------------------------------------------
# What is in them is linked so that older systems can load it (wheel/old_glibc.c), and exports nothing but its entry. auditwheel
# puts protobuf-c beside it and names the oldest system that it fits; for musl, which auditwheel knows only where Python itself is
# musl's, the wheel needs libc.so alone and is named after the version of musl that it was compiled with.

WHEEL_STAGE := $(BUILD)/wheel/stage
WHEEL_VENV ?= $(BUILD)/wheel/venv
WHEEL_EXTENSION := $(WHEEL_STAGE)/tinyort/$(notdir $(PYTHON_EXTENSION))
MUSL := $(filter %musl,$(TARGET))
OLD_GLIBC_OBJECT := $(if $(MUSL),,$(OBJ)/runtime/python/wheel/old_glibc.o)
OLD_GLIBC_LIBS := $(if $(MUSL),,-Wl$(comma)--no-as-needed -l:libpthread.so.0 -l:libdl.so.2)

$(WHEEL_VENV)/.made:
	@.ci/setup.sh wheel=$(WHEEL_VENV)
	@touch $@

# $(1) the folder of the wheel.
define audit_wheel
@PATH=$(abspath $(WHEEL_VENV)/bin):$$PATH $(WHEEL_VENV)/bin/auditwheel repair -w $(1) $(1)/plain/*.whl 2> $(1)/audit.log || { cat $(1)/audit.log; exit 1; }
@ls $(1)/*.whl | grep -qE 'manylinux_2_(1[0-9]|2[0-8])_' || { $(WHEEL_VENV)/bin/auditwheel show $(1)/*.whl; \
    echo "wheel: older systems than glibc 2.28 are to load it; what they lack needs a line in runtime/python/wheel/old_glibc.c"; rm $(1)/*.whl; exit 1; }
endef
define name_musl_wheel
@readelf -d $(WHEEL_EXTENSION) | awk '/NEEDED/ && !/\[libc\.so\]/ { print "wheel: it needs more than musl: " $$0; found = 1 } END { exit found }'
@$(WHEEL_VENV)/bin/python -m wheel tags --remove --platform-tag musllinux_1_2_$(MACHINE) $(1)/plain/*.whl > /dev/null && mv $(1)/plain/*.whl $(1)
endef
# $(1) the folder that is packed, $(2) that of the wheel, $(3) what follows the version.
define pack_wheel
	@rm -rf $(2)/*.whl $(2)/plain $(1)/build $(1)/*.egg-info
	@cp LICENSE $(1) && echo $(VERSION)$(3) > $(1)/VERSION
	$(Q)$(WHEEL_VENV)/bin/pip wheel -q --no-deps --no-build-isolation -w $(2)/plain $(1)
	$(if $(MUSL),$(call name_musl_wheel,$(2)),$(call audit_wheel,$(2)))
	@ls -l $(2)/*.whl | awk '{ print "wheel:", $$NF, $$5, "bytes" }'
endef

$(OBJ)/runtime/python/exports: runtime/python/rules.mk
	@mkdir -p $(@D)
	@echo '{ global: PyInit__core; local: *; };' > $@

$(WHEEL_EXTENSION): $(PYTHON_OBJECTS) $(PYTHON_LIBRARY) $(OLD_GLIBC_OBJECT) $(OBJ)/runtime/python/exports
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -shared -s -Wl,--gc-sections $(PYTHON_RPATH) -Wl,--version-script=$(OBJ)/runtime/python/exports -o $@ \
	    $(filter %.o,$^) $(filter -lprotobuf-c,$(LIBRARY_LIBS)) -lm $(OLD_GLIBC_LIBS)

.PHONY: wheel
## Build the wheel that `pip install` takes in build/wheel: CPython 3.9 and later, and old systems.
wheel: $(WHEEL_EXTENSION) $(PYTHON_FILES) $(WHEEL_VENV)/.made
	@cp runtime/python/wheel/pyproject.toml runtime/python/wheel/setup.py runtime/python/README.md $(WHEEL_STAGE)
	@cd runtime/python/tinyort && cp --parents $(PYTHON_FILES:runtime/python/tinyort/%=%) $(abspath $(WHEEL_STAGE)/tinyort)
	$(call pack_wheel,$(WHEEL_STAGE),$(BUILD)/wheel)

.PHONY: wheel-aarch64
## Cross-compile the wheel for aarch64, in build/aarch64-linux-gnu/wheel; TARGET=x86_64-linux-musl and such make others.
wheel-aarch64: $(WHEEL_VENV)/.made
	@$(AARCH64_MAKE) setup
	@_PYTHON_HOST_PLATFORM=linux-aarch64 $(AARCH64_MAKE) WHEEL_VENV=$(abspath $(WHEEL_VENV)) wheel

# ---- the package tinyort_cuda -----------------------------------------------------------------------------------------

ifneq ($(NVCC),)
CUDA_STAGE := $(BUILD)/wheel_cuda/stage
# NVIDIA's packages of PyPI have their libraries in folders beside this one, which is how it finds them without a setting.
NVIDIA_RPATH := -Wl,-rpath,'$$ORIGIN/../nvidia/cu13/lib:$$ORIGIN/../nvidia/cudnn/lib:$$ORIGIN/../nvidia/cublas/lib'

$(CUDA_STAGE)/tinyort_cuda/libtinyort-cuda.so: $(OBJ)/with_cuda/runtime/python/cuda/plugin.o $(CUDA_LIBRARY) $(LIBRARY) $(OLD_GLIBC_OBJECT) \
    kernels/cudasim/exports.map
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -shared -s -Wl,--gc-sections -Wl,-z,defs $(NVIDIA_RPATH) -Wl,--version-script=kernels/cudasim/exports.map -o $@ \
	    $< $(OLD_GLIBC_OBJECT) $(CUDA_LIBRARY) $(LIBRARY) -Wl,--as-needed $(filter -lprotobuf-c,$(LIBRARY_LIBS)) -lm $(OLD_GLIBC_LIBS) -l:librt.so.1
	@cp runtime/python/cuda/__init__.py $(@D)

.PHONY: python-cuda wheel-cuda
## Build the package tinyort_cuda beside tinyort in build/python: the provider cuda, for CUDA_ARCHS.
python-cuda: python $(CUDA_STAGE)/tinyort_cuda/libtinyort-cuda.so
	@cp -r $(CUDA_STAGE)/tinyort_cuda $(BUILD)/python
## Build its wheel in build/wheel_cuda. It names no wheel of tinyort that pip would look for on an index.
wheel-cuda: $(CUDA_STAGE)/tinyort_cuda/libtinyort-cuda.so $(WHEEL_VENV)/.made
	@cp runtime/python/cuda/pyproject.toml runtime/python/cuda/setup.py runtime/python/cuda/README.md $(CUDA_STAGE)
	$(call pack_wheel,$(CUDA_STAGE),$(BUILD)/wheel_cuda,$(if $(filter 12,$(CUDA_MAJOR)),,+cu$(CUDA_MAJOR)))
	@python3 tests/cuda/requires.py $(BUILD)/wheel_cuda/*.whl $(MACHINE) $(CUDA_DRIVER) "$(CUDA_ARCHS)" "$(CUDA_PTX)"
	@.ci/check_spills.sh "$(CUDA_ARCHS)" "$(CUDA_TILED)" $(CUDA_SOURCES:%.cu=$(OBJ)/%.cu.ptxas) | tail -1
endif

# Jetson Orin has drivers for CUDA 12 alone, Thor and DGX Spark those for 13; Grace Hopper takes either.
.PHONY: wheel-cuda-aarch64
## Cross-compile the two wheels of tinyort_cuda for aarch64, of CUDA 12 and 13, in build/aarch64-linux-gnu/cuda12/wheel_cuda and cuda13.
wheel-cuda-aarch64: $(WHEEL_VENV)/.made
	@$(AARCH64_MAKE) setup
	@.ci/setup.sh cuda_aarch64
	@for major in 12 13; do _PYTHON_HOST_PLATFORM=linux-aarch64 $(AARCH64_MAKE) $(AARCH64_CUDA) BUILD=$(AARCH64)/cuda$$major CUDA_MAJOR=$$major \
	    WHEEL_VENV=$(abspath $(WHEEL_VENV)) wheel-cuda || exit 1; done
