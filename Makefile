# The build of tinyort: `make` builds, `make demo` shows the main job, `make test` tests, `make help` lists the rest.
#
# How it is organized. Sources are found by wildcard, so a new file needs no line here: the library is runtime/core/, loader/,
# ops/ and kernels/cpu/ with their folders, kernels/cuda/ (its plain C is in every build); the command line is runtime/cli/, with
# runtime/firmware/ and kernels/firmware/. Objects lie in $(BUILD)/obj and are made again when a header, a flag or the CUDA setting changes. A folder of tests adds its targets by a
# file tests/FOLDER/tests.mk, which says `TESTS += test-FOLDER` and gives the rule; a folder of kernels that is built in a way
# of its own has its rules in kernels/FOLDER/rules.mk. What must be installed first is known by .ci/setup.sh alone: `make` says
# what is missing; `make setup`, `make demo` and `make test` install it.
#
# Variables a user may set: TARGET (another machine or C library, see its table), CC, OPT, CPPFLAGS, CFLAGS, LDFLAGS (the last three are added to
# ours), BUILD, PREFIX, DESTDIR, SANITIZE (as for -fsanitize=), PICTURES and REGEX (0 does without these parts and their libraries), CUDA (1, 0, or empty for "if there"), CUDA_MAJOR, CUDA_DRIVER, CUDA_ARCHS, PROFILE (1 keeps source lines in GPU kernels,
# for profilers), CCACHE (empty does without), VENV (a Python environment to use in place of build/venv), V (1 shows every command).

# ---- targets ----------------------------------------------------------------------------------------------------------
# `make TARGET=NAME` builds for another machine or C library, in build/NAME; `make TARGET=NAME setup` installs what that needs. A row of the
# table is the compiler, what it defines, what a link adds, and the emulator that runs programs here. Debian has protobuf-c, cJSON and zlib for
# few of them: they are compiled from the sources of Debian's packages (SOURCES, which .ci/setup.sh fetches), into the products.
# Targets have neither pictures nor regular expressions, whose libraries are as large as tinyort.
TARGET ?=
CC_x86_64-linux-musl := musl-gcc
LDFLAGS_x86_64-linux-musl := -static

CC_aarch64-linux-musl := aarch64-linux-gnu-gcc -specs=/usr/lib/aarch64-linux-musl/musl-gcc.specs
LDFLAGS_aarch64-linux-musl := -static
EMULATOR_aarch64-linux-musl := qemu-aarch64

# Where libc6:arm64 is installed too, the loader would take its C library.
CC_aarch64-linux-gnu := aarch64-linux-gnu-gcc
EMULATOR_aarch64-linux-gnu := qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib

CC_arm-linux-gnueabihf := arm-linux-gnueabihf-gcc
DEFINES_arm-linux-gnueabihf := -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64
EMULATOR_arm-linux-gnueabihf := qemu-arm -L /usr/arm-linux-gnueabihf

CC_riscv64-linux-gnu := riscv64-linux-gnu-gcc
EMULATOR_riscv64-linux-gnu := qemu-riscv64 -L /usr/riscv64-linux-gnu -cpu rv64,v=true,vlen=128,vext_spec=v1.0

TARGETS := $(patsubst CC_%,%,$(filter CC_%,$(.VARIABLES)))
ifneq ($(TARGET),)
$(if $(filter $(TARGET),$(TARGETS)),,$(error TARGET=$(TARGET): expected one of $(sort $(TARGETS))))
CC := $(CC_$(TARGET))
TOOLS := $(patsubst %gcc,%,$(filter-out musl-gcc,$(firstword $(CC))))
AR := $(TOOLS)ar
LD := $(TOOLS)ld
OBJCOPY := $(TOOLS)objcopy
BUILD ?= build/$(TARGET)
CUDA ?= 0
PICTURES ?= 0
REGEX ?= 0
SOURCES ?= build/sources
endif
EMULATOR := $(EMULATOR_$(TARGET))

BUILD ?= build
PREFIX ?= /usr/local
VENV ?= build/venv
OPT ?= -O3 -g1
SANITIZE ?=
OBJCOPY ?= objcopy
STRIP := $(TOOLS)strip
PROFILE ?=
# What was compiled before, in this checkout or another one, is copied; for ccache the headers that the compiler names tell
# whether it still holds (a pass of the preprocessor would take longer). A CC of the user's may have ccache already.
CCACHE := $(if $(filter undefined,$(origin CCACHE)),$(if $(findstring ccache,$(CC)),,$(shell command -v ccache)),$(CCACHE))
export CCACHE_DEPEND := 1
V ?=
Q := $(if $(V),,@)

OBJ := $(BUILD)/obj
empty :=
comma := ,
space := $(empty) $(empty)
VERSION := $(or $(shell sed -n 's/^\#define TORT_VERSION "\(.*\)"/\1/p' runtime/include/tinyort.h 2>/dev/null),0.1.0)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# ---- what is in the build ---------------------------------------------------------------------------------------------

# What is in the build. OPS: lists of operators (folders of ops/ and kernels/cpu/), of which onnx always is; or a file with one operator a line, as `tinyort
# inspect MODEL --ops` prints them, for these operators alone and what their fusions make. CPU=plain: the provider cpu with nothing but the
# plain loops of ops/, no other provider, and all of it as small as it gets. SIMD=v3: of the instruction sets only this one.
# MESSAGES=0: errors and refusals have their codes, but no words.
OPS ?= onnx ml microsoft
CPU ?= fast
SIMD ?= all
MESSAGES ?= 1
OPS_FILE := $(if $(filter onnx ml microsoft,$(OPS)),,$(if $(word 2,$(OPS)),,$(wildcard $(OPS))))
$(if $(OPS_FILE),,$(if $(filter-out onnx ml microsoft,$(OPS)),$(error OPS=$(OPS): expected lists (onnx, ml, microsoft) or a file with one operator a line)))
$(if $(filter-out fast plain,$(CPU)),$(error CPU=$(CPU): expected fast or plain))
OPS_DEFINES := $(if $(OPS_FILE),-DTORT_OPS_FILE='"$(OPS_FILE)"')
PLAIN := $(filter plain,$(CPU))

# ---- flags ------------------------------------------------------------------------------------------------------------
# ISO semantics of floating point everywhere but in kernels/cpu/simd, which may contract a*b+c (not in integers.c). No kernel reads errno or the
# floating-point exception flags, which frees the compiler to vectorize the plain loops.

