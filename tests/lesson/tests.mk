# The lesson of models/lesson/README.md: its commands, held against what it shows, and a command line for its last two parts.
TESTS += test-lesson

LESSON := $(BUILD)/tests/tinyort-lesson
LESSON_EXERCISE := $(BUILD)/tests/lesson/tinyort-lesson
LESSON_OBJECTS := $(patsubst %,$(OBJ)/tests/%.o,lesson/providers segments/engine_provider)

.PHONY: lesson
## Build what models/lesson/README.md uses: tinyort, the simulated CUDA device, and a tinyort with the providers of the lesson.
lesson: $(TINYORT) $(CUDASIM_LIBRARY) $(LESSON)

.PHONY: test-lesson
## Run the commands of models/lesson/README.md against what it shows; WRITE=1 writes what they print into it.
test-lesson: lesson $(LESSON_EXERCISE)
	@$(VENV)/bin/python tests/lesson/run.py $(if $(WRITE),--write) $(TINYORT) $(LESSON) $(LESSON_EXERCISE)

$(LESSON): $(OBJ)/tests/fake_provider.o
$(LESSON_EXERCISE): $(OBJ)/tests/lesson/exercise.o
$(LESSON) $(LESSON_EXERCISE): $(CLI_OBJECTS) $(EXTRA_LIBRARY) $(LESSON_OBJECTS) $(LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(EXTRA_LIBS) $(CLI_LIBS) $(LIBRARY_LIBS)

# The provider with the change that the page tells its reader to make.
$(OBJ)/tests/lesson/exercise.c: tests/fake_provider.c models/lesson/tanh.patch
	@mkdir -p $(@D)
	$(Q)patch -s -o $@ $^
$(OBJ)/tests/lesson/exercise.o: $(OBJ)/tests/lesson/exercise.c $(OBJ)/flags
	@echo "  CC    $<"
	$(Q)$(COMPILE) $(WARNINGS) -c -o $@ $<
