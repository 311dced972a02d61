#!/bin/sh
# Tests .ci/check_layers.sh: a clean tree passes, and each violation planted in it is found and named.
set -u
checker=$(pwd)/.ci/check_layers.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
passed=0
failed=0

clean_tree() {
    rm -rf "${root:?}"/*
    mkdir -p "$root/runtime/cli" "$root/runtime/core/base" "$root/runtime/core/plan" "$root/runtime/core/providers" "$root/runtime/include" "$root/runtime/firmware/bands" "$root/runtime/firmware/compile" "$root/loader" "$root/ops" "$root/kernels/cpu" "$root/kernels/cuda"
    printf '#include "runtime/include/op.h"\n#include <stdio.h>\nconst char *word = "Untold";\n' > "$root/runtime/core/plan/plan.c"
    printf '#include "runtime/include/tinyort.h"\n#include "loader/onnx.pb-c.h"\n#include <protobuf-c/protobuf-c.h>\n' > "$root/loader/wire.c"
    printf '#include "ops/conv.h"\n#include "runtime/include/op.h"\nrow r = {"", "Conv", 1};\n' > "$root/ops/conv.c"
    printf '#include "ops/conv.h"\n#include "kernels/cpu/gemm.h"\nrow r = {"", "Conv"};\n' > "$root/kernels/cpu/conv.c"
    printf '#include <cuda_runtime.h>\n#include "runtime/include/op.h"\n' > "$root/kernels/cuda/conv.cu"
    printf '#include "kernels/cpu/provider.h"\n' > "$root/runtime/build.c"
    printf '#include "runtime/core/plan/plan.h"\n#include "runtime/firmware/bands/bands.h"\n' > "$root/runtime/firmware/compile/steps.c"
    printf '#include "ops/ops.h"\nconst char *example = "Conv";\n' > "$root/runtime/cli/ops.c"
}

result() {
    if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "layers: FAILED: $2"; fi
}

# plant FILE LINE: the checker must fail and name FILE.
plant() {
    clean_tree
    printf '%s\n' "$2" >> "$root/$1"
    if output=$("$checker" "$root" 2>&1); then result 1 "not found in $1: $2"; return; fi
    case $output in *"$1:"*) result 0 ;; *) result 1 "$1 not named: $output" ;; esac
}

clean_tree
cat > "$root/runtime/cli/print.c" <<'END'
    const char *found = getenv("NO_COLOR"); /* strtod (text) reads "%g" */
    tort_snprintf(text, size, "%.3g", x);
    fprintf(file, "if (printf(\"%%g\", x)) return %d%%; ", failed);
    bool is = tort_is_digit(*c), later = run->time(x) || tort_now() || time_of(x);
    snprintf(text, size, "%d", 5);
    cli_print(file, "%g", x);
END
cat > "$root/runtime/core/base/locale.c" <<'END'
    value = strtod(copy, &end); vsnprintf(buffer, size, format, arguments);
END
output=$("$checker" "$root" 2>&1)
result $? "a clean tree is refused: $output"

plant runtime/core/plan/plan.c '#include "ops/conv.h"'
plant runtime/core/plan/plan.c '#include "loader/wire.h"'
plant runtime/core/plan/plan.c '#include "kernels/cpu/gemm.h"'
plant runtime/core/plan/plan.c '#include "runtime/cli/json.h"'
plant runtime/core/plan/plan.c '#include <cuda_runtime.h>'
plant runtime/core/plan/plan.c '  #  include <protobuf-c/protobuf-c.h>'
plant runtime/core/plan/plan.c 'if (strcmp(name, "Conv") == 0) return 1;'
plant runtime/core/plan/plan.c '#include "op.h"'
plant runtime/core/plan/plan.c '#include "runtime/core/run/context.h"'
plant runtime/core/base/memory.c '#include "runtime/core/graph/graph.h"'
plant runtime/core/providers/chain.c '#include "kernels/cpu/provider.h"'
plant runtime/core/providers/chain.c '#include "runtime/core/passes/claim.h"'
plant runtime/core/plan/plan.c '#include "runtime/firmware/bands/bands.h"'
plant runtime/include/op.h '#include "ops/conv.h"'
plant runtime/firmware/bands/run.c '#include "runtime/firmware/compile/compile.h"'
plant runtime/firmware/bands/run.c '#include "kernels/cpu/gemm.h"'
plant runtime/firmware/bands/run.c 'if (strcmp(name, "Conv") == 0) return 1;'
plant ops/conv.c '#include "runtime/cli/json.h"'
plant loader/wire.c '#include "runtime/cli/json.h"'
plant kernels/cpu/conv.c '#include "runtime/python/core/core.h"'
plant runtime/build.c '#include <cublas_v2.h>'
plant runtime/cli/ops.c '#include "loader/onnx.pb-c.h"'
plant kernels/cpu/conv.c '#include <protobuf-c/protobuf-c.h>'
plant loader/wire.c '#include "ops/conv.h"'
plant loader/wire.c '#include "kernels/cpu/gemm.h"'
plant loader/wire.c '#include <cuda.h>'
plant ops/conv.c '#include "kernels/cpu/gemm.h"'
plant ops/conv.c '#include "loader/wire.h"'
plant ops/conv.c '#include "../loader/wire.h"'
plant ops/conv.c '#include "runtime/../kernels/cpu/gemm.h"'
plant ops/conv.c '#include <cudnn.h>'
plant kernels/cpu/conv.c '#include "loader/wire.h"'
plant kernels/cpu/conv.c '#include <cuda_runtime.h>'
plant kernels/cpu/conv.c '#include "loader/onnx.pb-c.h"'
plant kernels/cuda/conv.cu '#include "loader/wire.h"'

# What depends on the locale, the environment or the clock.
plant runtime/core/plan/plan.c 'x = strtod(text, &end);'
plant runtime/core/plan/plan.c 'x = (float)atof(text);'
plant ops/conv.c 'x=strtof(text, NULL);'
plant ops/conv.c '    setlocale(LC_ALL, "C");'
plant ops/conv.c '    vsnprintf(text, size, format, arguments);'
plant ops/conv.c '    if (isdigit((unsigned char)c)) return;'
plant runtime/cli/ops.c '    if (!strcasecmp(a, b)) return;'
plant kernels/cuda/conv.cu '    c = std::toupper(c);'
plant loader/wire.c 'return fail("cannot read %s", strerror(errno));'
plant kernels/cpu/conv.c 'length = strftime(text, size, "%x", &now);'
plant runtime/cli/ops.c 'snprintf(text, size, "%g", x);'
plant runtime/cli/ops.c 'fprintf(file, "%d\"%-8.*f\"", 1, 3, x);'
plant runtime/cli/ops.c 'printf("100%% of %e", x);'
plant runtime/cli/ops.c 'sscanf(text, "%lf", &x);'
plant runtime/cli/ops.c 'snprintf(text, size,
    small ? "%d" : "%.1f%s", x, unit);'