# The library stays small (tests/library_size): of -O3 the inner loops of kernels/cpu/simd have all, what works once a session, or has
# its loops elsewhere, has -Os, and the rest has -O2 with vectors.
# A plain build has no fast loops to lose, and -Oz, where the compiler knows it.
# C throws nothing, so what unwinds a stack is left to the debugging information.

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Werror
FLOAT := -ffp-contract=off -fno-math-errno -fno-trapping-math
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
LEVEL = $(OPT:-O3=$(if $(PLAIN),$(SMALLEST_LEVEL),-O2 -ftree-vectorize -fno-unroll-loops)) $(SECTIONS)
SECTIONS := $(if $(PLAIN)$(OPS_FILE),-ffunction-sections -fdata-sections)
SMALLEST := kernels/cuda loader ops/microsoft ops/ml $(addprefix runtime/core/,graph lowered passes plan saved session)
SMALLEST_FILES := $(addprefix ops/,activation attention center_crop_pad contents control_flow deform_conv dropout einsum fourier \
    fused_attention generate grid_sample linear_attention loss max_unpool metadata number_text optional random refused resize rnn roi \
    sequence shapes strings tfidf unary window) $(patsubst %.c,%,$(wildcard ops/fuse_*.c)) kernels/cpu/ml/trees_pack \
    $(addprefix runtime/core/run/,bind observe profile report) $(patsubst %.c,%,$(filter-out %/parallel.c,$(wildcard runtime/core/providers/*.c)))
SMALLEST_LEVEL = $(if $(shell $(CC) -Oz -fsyntax-only -x c /dev/null 2>&1),-Os,-Oz)
# Hardening: a function with an array on its stack notices that it was overrun, the C library that a buffer of a known size was, a
# processor with a shadow of the stack can hold it, and what the linker fills in is read only before main runs. (Marks where code
# may be jumped to, -fcf-protection=branch, are left out: no Linux checks them in programs, and they cost the kernels 5 %.) The loops of kernels/cpu,
# which lost up to 13 % for rows of 56 elements, have the shadow alone; a plain build, which is for its bytes and would have 6 % more,
# has what CFLAGS asks for. Sanitizers have wrappers of their own, and a FORTIFY of the user's stands.
FORTIFY_3 = $(if $(shell $(CC) -O2 -D_FORTIFY_SOURCE=3 -include stdio.h -Werror -fsyntax-only -x c /dev/null 2>&1),2,3)
FORTIFY := $(if $(PLAIN)$(SANITIZE)$(findstring FORTIFY,$(CPPFLAGS) $(CFLAGS))$(filter-out -O1 -O2 -O3 -Os,$(firstword $(OPT))),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY_3))
SHADOW = $(if $(filter x86_64,$(MACHINE)),-fcf-protection=return)
HARDENED = $(if $(PLAIN),,-fstack-protector-strong $(FORTIFY) $(SHADOW))
READ_ONLY := -Wl,-z,relro,-z,now
UNWIND := $(if $(SANITIZE),,-fno-asynchronous-unwind-tables)
TORT_CPPFLAGS := -I. -I$(OBJ) $(if $(SOURCES),$(addprefix -isystem $(SOURCES)/,protobuf-c . zlib)) -D_POSIX_C_SOURCE=200809L $(DEFINES_$(TARGET)) $(if $(filter 0,$(MESSAGES)),-DTORT_NO_MESSAGES)
# Objects hold no path of this checkout: another one makes the same, which is also what lets ccache find them.
PREFIX_MAP := -ffile-prefix-map=$(CURDIR)=.
TORT_CFLAGS = -std=c11 $(LEVEL) $(FLOAT) $(UNWIND) $(PREFIX_MAP) -fPIC -fvisibility=hidden -pthread $(HARDENED) $(SANITIZE_FLAGS)
# Packed addresses, where the linker can: a tenth of the library is pointers in its tables.
PACKED := -Wl,-z,pack-relative-relocs
LINK_SMALL = $(LINK) -Wl,--gc-sections $(if $(PLAIN),-Wl$(comma)-z$(comma)noseparate-code) $(if $(shell $(CC) -shared $(PACKED) -o /dev/null -x c /dev/null 2>&1),,$(PACKED))
LINK_SHARED = $(LINK_SMALL) -Wl,-Bsymbolic-functions -shared
COMPILER = $(CC)
COMPILE = $(CCACHE) $(COMPILER) $(TORT_CPPFLAGS) $(CPPFLAGS) $(TORT_CFLAGS) $(CFLAGS) -MD -MP
LINK = $(CC) $(TORT_CFLAGS) $(CFLAGS) $(READ_ONLY) $(LDFLAGS)
LINK_PROGRAM = $(LINK) $(LDFLAGS_$(TARGET))

# Optional parts are chosen, not found: what is in a build does not depend on which headers its machine has.
# PICTURES: PNG and JPEG as inputs of the command line, and the operator ImageDecoder. REGEX: RegexFullMatch and Tokenizer.
PICTURES ?= 1
REGEX ?= 1
HAS_PICTURES := $(filter-out 0,$(PICTURES))
HAS_REGEX := $(filter-out 0,$(REGEX))
PARTS_DEFINES := $(if $(HAS_REGEX),-DTORT_REGEX) $(if $(HAS_PICTURES),-DTORT_PICTURES)
EXTRA_LIBS := $(if $(HAS_REGEX),-lre2 -lstdc++) $(if $(HAS_PICTURES),-ltiff -lwebp -lopenjp2 -lpng -ljpeg)

# SOURCES: a folder with sources of protobuf-c, cJSON and zlib, to be compiled into the products in place of libraries that are there.
SOURCES ?=
LIBRARY_LIBS := $(if $(SOURCES),,-lprotobuf-c) -lm -lpthread
# The program has protobuf-c in it where there is an archive. A shared library cannot: Debian's is not position independent.
PROTOBUF_C := $(if $(SOURCES),,$(or $(filter /%,$(shell $(CC) -print-file-name=libprotobuf-c.a)),-lprotobuf-c))
CLI_LIBS := $(if $(HAS_PICTURES),-lpng -ljpeg) $(if $(SOURCES),,-lz -lcjson)

# ---- sources ----------------------------------------------------------------------------------------------------------

CPU_SOURCES := $(if $(PLAIN),$(addprefix kernels/cpu/,cpu.c cpu_kernels.c cpu_provider.c),$(wildcard $(addprefix kernels/cpu/,*.c microsoft/*.c ml/*.c)))
CUDA_C_SOURCES := $(if $(PLAIN),,$(wildcard kernels/cuda/*.c))
# Any other folder of kernels is a provider in plain C (kernels/README.md).
OTHER_SOURCES := $(if $(PLAIN),,$(wildcard $(patsubst %,%*.c,$(filter-out $(addprefix kernels/,cpu/ cuda/ cudasim/ firmware/ plugin/),$(wildcard kernels/*/)))))
# Code for firmware is in the command line alone, so that the library stays small: its provider, and what prints files.
FIRMWARE_SOURCES := $(wildcard kernels/firmware/*.c runtime/firmware/*/*.c)
FIRMWARE_CODE := $(wildcard kernels/firmware/code/*.h)
# So are the providers that host plugins of ONNX Runtime.
HOST_SOURCES := $(if $(PLAIN),,$(wildcard kernels/plugin/*.c))
# What writes models is in the command line and in Python's extension.
EXPORT_SOURCES := $(wildcard runtime/export/*.c runtime/quantize/*.c)
CLI_SOURCES := $(filter-out $(if $(HAS_PICTURES),,%/picture_files.c),$(wildcard runtime/cli/*.c runtime/cli/files/*.c)) $(EXPORT_SOURCES) $(FIRMWARE_SOURCES) $(HOST_SOURCES)
# Of these: tensors and values in files, which need nothing but the library.
VALUE_FILE_SOURCES := $(addprefix runtime/cli/files/,new_file.c npy.c pb_file.c pb_write.c tensor_file.c tensor_memory.c value_file.c) runtime/export/message.c
LIBRARY_SOURCES := $(filter-out $(CLI_SOURCES) $(wildcard ops/extra/*),$(wildcard runtime/build.c runtime/core/*/*.c loader/*.c ops/*.c ops/*/*.c)) $(CPU_SOURCES) $(CUDA_C_SOURCES) $(OTHER_SOURCES)
CUDA_SOURCES := $(wildcard kernels/cuda/*.cu)
EXTRA_SOURCES := ops/extra/extra.c $(if $(HAS_REGEX),$(wildcard ops/extra/regex*.c ops/extra/token*.c ops/extra/*.cpp)) \
    $(if $(HAS_PICTURES),$(wildcard ops/extra/image*.c ops/extra/picture*.c))
SIMD_UNIT_SOURCES := kernels/cpu/simd/amx.c kernels/cpu/simd/bf16.c
SIMD_SOURCES := $(filter-out $(SIMD_UNIT_SOURCES),$(wildcard kernels/cpu/simd/*.c))
SIMD_DOT_SOURCES := kernels/cpu/simd/bytes.c kernels/cpu/simd/blocked_bytes.c
TEST_HELPER_SOURCES := $(wildcard tests/*.c)
UNIT_SOURCES := $(wildcard tests/unit/*.c tests/cases/*.c)

# Sources with tables of rows, in the order in which their rows are asked: by name, but for those whose rows come before others of
# the same operators. The lists of OPS are folders.
CPU_FIRST := $(patsubst %,kernels/cpu/%.c,blocked_window blocked_winograd blocked_byte_conv blocked_byte_depthwise blocked_byte_window byte_depthwise map point_transpose)
CUDA_FIRST := kernels/cuda/move_nhwc.c
OPS_FOLDERS := $(if $(OPS_FILE),ml microsoft,$(filter-out onnx,$(OPS)))
in_ops = $(filter-out $(foreach list,$(filter-out $(OPS_FOLDERS),ml microsoft),$(1)/$(list)/%),$(2))
OPS_TABLES := $(call in_ops,ops,$(sort $(filter ops/%,$(LIBRARY_SOURCES))))
CPU_TABLES := $(if $(PLAIN),,$(CPU_FIRST) $(call in_ops,kernels/cpu,$(filter-out $(CPU_FIRST),$(sort $(CPU_SOURCES)))))
CUDA_TABLES := $(CUDA_FIRST) $(filter-out $(CUDA_FIRST),$(sort $(CUDA_C_SOURCES)))

# A source of kernels/cpu/simd is compiled once for each instruction set; TORT_SIMD is the suffix of its symbols. Its loops
# begin at a cache line: those of v2 lose up to 20 % elsewhere, as it happens with whatever is linked before them.
COMPILES_FOR := $(shell $(CC) -dumpmachine)
MACHINE := $(firstword $(subst -, ,$(COMPILES_FOR)))
ifeq ($(MACHINE),x86_64)
SIMD_SETS := v2 v3 v4
SIMD_DOT_SETS := v3_vnni v4_vnni
SIMD_UNIT_SETS := v4_amx
# TILES=model: an instruction set v3_tiles, whose matrix unit is a model in C (kernels/cpu/simd/tiles.h), for tests.
ifeq ($(TILES),model)
SIMD_DOT_SETS += v3_exact
SIMD_UNIT_SETS += v3_tiles
endif
else ifeq ($(MACHINE),aarch64)
SIMD_SETS := neon
SIMD_DOT_SETS := neon_dot
else ifneq ($(filter arm-%eabihf,$(COMPILES_FOR)),)
SIMD_SETS := neon
# GCC makes NEON of vectors of floats on 32-bit Arm only where it may also reorder sums. The options let clang unroll loops of a constant count
# before it gives sums their registers, and keep the order of the source, with which these suffice.
SIMD_CC ?= clang --target=$(COMPILES_FOR) -mllvm -unroll-threshold=1000 -mllvm -pre-RA-sched=source
else ifeq ($(MACHINE),riscv64)
SIMD_SETS := rvv
# GCC 12 knows no vectors of RISC-V.
SIMD_CC ?= clang-16 --target=$(COMPILES_FOR)
endif
ifneq ($(SIMD)$(PLAIN),all)
SIMD_SETS := $(if $(PLAIN),,$(filter $(SIMD),$(SIMD_SETS)))
SIMD_DOT_SETS := $(if $(PLAIN),,$(filter $(SIMD)_%,$(SIMD_DOT_SETS)))
SIMD_UNIT_SETS := $(if $(PLAIN),,$(filter $(SIMD)_%,$(SIMD_UNIT_SETS)))
$(if $(PLAIN)$(SIMD_SETS),,$(error SIMD=$(SIMD): no instruction set of this architecture))
endif
CPU_SETS := $(strip $(SIMD_SETS) $(SIMD_DOT_SETS) $(SIMD_UNIT_SETS))
CPU_DEFINES := $(if $(PLAIN),-DTORT_CPU_PLAIN) $(CPU_SETS:%=-DTORT_HAS_%) $(if $(CPU_SETS),-DTORT_CPU_SETS='"$(subst $(space),$(comma) ,plain $(CPU_SETS))"' \
    -DTORT_CPU_BUILT_FOR='"$(strip $(patsubst neon,$(MACHINE)-neon,$(patsubst rvv,$(MACHINE)-rvv,$(SIMD_SETS:v%=x86-64-v%))))"')
SIMD_FLAGS_v2 := -march=x86-64-v2
SIMD_FLAGS_v3 := -march=x86-64-v3
SIMD_FLAGS_v4 := -march=x86-64-v4 -mprefer-vector-width=512
SIMD_FLAGS_neon := $(if $(filter arm,$(MACHINE)),-march=armv7-a -mfpu=neon-vfpv4 -mfloat-abi=hard)
SIMD_FLAGS_rvv := -march=rv64gcv -mabi=lp64d
# With instructions that multiply bytes: the products of bytes alone.
SIMD_FLAGS_v3_vnni := $(SIMD_FLAGS_v3) -mavxvnni
SIMD_FLAGS_v4_vnni := $(SIMD_FLAGS_v4) -mavx512vnni
SIMD_FLAGS_v4_amx := $(SIMD_FLAGS_v4_vnni) -mamx-tile -mamx-int8
SIMD_FLAGS_v3_exact := $(SIMD_FLAGS_v3) -DTILE_MODEL
SIMD_FLAGS_v3_tiles := $(SIMD_FLAGS_v3_exact)
SIMD_FLAGS_neon_dot := -march=armv8.2-a+dotprod

# ---- CUDA -------------------------------------------------------------------------------------------------------------
# The plain C of kernels/cuda is in libtinyort.a, where it can plan for a GPU but not run on one. With nvcc it is compiled
# a second time with TORT_CUDA=1 and goes, with the .cu files and NVIDIA's static cudart, into libtinyort_cuda.a: one object
# whose only global names are ours, so that it lives beside an application's own CUDA code. The command line and
# libtinyort.so have it in their list of providers (runtime/build.c, compiled twice, too); an application that links
# libtinyort.a names tort_provider_cuda in its session options. The newer way of launching kernels is not used, because its
# stubs hold guarded statics that need the C++ library.
#
# CUDA_MAJOR is the CUDA of the cudart that is linked, and of the assembler of the kernels: 12 runs with drivers from 525 on, 13 with those
# from 580 on. PyPI has no nvcc of CUDA 12, so nvcc 13 compiles with the rest of CUDA 12.9 (.ci/setup.sh, toolkit); an nvcc from
# 12.5 on does it alone. sm_88 and sm_110 are unknown to CUDA 12. CUDA_DRIVER is the oldest driver that loads the program. It decides how
# kernels are compressed: drivers before 550 read LZ4 alone, which takes three times the bytes; CUDA_DRIVER=550 is for a small build.
#
# CUDA_ARCHS is what machine code is made for. A build for one architecture has its machine code alone, and takes half as long.
# A build for several has PTX too, which the driver compiles for any newer device, in every kind of code that gpu.h tells apart
# by architecture: 80 has all of it, for devices that come after this list and for those that a shorter list leaves out; 75 is
# for a Turing, in a list that leaves it out. TORT_CUDA_IMAGES tells kernels/cuda/images.c, so that plans and claims know what
# a device will run; without CUDA it is all that the packages have together (kernels/cuda/README.md has the table of them).

# The lesson needs no GPU, and is not to wait for code that one would run.
CUDA ?= $(if $(filter lesson,$(MAKECMDGOALS)),0)
ifeq ($(origin CUDA_MAJOR),undefined)
CUDA_MAJOR := $(if $(filter 88 110,$(CUDA_ARCHS)),13,12)
endif
CUDA_DRIVER ?= $(if $(filter 12,$(CUDA_MAJOR)),525,580)
$(if $(filter 525 550 580,$(CUDA_DRIVER)),,$(error CUDA_DRIVER=$(CUDA_DRIVER): expected 525, 550 or 580))
$(if $(filter 13-525 13-550 12-580,$(CUDA_MAJOR)-$(CUDA_DRIVER)),$(error CUDA_DRIVER=$(CUDA_DRIVER): with CUDA_MAJOR=$(CUDA_MAJOR) it is $(if $(filter 12,$(CUDA_MAJOR)),525 or 550,580)))
CUDA_ALL_ARCHS := $(if $(filter aarch64,$(MACHINE)),$(if $(filter 12,$(CUDA_MAJOR)),87 90,90 100 110 121),75 80 86 90 100 120)
CUDA_ARCHS ?= $(CUDA_ALL_ARCHS)
CUDA_PTX ?= $(if $(word 2,$(CUDA_ARCHS)),$(if $(filter 75,$(CUDA_ARCHS))$(filter aarch64,$(MACHINE)),,75) 80)
# $(1) architectures of machine code, $(2) of PTX, $(3) the oldest driver.
cuda_images = -DTORT_CUDA_IMAGES=\"$(subst $(space),\ ,$(strip $(1:%=sm_%) $(2:%=PTX-%)))\" -DTORT_CUDA_DRIVER=$(3)
cuda_all_images = $(call cuda_images,75 80 86 87 90 100 110 120 121,80,525)
NVCC_FETCHED := build/cuda/nvidia/cu13/bin/nvcc
CUDA_TOOLKIT := build/cuda$(CUDA_MAJOR)-$(MACHINE)

# Of the nvccs here (that on PATH, or which a script on PATH calls; the one from PyPI): one of CUDA_MAJOR that compiles for the machine it runs on, or one of 13, which
# takes the rest from CUDA_TOOLKIT.
NVCC :=
ifneq ($(CUDA),0)
NVCC_RUNS_ON := $(shell uname -m)
NVCCS := $(addsuffix /nvcc,$(shell nvcc --dryrun -x cu -c -o /dev/null /dev/null 2>&1 | sed -n 's/^.\$$ _HERE_=//p')) $(wildcard $(NVCC_FETCHED))
nvcc_release = $(shell $(1) --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
nvcc_of = $(firstword $(foreach nvcc,$(NVCCS),$(if $(filter $(1),$(call nvcc_release,$(nvcc))),$(nvcc))))
NVCC_13 := $(or $(call nvcc_of,13.%),$(if $(filter 1,$(CUDA)),$(NVCC_FETCHED)))
ifeq ($(NVCC_RUNS_ON),$(MACHINE))
NVCC := $(if $(filter 12,$(CUDA_MAJOR)),$(call nvcc_of,12.5 12.6 12.7 12.8 12.9),$(NVCC_13))
endif
NVCC := $(or $(NVCC),$(if $(NVCC_13),$(CUDA_TOOLKIT)/bin/nvcc))
endif

ifneq ($(NVCC),)
CUDA_STATE := built with CUDA $(CUDA_MAJOR) by $(NVCC), for compute capabilities $(CUDA_ARCHS) and drivers from $(CUDA_DRIVER) on
CUDA_HOME := $(patsubst %/bin/nvcc,%,$(NVCC))
CUDA_OBJECTS := $(CUDA_C_SOURCES:%.c=$(OBJ)/with_cuda/%.o) $(CUDA_SOURCES:%.cu=$(OBJ)/%.cu.o)
CUDA_BUILD := $(OBJ)/with_cuda/runtime/build.o
CUDA_LIBRARY := $(BUILD)/libtinyort_cuda.a
CUDA_LIBS := -ldl -lrt
CUDA_DEFINES := -DTORT_CUDA=1 $(call cuda_images,$(CUDA_ARCHS),$(CUDA_PTX),$(CUDA_DRIVER))
$(OBJ)/with_cuda/%.o: private TORT_CPPFLAGS += $(CUDA_DEFINES) -isystem $(CUDA_HOME)/include
# How kernels are compiled, whatever for.
KERNEL_FLAGS := -std=c++17 -O3 $(if $(PROFILE),-lineinfo) -Xptxas -v -I. -DTORT_CUDA=$(CUDA_MAJOR) -D__NV_LEGACY_LAUNCH -Werror all-warnings
# Kernels whose tiles fill the shared memory are compiled for sm_86 too, which has less of it than sm_80; of all others it runs the code
# for sm_80. sm_89 runs what sm_86 does: its own code would be the same, instruction by instruction.
CUDA_TILED := attend_float attend_half conv conv_nhwc conv_stem matmul matmul_nbits
# $(1) a source.
archs_of = $(filter-out $(if $(filter $(CUDA_TILED:%=kernels/cuda/%.cu),$(1)),,$(if $(filter 80,$(CUDA_ARCHS)),86 89)),$(CUDA_ARCHS))
NVCC_COMPRESS := $(if $(filter 525,$(CUDA_DRIVER)),$(if $(findstring $(CUDA_TOOLKIT),$(NVCC)),--compress-mode=speed) -Xfatbin=-compress-all,--compress-mode=size)
NVCC_FLAGS = $(foreach arch,$(call archs_of,$<),-gencode arch=compute_$(arch)$(comma)code=sm_$(arch)) \
    $(foreach ptx,$(CUDA_PTX),-gencode arch=compute_$(ptx)$(comma)code=compute_$(ptx)) $(NVCC_COMPRESS) $(KERNEL_FLAGS) \
    $(if $(filter $(NVCC_RUNS_ON),$(MACHINE)),,-ccbin $(patsubst %gcc,%g++,$(lastword $(CC)))) \
    -Xcompiler -D__NV_LEGACY_LAUNCH,-fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-Wall,-Wextra
else
CUDA_STATE := built without CUDA ($(if $(filter 0,$(CUDA)),CUDA=0,no nvcc 13$(if $(filter 12,$(CUDA_MAJOR)), or from 12.5 on) on PATH; make CUDA=1 fetches one))
endif

# ---- products -------------------------------------------------------------------------------------------------------

SIMD_OBJECTS := $(foreach set,$(SIMD_SETS),$(SIMD_SOURCES:%.c=$(OBJ)/%.$(set).o)) \
    $(foreach set,$(SIMD_DOT_SETS),$(SIMD_DOT_SOURCES:%.c=$(OBJ)/%.$(set).o)) \
    $(foreach set,$(SIMD_UNIT_SETS),$(SIMD_UNIT_SOURCES:%.c=$(OBJ)/%.$(set).o))
# The ONNX format as C structs, which protoc-c makes of loader/onnx.proto.
FORMAT := $(OBJ)/loader/onnx.pb-c
# Of protobuf-c, cJSON and zlib, which the library and the command line take from SOURCES.
LIBRARY_SOURCED := $(if $(SOURCES),$(OBJ)/sources/protobuf-c/protobuf-c/protobuf-c.o)
CLI_SOURCED := $(if $(SOURCES),$(patsubst %,$(OBJ)/sources/%.o,cjson/cJSON $(addprefix zlib/,adler32 crc32 inffast inflate inftrees zutil)))
LIBRARY_OBJECTS := $(LIBRARY_SOURCES:%.c=$(OBJ)/%.o) $(FORMAT).o $(SIMD_OBJECTS) $(LIBRARY_SOURCED)
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(OBJ)/%.o) $(CLI_SOURCED)
VALUE_FILE_OBJECTS := $(VALUE_FILE_SOURCES:%.c=$(OBJ)/%.o)
EXPORT_OBJECTS := $(EXPORT_SOURCES:%.c=$(OBJ)/%.o)
EXTRA_OBJECTS := $(patsubst %,$(OBJ)/%.o,$(basename $(EXTRA_SOURCES)))
TEST_HELPER_OBJECTS := $(TEST_HELPER_SOURCES:%.c=$(OBJ)/%.o)
UNIT_OBJECTS := $(UNIT_SOURCES:%.c=$(OBJ)/%.o)

LIBRARY := $(BUILD)/libtinyort.a
SHARED := $(BUILD)/libtinyort.so
TINYORT := $(BUILD)/tinyort
# What runs here: the program, or a script that gives it to the emulator.
RUN_TINYORT := $(if $(EMULATOR),$(BUILD)/emulated/tinyort,$(TINYORT))
PKGCONFIG := $(BUILD)/tinyort.pc
EXTRA_LIBRARY := $(BUILD)/libtinyort_extra.a
EXTRA_SHARED := $(BUILD)/libtinyort_extra.so

# ---- what can be made -------------------------------------------------------------------------------------------------

# What a build needs, as .ci/setup.sh names it.
BUILD_SETS := $(or $(TARGET),$(if $(filter install-library,$(MAKECMDGOALS)),library,build) $(if $(HAS_PICTURES),pictures) $(if $(HAS_REGEX),regex))

# demo and test build on every processor, unless the user's make has a -j of its own.
PARALLEL = --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
# test builds the GPU kernels for one architecture unless told otherwise: all of them take minutes, and nothing here runs them.
ONE_ARCH = $(if $(filter file,$(origin CUDA_ARCHS)),CUDA_ARCHS=80)
# demo builds them for this machine's GPUs, or not at all where there is none, unless told otherwise; for all architectures where
# one of the GPUs is not in the list.
GPU_HERE := $(BUILD)/gpu_here
GPUS_HERE = $(shell test -x $(GPU_HERE) && $(GPU_HERE))
DEMO_CUDA = $(if $(CUDA)$(filter-out file,$(origin CUDA_ARCHS)),,$(if $(GPUS_HERE),$(if $(filter-out $(CUDA_ALL_ARCHS) 87 88 89 103 110 121,$(GPUS_HERE)),,CUDA_ARCHS='$(GPUS_HERE)'),CUDA=0))

$(GPU_HERE): .ci/gpu_here.c
	@mkdir -p $(@D)
	@$(CC) -o $@ $< -ldl

.PHONY: all
## Build build/tinyort, libtinyort and libtinyort_extra (.a and .so) and tinyort.pc; with CUDA libtinyort_cuda.a too.
all: $(TINYORT) $(LIBRARY) $(CUDA_LIBRARY) $(SHARED) $(EXTRA_LIBRARY) $(EXTRA_SHARED) $(PKGCONFIG)
	@echo "tinyort: $(CUDA_STATE); $(CUDASIM_STATE)"

.PHONY: setup
## Install what building, testing and formatting need: Debian packages, and Python packages into build/venv.
setup:
	@.ci/setup.sh $(BUILD_SETS) $(if $(TARGET),,test cmake format cache)
	@.ci/setup.sh $(if $(SOURCES),sources=$(SOURCES)) venv=$(VENV)

.PHONY: demo
## Set up, build the command line alone, and recognize a hand-written digit, with the report of where every node ran.
demo: $(GPU_HERE)
	@.ci/setup.sh $(BUILD_SETS)
	@$(MAKE) $(PARALLEL) $(DEMO_CUDA) $(TINYORT)
	@.ci/demo.sh $(TINYORT) "$(GPUS_HERE)"

.PHONY: test
## Set up, build, and run the tests, a quarter of an hour on two cores; `make -s test TESTS=test-unit` runs one runner.
test: test-setup
	@$(MAKE) --no-print-directory $(ONE_ARCH) KERNEL_CASES=--once run-tests

.PHONY: check
## The gate of every change, a few minutes on two cores: units, backend cases, command line, plans, layers, sizes, CUDA kernels.
check: test-setup
	@$(MAKE) --no-print-directory $(ONE_ARCH) KERNEL_CASES=--once RUNNERS='$(CHECKS)' run-tests

.PHONY: test-all
## What a release runs: test, and all that takes longer than a quarter of an hour.
test-all: test-setup
	@$(MAKE) --no-print-directory CUDA_ARCHS='$(CUDA_ALL_ARCHS)' CUDA_PTX= RUNNERS='$$(TESTS) $$(THOROUGH_TESTS)' run-tests

.PHONY: test-setup
test-setup:
	@.ci/setup.sh $(BUILD_SETS) test cmake arm-linux-gnueabihf sources=build/sources
	@.ci/setup.sh venv=$(VENV)

# A make of its own, because which runners there are can depend on what the set-up has just installed. First all is built, on
# every processor; then as many runners as there are processors run side by side, those that take long before the others. What
# does not build is a failure of its own, for not all of it has a runner that needs it.
.PHONY: run-tests
run-tests:
	@built=yes; $(MAKE) $(PARALLEL) -k BUILD_ONLY=1 all $(RUNNERS) || built=no; \
	times > $(BUILD)/times; BUILD_TIMES=$(BUILD)/times BUILT=$$built MAKE="$(MAKE)" .ci/test.sh $(filter $(LONG_TESTS),$(RUNNERS)) $(filter-out $(LONG_TESTS),$(RUNNERS))

.PHONY: asan
## Build everything with the address and undefined-behaviour sanitizers in build/asan, and run the unit tests so.
asan:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SANITIZE=address,undefined OPT='-O1 -g' all test-unit

.PHONY: size
## Print what each part of the library takes; with OPS, CPU and SIMD (see the top of the Makefile) that of a smaller build.
size: $(SHARED)
	@.ci/size.sh $(SHARED) $(LIBRARY_OBJECTS)

.PHONY: check-layers
## Prove from #include lines, and from the symbols of the objects, that dependencies point one way, and that the core takes nothing from above.
check-layers: $(LIBRARY_OBJECTS) $(patsubst %.c,$(OBJ)/%.o,$(filter runtime/%,$(FIRMWARE_SOURCES)))
	@.ci/check_layers.sh . $(OBJ)

.PHONY: check-sizes
## Show the lines of each room and how long functions are; fail beyond a budget (.ci/rooms.txt), and where functions or files get too long. LONGEST=20 names the 20 longest.
check-sizes:
	@$(VENV)/bin/python .ci/check_sizes.py . $(if $(LONGEST),--longest $(LONGEST))

.PHONY: check-spills
## Compile every CUDA kernel for every architecture; list registers and memory, fail on spills. ALL=1 lists every kernel.
check-spills: $(CUDA_SOURCES:%.cu=$(if $(NVCC),$(OBJ)/%.cu.o))
	$(if $(NVCC),,@echo "skipped: registers of CUDA kernels (no nvcc here)"; echo "cuda-spills: 0 passed, 0 failed, 1 skipped")
	$(if $(NVCC),@.ci/check_spills.sh "$(CUDA_ARCHS)" "$(CUDA_TILED)" $(CUDA_SOURCES:%.cu=$(OBJ)/%.cu.ptxas))

FORMATTED = $(shell find .ci runtime loader ops kernels models tests -name build -prune -o \
    \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \) -print)
.PHONY: format format-check
## Rewrite every source in the tree's format.
format:
	@clang-format -i $(FORMATTED)
## Fail where a source is not in the tree's format.
format-check:
	@clang-format --dry-run -Werror $(FORMATTED) && echo "format: ok"

.PHONY: operators-page
## Write ops/OPERATORS.md again, from what the program says.
operators-page: $(TINYORT)
	@{ echo '# Operators'; echo; echo 'What `tinyort ops` says (`make operators-page` writes this page); `tinyort ops Conv` tells all of one.'; \
	   echo; echo '```'; $(TINYORT) ops --width 120; echo '```'; } > ops/OPERATORS.md

INSTALL_LIB = $(DESTDIR)$(PREFIX)/lib
INSTALL_INCLUDE = $(DESTDIR)$(PREFIX)/include
MAN_PAGE = $(DESTDIR)$(PREFIX)/share/man/man1/tinyort.1
COMPLETIONS = $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions/tinyort zsh/site-functions/_tinyort fish/vendor_completions.d/tinyort.fish)
PUBLIC_HEADERS := $(patsubst %,runtime/include/%.h,tinyort tinyort_report tinyort_plan tinyort_profile) ops/extra/tinyort_extra.h
# What a provider outside of this tree includes: provider.h and what that needs, and the params of the operators.
PROVIDER_HEADERS := $(patsubst %,runtime/include/%.h,tinyort tinyort_report provider provider_more op node bands) \
    $(patsubst %,runtime/core/%.h,graph/shape base/memory base/error base/watch) $(filter-out ops/ops.h ops/values.h,$(wildcard ops/*.h ops/*/*.h))
