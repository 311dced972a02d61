# What is built, when, and with which flags: what keeps the first build short and the second one shorter.
TESTS += test-build

.PHONY: test-build
## Test what the first build leaves out, what one architecture costs, and that a second checkout takes its objects from ccache.
test-build:
	@MAKE="$(MAKE)" CC="$(CC)" NVCC="$(NVCC)" CCACHE="$(CCACHE)" sh tests/first_build/test.sh