plant ops/conv.c 'const char *found = getenv("TINYORT_CONV");'
plant kernels/cpu/conv.c 'clock_gettime(CLOCK_MONOTONIC, &now);'
plant loader/wire.c 'seed = (unsigned)time(NULL);'
plant ops/conv.c 'if (getrandom(&seed, sizeof seed, 0) < 0) return;'

# Calls, from the symbols of objects: room_object FILE TEXT compiles one of a clean tree.
room_object() {
    mkdir -p "$root/obj/$(dirname "$1")" "$root/$(dirname "$1")"
    touch "$root/$1.c"
    printf '%s\n' "$2" | cc -x c -c -o "$root/obj/$1.o" -
}
clean_tree
room_object runtime/core/base/memory 'void take(void) {}'
room_object runtime/core/passes/fold 'void take(void); void fold(void) { take(); }'
output=$("$checker" "$root" "$root/obj" 2>&1)
result $? "a call of an earlier room is refused: $output"
# planted FILE TEXT NAMED: with that object the checker must fail, and say NAMED.
planted() {
    room_object "$1" "$2"
    if output=$("$checker" "$root" "$root/obj" 2>&1); then result 1 "not found in $1: $2"; return; fi
    case $output in *"$1.o: takes $3"*) result 0 ;; *) result 1 "a climb is not named: $output" ;; esac
    rm "$root/obj/$1.o"
}
room_object kernels/cpu/provider 'const int tort_provider_cpu = 1;'
room_object ops/ops 'void take(void); const int tort_op_families = 1; void ops(void) { take(); }'
room_object runtime/build 'extern const int tort_provider_cpu, tort_op_families; const int *const tort_build[] = {&tort_provider_cpu, &tort_op_families};'
room_object runtime/core/providers/chain 'extern const int *tort_build[]; const int *find(void) { return tort_build[0]; }'
output=$("$checker" "$root" "$root/obj" 2>&1)
result $? "the description of the build is refused: $output"
planted runtime/core/plan/plan 'void fold(void); void plan(void) { fold(); }' 'fold of runtime/core/passes/fold.o'
planted runtime/core/passes/place 'extern const int tort_provider_cpu; int place(void) { return tort_provider_cpu; }' \
    'tort_provider_cpu of kernels/cpu/provider.o'
planted runtime/core/graph/op_table 'extern const int tort_op_families; int count(void) { return tort_op_families; }' \
    'tort_op_families of ops/ops.o'
planted ops/conv 'extern const int tort_provider_cpu; int conv(void) { return tort_provider_cpu; }' 'tort_provider_cpu of kernels/cpu/provider.o'
planted loader/wire 'void ops(void); void wire(void) { ops(); }' 'ops of ops/ops.o'
rm -rf "$root/obj"
output=$("$checker" "$root" "$root/obj" 2>&1) && result 1 "no objects at all pass: $output"

rm -rf "${root:?}"/*
if "$checker" "$root" > /dev/null 2>&1; then result 1 "an empty tree passes"; else result 0; fi

echo "layers: $passed passed, $failed failed"
[ $failed = 0 ]