# Programs for those who begin, with what they are compiled from and the model that they open.
EXAMPLES := $(wildcard tests/install/examples/*)
EXAMPLE_FILES := models/digits.onnx $(foreach file,onnx_bytes fake_provider layouts/channels_provider segments/engine_provider,tests/$(file).c tests/$(file).h)
INSTALL_EXAMPLES = $(DESTDIR)$(PREFIX)/share/doc/tinyort/examples
.PHONY: install install-library install-strip uninstall
## Install the libraries with their headers and examples, without the command line, which needs cJSON and zlib.
install-library: $(LIBRARY) $(CUDA_LIBRARY) $(SHARED) $(EXTRA_LIBRARY) $(EXTRA_SHARED) $(PKGCONFIG)
	install -d $(INSTALL_LIB)/pkgconfig $(INSTALL_LIB)/cmake/tinyort $(INSTALL_LIB)/tinyort $(INSTALL_INCLUDE)
	install -m 644 $(LIBRARY) $(INSTALL_LIB)/libtinyort.a
	$(if $(CUDA_LIBRARY),install -m 644 $(CUDA_LIBRARY) $(INSTALL_LIB)/libtinyort_cuda.a)
	install -m 755 $(SHARED) $(INSTALL_LIB)/libtinyort.so.$(VERSION)
	ln -sf libtinyort.so.$(VERSION) $(INSTALL_LIB)/libtinyort.so.0
	ln -sf libtinyort.so.$(VERSION) $(INSTALL_LIB)/libtinyort.so
	install -m 644 $(EXTRA_LIBRARY) $(INSTALL_LIB)/libtinyort_extra.a
	install -m 755 $(EXTRA_SHARED) $(INSTALL_LIB)/libtinyort_extra.so.$(VERSION)
	ln -sf libtinyort_extra.so.$(VERSION) $(INSTALL_LIB)/libtinyort_extra.so.0
	ln -sf libtinyort_extra.so.$(VERSION) $(INSTALL_LIB)/libtinyort_extra.so
	ln -sf ../libtinyort.a ../libtinyort_extra.a $(INSTALL_LIB)/tinyort
	sed 's|^prefix=.*|prefix=$(PREFIX)|' $(PKGCONFIG) > $(INSTALL_LIB)/pkgconfig/tinyort.pc
	sed 's|^prefix=.*|prefix=$(PREFIX)|; s|^Name: .*|Name: tinyort-provider|; s|^Cflags: .*|Cflags: -I$${includedir}/tinyort|' \
	    $(PKGCONFIG) > $(INSTALL_LIB)/pkgconfig/tinyort-provider.pc
	sed 's|^prefix=.*|prefix=$(PREFIX)|; s|^Name: .*|Name: tinyort-extra|; s|-ltinyort|-ltinyort_extra -ltinyort|; s|^Libs.private:|& $(EXTRA_LIBS)|' \
	    $(PKGCONFIG) > $(INSTALL_LIB)/pkgconfig/tinyort-extra.pc
	sed 's|^prefix=.*|prefix=$(PREFIX)|; s|^Name: .*|Name: tinyort-folder|; s|^Libs: .*|Libs: -L$${libdir}|; /^Cflags:/d; /^Requires:/d; /^Libs.private:/d' \
	    $(PKGCONFIG) > $(INSTALL_LIB)/pkgconfig/tinyort-folder.pc
	for file in tinyort-config tinyort-config-version; do \
	    sed 's|@VERSION@|$(VERSION)|; s|@LIBRARY_LIBS@|$(LIBRARY_LIBS)|; s|@EXTRA_LIBS@|$(EXTRA_LIBS)|; s|@CUDA_LIBS@|$(CUDA_LIBS)|' \
	        runtime/cmake/$$file.cmake.in > $(INSTALL_LIB)/cmake/tinyort/$$file.cmake || exit 1; done
	for header in $(PUBLIC_HEADERS); do \
	    sed 's|"runtime/include/\(tinyort[a-z_]*.h\)"|<\1>|' $$header > $(INSTALL_INCLUDE)/$${header##*/} || exit 1; done
	for header in $(PROVIDER_HEADERS); do install -D -m 644 $$header $(INSTALL_INCLUDE)/tinyort/$$header || exit 1; done
	install -d $(INSTALL_EXAMPLES) && install -m 644 $(EXAMPLES) $(INSTALL_EXAMPLES)
	for file in $(EXAMPLE_FILES); do install -D -m 644 $$file $(INSTALL_EXAMPLES)/$$file || exit 1; done
