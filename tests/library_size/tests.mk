# How large libtinyort.so is on x86-64, stripped and without CUDA, with the protobuf-c that it needs. SIZE is the limit in bytes.
TESTS += test-library-size

SIZE ?= 2300000 # products of bytes before VNNI in an order of their words: 8 kB for v2, 13 for v4 and 9 for v3; of bfloat16 on matrix units, 6; rows and claims of 8-bit kernels of devices, for which a laptop plans
SIZED := $(BUILD)/tests/library_size.so

$(SIZED): $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) -s -o $@ $^ $(LIBRARY_LIBS)

# Other flags and instruction sets make another size, which tells nothing.
.PHONY: test-library-size
## Fail where libtinyort.so, stripped and without CUDA, and libprotobuf-c.so are together larger than 2.3 MB; V=1 tells what is large in it.
test-library-size: private PROTOBUF_C_SHARED = $(shell $(CC) -print-file-name=libprotobuf-c.so.1)
test-library-size: $(SIZED)
ifeq ($(OPT)$(SANITIZE)$(MACHINE),-O3 -g1x86_64)
	@V=$(V) sh tests/library_size/test.sh $(SIZED) $(PROTOBUF_C_SHARED) $(SIZE) $(LIBRARY_OBJECTS)
else
	@echo "skipped: the size of libtinyort.so (OPT, SANITIZE or machine is another one)"; echo "library-size: 0 passed, 0 failed, 1 skipped"
endif
