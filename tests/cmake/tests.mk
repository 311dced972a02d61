# The build by CMake, for those who have no make.
TESTS += test-cmake

.PHONY: test-cmake
## Hold the sources, flags and tables of runtime/CMakeLists.txt against make's, and build an application with it.
test-cmake:
	@.ci/setup.sh build cmake
	@CC="$(CC)" CCACHE="$(CCACHE)" MAKE="$(MAKE)" sh tests/cmake/test.sh $(BUILD)/tests/cmake $(VENV)/bin/python