## Install under PREFIX (default /usr/local); DESTDIR is put before it.
install: all install-library $(RUN_TINYORT)
	install -D -m 755 $(TINYORT) $(DESTDIR)$(PREFIX)/bin/tinyort
	if $(RUN_TINYORT) version > /dev/null; then \
	    install -d $(dir $(MAN_PAGE) $(COMPLETIONS)) && .ci/pages.sh $(RUN_TINYORT) man > $(MAN_PAGE) && \
	    .ci/pages.sh $(RUN_TINYORT) bash > $(word 1,$(COMPLETIONS)) && .ci/pages.sh $(RUN_TINYORT) zsh > $(word 2,$(COMPLETIONS)) && \
	    .ci/pages.sh $(RUN_TINYORT) fish > $(word 3,$(COMPLETIONS)); \
	else echo "install: $(TINYORT) does not start here, so there are no manual page and no completions"; fi
## Install, and leave out what debuggers alone read.
install-strip: install
	$(STRIP) --strip-unneeded $(DESTDIR)$(PREFIX)/bin/tinyort $(INSTALL_LIB)/*.so.$(VERSION)
	$(STRIP) --strip-debug $(INSTALL_LIB)/*.a
## Remove what install put under PREFIX.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/tinyort $(INSTALL_LIB)/libtinyort.a $(INSTALL_LIB)/libtinyort_cuda.a $(INSTALL_LIB)/libtinyort.so*
	rm -f $(INSTALL_LIB)/libtinyort_extra.a $(INSTALL_LIB)/libtinyort_extra.so*
	rm -f $(patsubst %,$(INSTALL_LIB)/pkgconfig/%.pc,tinyort tinyort-provider tinyort-extra tinyort-folder)
	rm -f $(addprefix $(INSTALL_INCLUDE)/,$(notdir $(PUBLIC_HEADERS)))
	rm -rf $(INSTALL_INCLUDE)/tinyort $(INSTALL_LIB)/cmake/tinyort $(INSTALL_LIB)/tinyort $(INSTALL_EXAMPLES)
	rm -f $(MAN_PAGE) $(COMPLETIONS)

# Made of the last commit, so that only what is tracked is in it, and all of it has the commit's time; the same bytes each time.
ARCHIVE := $(BUILD)/tinyort-$(VERSION).tar
.PHONY: dist
## Pack the sources of the last commit, which build without git, as build/tinyort-VERSION.tar.gz.
dist:
	@mkdir -p $(BUILD)
	@git -c tar.umask=022 archive --format=tar --prefix=tinyort-$(VERSION)/ -o $(ARCHIVE) HEAD || \
	    { echo "dist: an archive is made of a commit, so it needs a checkout with git" >&2; exit 1; }
	@gzip -9nf $(ARCHIVE)
	@echo "dist: $(ARCHIVE).gz of commit $(COMMIT:%-dirty=%, without what is not committed yet)"

DEB = $(BUILD)/tinyort_$(VERSION)_$(shell dpkg --print-architecture).deb
.PHONY: deb
## Pack what install leaves as build/tinyort_VERSION_ARCH.deb, for the Debian that this is.
deb: all
	@.ci/setup.sh deb
	@MAKE="$(MAKE)" .ci/deb.sh $(BUILD)/deb $(VERSION) $(DEB)

RELEASE := $(BUILD)/release
.PHONY: release
## Make all that a release publishes, of the last commit, in build/release: sources, deb, wheels, programs for each target, SPDX, checksums.
release:
	@.ci/setup.sh venv=$(VENV)
	@MAKE="$(MAKE)" VENV="$(VENV)" PYTHON="$(PYTHON)" .ci/release.sh $(RELEASE) $(VERSION) $(sort $(TARGETS))

.PHONY: help
## List the targets.
help:
	@awk '/^## / { text = substr($$0, 4); next } \
	      /^[a-z][a-z-]*:/ && text { name = $$0; sub(/:.*/, "", name); printf "  %-22s %s\n", name, text; text = "" }' \
	     $(MAKEFILE_LIST)

