# What is built is hardened: by what readelf and nm say of it, and by a library that somebody has put beside the program.
TESTS += test-hardening

.PHONY: test-hardening
## Prove that program, libraries and Python's extension are hardened, and that the program loads no library from beside itself.
test-hardening: $(TINYORT) $(LIBRARY) $(SHARED) $(EXTRA_SHARED) $(CUDASIM_LIBRARY) $(PYTHON_EXTENSION)
ifeq ($(SANITIZE)$(PLAIN),)
	@CC="$(CC)" sh tests/hardening/test.sh $(MACHINE) $(LIBRARY) $^
else
	@echo "skipped: hardening (SANITIZE or CPU=plain builds are without)"; echo "hardening: 0 passed, 0 failed, 1 skipped"
endif
