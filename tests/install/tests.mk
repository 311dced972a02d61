# What `make install` leaves: files, symbols, and a program built against them alone.
TESTS += test-install

.PHONY: test-install
## Test what make install leaves, as an application sees it.
test-install: all
	@.ci/setup.sh cmake
	@CC="$(CC)" CXX="$(CXX)" LINK_FLAGS="$(SANITIZE_FLAGS)" MAKE="$(MAKE)" sh tests/install/test.sh $(BUILD)/tests/install
