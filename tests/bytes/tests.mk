# 8-bit results against the graphs that they stand for, in double: joined nodes and operators, over the scales that quantizers write.
TESTS += test-bytes
THOROUGH_TESTS += test-bytes-all

.PHONY: test-bytes test-bytes-all
## Hold every fusion and operator of 8-bit numbers against the graph in double, on each provider and instruction set.
test-bytes: $(TINYORT) $(CUDASIM_LIBRARY)
	@status=0; \
	$(VENV)/bin/python tests/bytes/run.py $(TINYORT) || status=1; \
	$(VENV)/bin/python tests/bytes/networks.py $(TINYORT) || status=1; \
	exit $$status

## The same over all pairs of scales and zero points, of several seeds.
test-bytes-all: $(TINYORT) $(CUDASIM_LIBRARY)
	@status=0; \
	$(VENV)/bin/python tests/bytes/run.py $(TINYORT) --thorough || status=1; \
	$(VENV)/bin/python tests/bytes/networks.py $(TINYORT) --thorough || status=1; \
	exit $$status
