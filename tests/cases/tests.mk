# Cases of operators, a file a family (cases.h), for the runners that have some: $(OBJ)/tests/cases/KIND.inc says TABLE(NAME) for each table.
CASE_SOURCES := $(sort $(wildcard tests/cases/*.c))
CASE_OBJECTS := $(CASE_SOURCES:%.c=$(OBJ)/%.o)
CASE_TABLES := $(patsubst %,$(OBJ)/tests/cases/%.inc,cases refusals lines rows)

$(CASE_TABLES): $(OBJ)/tests/cases/%.inc: FORCE
	@mkdir -p $(@D)
	$(Q)sed -n 's/^const .*\(tort_$*_[a-z0-9_]*\)\[\] = {.*/TABLE(\1)/p' /dev/null $(CASE_SOURCES) > $@.new
	$(Q)cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(addprefix $(OBJ)/tests/,unit/operator_case.o unit/operator_cases.o unit/cpu_kernel_cases.o cuda/kernels.o): $(CASE_TABLES)

# What makes nodes for the rows of cpu is in the unit tests; where nobody asks for it, the linker leaves out what does.
$(CASE_OBJECTS): private SECTIONS := -ffunction-sections -fdata-sections
$(BUILD)/tests/cuda/kernels: private LDFLAGS += -Wl,--gc-sections