.PHONY: clean
## Remove everything built, but for the Python environment and the fetched CUDA compiler.
clean:
	rm -rf $(OBJ) $(GPU_HERE) $(addprefix $(BUILD)/,prerequisites asan changing coverage embed ending growth isa profile tests tsan) $(TINYORT) $(LIBRARY) $(BUILD)/libtinyort_cuda.a $(SHARED) $(PKGCONFIG)
	rm -rf $(EXTRA_LIBRARY) $(EXTRA_SHARED) $(ARCHIVE).gz $(BUILD)/deb $(BUILD)/tinyort_*.deb

# ---- tests ------------------------------------------------------------------------------------------------------------
# A runner is a target that fails when a test fails and prints `NAME: N passed, N failed[, N skipped]` or Criterion's summary;
# .ci/test.sh runs those of $(RUNNERS) and sums them up. Where a file of the tree, or of the build, is written by two runners,
# they cannot run side by side: each writes what is its own.

TESTS := check-spills
THOROUGH_TESTS :=
CHECKS := test-cuda-kernels test-unit test-node test-cli test-golden check-layers test-layers check-sizes test-sizes test-library-size
LONG_TESTS := test-cuda-% test-unit test-contexts-tsan test-random-ops check-sass
RUNNERS = $(TESTS)
CRITERION := -lcriterion
ifneq ($(UNIT_SOURCES),)
TESTS += test-unit
endif

