# The package for Python: build/python/tinyort, to be used by PYTHONPATH=build/python, and the wheel that pip installs.
#
# The extension has the library in it, compiled for the stable ABI of Python 3.9 with the headers of $(PYTHON); a build of Python
# without an interpreter lock has no stable ABI, and needs an extension of its own (make python PYTHON=python3.13t).
PYTHON ?= python3
PYTHON_PACKAGE := $(BUILD)/python/tinyort
PYTHON_SOURCES := $(wildcard runtime/python/core/*.c)
PYTHON_OBJECTS = $(PYTHON_SOURCES:%.c=$(OBJ)/%.o)
PYTHON_FILES := $(wildcard runtime/python/tinyort/*.py runtime/python/tinyort/*/*.py runtime/python/tinyort/*.pyi runtime/python/tinyort/py.typed)
PYTHON_HERE := $(BUILD)/python_here.mk

# PYTHON_INCLUDE, and the name of the extension; asked once for each PYTHON.
ifneq ($(filter python wheel test-python% bench-python% run-tests test check test-all %.so,$(or $(MAKECMDGOALS),none)),)
PYTHON_CONFIG := $(shell $(PYTHON) -c "import sysconfig as s; free = s.get_config_var('Py_GIL_DISABLED'); \
    print(s.get_path('include'), s.get_config_var('EXT_SUFFIX') if free else '.abi3.so', '' if free else '-DPy_LIMITED_API=0x03090000')")
endif
PYTHON_EXTENSION := $(PYTHON_PACKAGE)/_core$(or $(word 2,$(PYTHON_CONFIG)),.abi3.so)
$(OBJ)/runtime/python/%.o: private TORT_CPPFLAGS += -isystem $(word 1,$(PYTHON_CONFIG)) $(word 3,$(PYTHON_CONFIG))

$(PYTHON_EXTENSION): $(PYTHON_OBJECTS) $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) -o $@ $^ $(LIBRARY_LIBS) -ldl

$(PYTHON_PACKAGE)/.files: $(PYTHON_FILES)
	@mkdir -p $(@D)
	$(Q)cd runtime/python/tinyort && cp --parents $(PYTHON_FILES:runtime/python/tinyort/%=%) $(abspath $(@D))
	@touch $@

.PHONY: python
## Build the package for Python in build/python: PYTHONPATH=build/python python3 -c 'import tinyort'.
python: $(PYTHON_EXTENSION) $(PYTHON_PACKAGE)/.files