.PHONY: test-unit
## Run the unit tests (Criterion).
test-unit: $(if $(UNIT_SOURCES),$(BUILD)/tests/unit)
	$(if $(UNIT_SOURCES),$(BUILD)/tests/unit --jobs 2)

$(BUILD)/tests/unit: $(UNIT_OBJECTS) $(TEST_HELPER_OBJECTS) $(VALUE_FILE_OBJECTS) $(CUDA_BUILD) $(LIBRARY) $(CUDA_LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -o $@ $^ $(CRITERION) $(LIBRARY_LIBS) $(CUDA_LIBS)

include $(sort $(wildcard tests/*/tests.mk kernels/*/rules.mk runtime/*/rules.mk))

# With BUILD_ONLY what a runner needs is made, and its own commands do nothing.
ifneq ($(BUILD_ONLY),)
$(TESTS) $(THOROUGH_TESTS): private SHELL := true
endif

# ---- how things are made ----------------------------------------------------------------------------------------------

# Each holds the flags of the last build; objects depend on it, and it changes only when they do.
$(OBJ)/flags: FLAGS_NOW = $(COMPILE) $(SIMD_CC) $(WARNINGS) $(SEEN) $(OPT) $(SMALLEST) $(if $(PLAIN),$(SMALLEST_LEVEL)) $(SMALLEST_FILES) $(CPU_DEFINES) $(OPS_DEFINES)
$(OBJ)/cuda_flags: FLAGS_NOW = $(NVCC) $(CUDA_ARCHS) $(CUDA_TILED) $(NVCC_FLAGS)
$(OBJ)/flags $(OBJ)/cuda_flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' > $@

.PHONY: FORCE
FORCE:

# One line that says what is missing is better than the compiler's first error.
$(BUILD)/prerequisites: .ci/setup.sh
	@mkdir -p $(@D)
	@.ci/setup.sh --check $(BUILD_SETS) $(if $(SOURCES),sources=$(SOURCES))
	@touch $@

# The commit is told to one object alone: a new one compiles nothing else again. In an archive of a commit git has written it
# into a file (.ci/.gitattributes); elsewhere outside of git it is unknown.
COMMIT := $(or $(if $(shell git rev-parse --show-cdup 2>/dev/null),,$(shell \
    git describe --always --dirty --exclude='*' --abbrev=12 2>/dev/null)),$(shell \
    sed -n 's/^\([0-9a-f]\{12\}\)[0-9a-f]*$$/\1/p' .ci/archived_commit 2>/dev/null),unknown)
$(OBJ)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' > $@
$(OBJ)/runtime/cli/version.o: private TORT_CPPFLAGS += -DTORT_COMMIT='"$(COMMIT)"'
$(OBJ)/runtime/cli/version.o: $(OBJ)/commit

# Lines of the schema and of the page of a plan as C strings.
$(OBJ)/runtime/cli/%.inc: runtime/cli/%
	@mkdir -p $(@D)
	$(Q)sed 's/[\\"]/\\&/g; s/.*/"&",/' $< > $@
$(OBJ)/runtime/cli/schema.o: $(OBJ)/runtime/cli/schema.json.inc
$(OBJ)/runtime/cli/page.o: $(OBJ)/runtime/cli/page.html.inc
$(OBJ)/runtime/cli/quantized.o: $(OBJ)/runtime/cli/quantized.html.inc

# TABLE(NAME) for each table of rows: its name begins a line of its source.
$(OBJ)/ops/tables.inc: TABLES = $(OPS_TABLES)
$(OBJ)/kernels/cpu/tables.inc: TABLES = $(CPU_TABLES)
$(OBJ)/kernels/cuda/tables.inc: TABLES = $(CUDA_TABLES)
$(OBJ)/%/tables.inc: FORCE
	@mkdir -p $(@D)
	$(Q)sed -n 's/^const tort_\(op\|kernel\) \(tort_[a-z0-9_]*\)\[\] = {.*/TABLE(\2)/p' /dev/null $(TABLES) > $@.$$$$; \
	    cmp -s $@.$$$$ $@ && rm $@.$$$$ || mv $@.$$$$ $@ # two runners may do this at once
$(OBJ)/ops/ops.o: $(OBJ)/ops/tables.inc
$(OBJ)/kernels/cpu/cpu_kernels.o: $(OBJ)/kernels/cpu/tables.inc
$(OBJ)/kernels/cuda/cuda_provider.o $(OBJ)/with_cuda/kernels/cuda/cuda_provider.o: $(OBJ)/kernels/cuda/tables.inc

# The sources of the firmware's kernels as C strings, without guards and includes: a conditional that is to be printed
# ends with "#endif /*".
FIRMWARE_TEXT := '/^\#endif$$/d; /^\#ifndef TORT_/d; /^\#define TORT_/d; /^\#include [<"][^a]/d; s/[\\"]/\\&/g; s/.*/"&\\n"/'
# Headers as rows: {"tinyort_NAME", {"tinyort_INCLUDED", ... NULL}, "TEXT"}.
$(OBJ)/kernels/firmware/code.inc: $(filter-out %/functions.h %/functions_whole.h,$(FIRMWARE_CODE))
	@mkdir -p $(@D)
	$(Q)for header in $^; do \
		echo "{\"tinyort_$$(basename $$header .h)\", {"; \
		sed -n 's|^#include "kernels/firmware/code/\(.*\).h"|"tinyort_\1",|p' $$header; \
		echo "NULL},"; \
		sed $(FIRMWARE_TEXT) $$header; \
		echo "},"; \
	done > $@
# functions.h and functions_whole.h as rows: {"NAME", NAME, "TEXT"} of each function.
$(OBJ)/kernels/firmware/functions.inc: kernels/firmware/code/functions.h kernels/firmware/code/functions_whole.h
	@mkdir -p $(@D)
	$(Q)sed -n '/^static/,/^}/{s/[\\"]/\\&/g; s/.*/"&\\n"/; s/^"static \(inline \)*[a-z0-9_]* \(tinyort_[a-z0-9_]*\)(/{"\2", (tort_firmware_function *)\2,\n&/; s/^"}\\n"/&},/; p}' $^ > $@
$(OBJ)/kernels/firmware/code.o: $(OBJ)/kernels/firmware/code.inc $(OBJ)/kernels/firmware/functions.inc
# The order of bands, which compiled models follow as runs do.
$(OBJ)/runtime/firmware/compile/bands.inc: runtime/include/bands.h runtime/firmware/bands/order.h
	@mkdir -p $(@D)
	$(Q)(echo "static const char tort_code_bands[] ="; sed $(FIRMWARE_TEXT) $^; echo ";") > $@
$(OBJ)/runtime/firmware/compile/steps.o: $(OBJ)/runtime/firmware/compile/bands.inc

$(OBJ)/%.o: %.c $(OBJ)/flags | $(BUILD)/prerequisites
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(COMPILE) $(WARNINGS) -c -o $@ $<

$(FORMAT).c: loader/onnx.proto | $(BUILD)/prerequisites
	@mkdir -p $(@D)
	@echo "  PROTO $<"
	$(Q)protoc-c --c_out=$(OBJ) $<
$(FORMAT).h: $(FORMAT).c ;
$(filter $(OBJ)/loader/%,$(LIBRARY_OBJECTS)) $(VALUE_FILE_OBJECTS) $(EXPORT_OBJECTS): | $(FORMAT).h
$(FORMAT).o: $(FORMAT).c $(OBJ)/flags
	@echo "  CC    $<"
	$(Q)$(COMPILE) -w -ffunction-sections -c -o $@ $<

# What lists or tells the optional parts; the one wrapper in C++.
TELL_PARTS := $(patsubst %,$(OBJ)/%.o,ops/extra/extra runtime/cli/version runtime/cli/files/images)
$(TELL_PARTS): private TORT_CPPFLAGS += $(PARTS_DEFINES)
$(TELL_PARTS): $(OBJ)/parts
$(OBJ)/parts: FLAGS_NOW = $(PARTS_DEFINES)
$(OBJ)/parts: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' > $@

$(LIBRARY_SOURCED) $(CLI_SOURCED): $(OBJ)/sources/%.o: $(SOURCES)/%.c $(OBJ)/flags
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(COMPILE) -w -c -o $@ $<

$(OBJ)/%.o: %.cpp $(OBJ)/flags | $(BUILD)/prerequisites
	@mkdir -p $(@D)
	@echo "  CXX   $<"
	$(Q)$(CCACHE) $(CXX) $(TORT_CPPFLAGS) $(CPPFLAGS) -std=c++17 $(OPT) $(PREFIX_MAP) -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fno-exceptions \
	    -pthread $(HARDENED) $(SANITIZE_FLAGS) $(CXXFLAGS) -MD -MP -Wall -Wextra -Wshadow -Wconversion -Werror -c -o $@ $<

$(OBJ)/kernels/cpu/simd/%.o: private LEVEL = $(OPT) $(SECTIONS)
$(OBJ)/kernels/cpu/%.o: private HARDENED = $(if $(PLAIN),,$(SHADOW))
$(OBJ)/kernels/cpu/simd/%.o: private CONTRACT = fast
$(OBJ)/kernels/cpu/simd/%.o: private COMPILER = $(or $(SIMD_CC),$(CC))
# Bytes are the same on every instruction set: an FMA, which not all of them have, would round half-way sums the other way.
$(SIMD_SETS:%=$(OBJ)/kernels/cpu/simd/integers.%.o) $(SIMD_DOT_SETS:%=$(OBJ)/kernels/cpu/simd/integers.%.o): private CONTRACT = off
# The qemu of Debian 12 (7.2), which tests these, stops at vectors of floats that are truncated: Cast has single ones.
$(OBJ)/kernels/cpu/simd/elements.rvv.o: private SIMD_FLAGS_rvv += -fno-vectorize
ifeq ($(PLAIN),)
$(patsubst %,$(OBJ)/%/%.o,$(SMALLEST)) $(SMALLEST_FILES:%=$(OBJ)/%.o): private LEVEL = $(OPT:-O3=-Os) $(SECTIONS)
$(OBJ)/loader/wire.o: private LEVEL = $(OPT:-O3=-O2) $(SECTIONS) # through which every byte of a model goes but its weights
endif
# With OPS=FILE the rows of other operators leave the preprocessed sources. Warnings are for the sources as they are.
ifneq ($(OPS_FILE),)
CHOSEN := $(OBJ)/chosen
CHOOSABLE_SOURCES := $(filter ops/%,$(LIBRARY_SOURCES)) $(CPU_SOURCES)
$(CHOSEN): $(OPS_FILE) $(CHOOSABLE_SOURCES) $(OBJ)/ops/tables.inc $(OBJ)/kernels/cpu/tables.inc .ci/choose_ops.awk $(OBJ)/flags
	@mkdir -p $(@D)
	@echo "  OPS   $(OPS_FILE)"
	$(Q)for source in $(CHOOSABLE_SOURCES); do $(CC) $(TORT_CPPFLAGS) $(CPPFLAGS) -std=c11 -E $$source || exit 1; done > $@.i
	$(Q)awk -v MODE=list -v FILE=$(OPS_FILE) -f .ci/choose_ops.awk $(OPS_FILE) $@.i > $@
$(CHOOSABLE_SOURCES:%.c=$(OBJ)/%.o): $(OBJ)/%.o: %.c $(CHOSEN)
	@mkdir -p $(@D)
	@echo "  CC    $< ($(OPS_FILE))"
	$(Q)$(COMPILE) -E -MT $@ -MF $(@:.o=.d) -o $@.all.i $<
	$(Q)awk -v MODE=keep -f .ci/choose_ops.awk $(CHOSEN) $@.all.i > $@.i
	$(Q)$(filter-out -MD -MP,$(COMPILE)) -w -c -o $@ $@.i
# The code that runs bodies is in a build whose operators have any.
$(OBJ)/runtime/build.o: $(CHOSEN)
$(OBJ)/runtime/build.o: private TORT_CPPFLAGS += $$(grep -q 'tort_ops_control_flow$$$$' $(CHOSEN) || echo -DTORT_NO_BODIES)
endif

define simd_rule
$$(OBJ)/kernels/cpu/simd/%.$(1).o: kernels/cpu/simd/%.c $$(OBJ)/flags | $$(BUILD)/prerequisites
	@mkdir -p $$(@D)
	@echo "  CC    $$< ($(1))"
	$$(Q)$$(COMPILE) $$(WARNINGS) -ffp-contract=$$(CONTRACT) -fopenmp-simd -falign-loops=64 $$(SIMD_FLAGS_$(1)) -DTORT_SIMD=$(1) -c -o $$@ $$<
endef
$(foreach set,$(CPU_SETS),$(eval $(call simd_rule,$(set))))

$(OBJ)/ops/refused.o: private TORT_CPPFLAGS += $(OPS_DEFINES)
$(addprefix $(OBJ)/,kernels/cpu/cpu.o kernels/cpu/cpu_provider.o runtime/build.o runtime/core/base/threads.o): private TORT_CPPFLAGS += $(CPU_DEFINES)
# With SEEN the cpu provider sees an instruction set and those below it, whatever the processor has (tests/isa).
SEEN ?=
SEEN_BITS_v2 := TORT_CPU_V2
SEEN_BITS_v3 := V3_BITS
SEEN_BITS_v4 := V4_BITS
$(OBJ)/kernels/cpu/cpu_provider.o: private TORT_CPPFLAGS += $(if $(SEEN),-DTORT_CPU_SEEN=$(SEEN_BITS_$(SEEN)))

$(OBJ)/kernels/cuda/images.o: private TORT_CPPFLAGS += $(cuda_all_images)
$(OBJ)/kernels/cuda/images.o: Makefile

$(OBJ)/with_cuda/%.o: %.c $(OBJ)/flags $(OBJ)/cuda_flags | $(filter build/%,$(NVCC))
	@mkdir -p $(@D)
	@echo "  CC    $< (with CUDA)"
	$(Q)$(COMPILE) $(WARNINGS) -c -o $@ $<

# What ptxas says of every kernel stays beside the object, for check-spills. ccache sees nvcc alone, and is told of ptxas (by the
# shell: make may have looked before the toolkit was there).
$(OBJ)/%.cu.o: %.cu $(OBJ)/cuda_flags | $(filter build/%,$(NVCC))
	@mkdir -p $(@D)
	@echo "  NVCC  $<"
	$(Q)CCACHE_EXTRAFILES=$$(ls $(NVCC:%nvcc=%ptxas) 2>/dev/null) $(CCACHE) $(NVCC) $(NVCC_FLAGS) -MD -MP -MF $(@:.o=.d) -c -o $@ $< > $(@:.o=.ptxas) 2>&1 || { cat $(@:.o=.ptxas); exit 1; }

$(NVCC_FETCHED):
	@.ci/setup.sh cuda=build/cuda
$(CUDA_TOOLKIT)/bin/nvcc: | $(filter build/%,$(NVCC_13))
	@NVCC=$(NVCC_13) .ci/setup.sh toolkit=$(@D:/bin=) || { echo "make CUDA_MAJOR=13 does without, for drivers from 580 on; make CUDA=0 without CUDA"; exit 1; }

# The linker looks for cudart in both folders: NVIDIA's installer has lib64, its Python packages lib.
$(OBJ)/tinyort_cuda.o: $(CUDA_OBJECTS)
	@echo "  LD    $@"
	$(Q)$(LD) -r --force-group-allocation -o $@ $^ -L$(CUDA_HOME)/lib64 -L$(CUDA_HOME)/lib -lcudart_static
	$(Q)$(OBJCOPY) --keep-global-symbol=tort_provider_cuda $@

$(BUILD)/libtinyort_cuda.a: $(OBJ)/tinyort_cuda.o
	@rm -f $@
	@echo "  AR    $@"
	$(Q)$(AR) rcs $@ $^

$(LIBRARY): $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	@echo "  AR    $@"
	$(Q)$(AR) rcs $@ $^

$(SHARED): $(if $(CUDA_LIBRARY),$(CUDA_BUILD) $(filter-out $(OBJ)/runtime/build.o,$(LIBRARY_OBJECTS)),$(LIBRARY_OBJECTS)) $(CUDA_LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK_SHARED) -Wl,-soname,libtinyort.so.0 -o $@ $^ $(LIBRARY_LIBS) $(CUDA_LIBS)

$(EXTRA_LIBRARY): $(EXTRA_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	@echo "  AR    $@"
	$(Q)$(AR) rcs $@ $^

$(EXTRA_SHARED): $(EXTRA_OBJECTS) $(SHARED)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK) -shared -Wl,-soname,libtinyort_extra.so.0 -o $@ $(EXTRA_OBJECTS) -L$(BUILD) -ltinyort $(EXTRA_LIBS)

$(TINYORT): $(CLI_OBJECTS) $(EXTRA_LIBRARY) $(CUDA_BUILD) $(LIBRARY) $(CUDA_LIBRARY)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(LINK_PROGRAM) -o $@ $^ $(EXTRA_LIBS) $(CLI_LIBS) $(PROTOBUF_C) $(filter-out -lprotobuf-c,$(LIBRARY_LIBS)) $(CUDA_LIBS)

ifneq ($(EMULATOR),)
$(RUN_TINYORT): $(TINYORT)
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s "%s" "$$@"\n' '$(EMULATOR)' '$(abspath $(TINYORT))' > $@
	@chmod +x $@
endif

# pkg-config has no field for what is linked without --static alone, and a linker takes libtinyort.so before the archive of the same
# folder. So --static adds a folder that has the archives alone, and the folder of all libraries is another package's: what is
# required comes behind what is private, and a linker looks into the first folder first.
$(PKGCONFIG): Makefile $(wildcard runtime/include/tinyort.h)
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' 'Name: tinyort' \
	    'Description: A minimal ONNX inference runtime' 'Version: $(VERSION)' 'Cflags: -I$${includedir}' \
	    'Requires: tinyort-folder' 'Libs: -ltinyort' 'Libs.private: -L$${libdir}/tinyort $(LIBRARY_LIBS)' > $@

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
