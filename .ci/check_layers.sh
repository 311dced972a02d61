#!/bin/sh
# Proves from the #include lines under ROOT that dependencies point one way:
#   runtime/core/ and runtime/include/ include themselves alone, and name no operator; the rooms of the core (base graph lowered providers plan
#   passes saved run session) include themselves and those before them
#   loader/, ops/ and runtime/firmware/ (bands compile) include those and themselves; kernels/ all of these but loader/
#   runtime/cli/, runtime/export/, runtime/plugin/, runtime/python/ and runtime/build.c are products: they include anything, and nothing includes them
# but protobuf headers, and what protoc-c generates, are seen in loader/ alone, CUDA headers in kernels/cuda*/ alone. An operator's name is a
# string in a table of ops/. Where the objects are given, their symbols prove that what is called and read lies in the same direction: the core
# takes nothing from above but tort_build, which it declares and a product defines (runtime/core/base/build.h).
# Nor is anything read from around a program but what it is given: numbers and words in text do not depend on the locale (only locale.c
# calls what does, and no call of printf or scanf that is not tort_ has a float), only the command line reads the environment, only watch.c
# a clock, and only hash.c random bits.
# Usage: check_layers.sh ROOT [OBJECTS]. Names every violation; exit status 1 if there is one.
set -eu
cd "$1"
sources=$(find runtime loader ops kernels -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' 2>/dev/null | LC_ALL=C sort)
[ -n "$sources" ] || { echo "check-layers: no sources under $1" >&2; exit 1; }

rooms='base graph lowered providers plan passes saved run session bands compile'

# For awk: the storey of a file, what each may take from, and the place of a room in the order of all.
layers='
function storey_of(path) {
    if (path ~ /^runtime\/(core|include)\//) return "core"
    if (path ~ /^runtime\/firmware\//) return "firmware"
    return path ~ /^runtime\// ? "product" : substr(path, 1, index(path, "/") - 1)
}
function may_take(storey, from) {
    if (storey == "product" || storey == from || from == "core") return 1
    return storey == "kernels" && (from == "ops" || from == "firmware")
}
function room_of(path,   parts) {
    return path ~ /^runtime\/(core|firmware)\// && split(path, parts, "/") ? index(rooms, " " parts[3] " ") : 0
}'

# A line for each symbol of a later room, or of a storey above: "runtime/core/plan/plan.o: takes tort_fold of runtime/core/passes/fold.o".
climbs() {
    # Objects of sources that are there: others may be left from before a file moved.
    objects=$(cd "$1" && find runtime loader ops kernels -name '*.o' ! -path 'kernels/cudasim/*' ! -path 'runtime/python/wheel/*' 2>/dev/null || true)
    objects=$(for object in $objects; do [ ! -e "${object%%.*}.c" ] || echo "$object"; done)
    (cd "$1" && nm -A -g $objects /dev/null 2>/dev/null) | awk -v rooms=" $rooms " "$layers"'
    { file = $1; sub(/:.*/, "", file); symbol = $NF }
    $(NF - 1) == "U" { user[++uses] = file; used[uses] = symbol; next }
    { owner[symbol] = file }
    END {
        for (i = 1; i <= uses; i++) {
            file = owner[used[i]]
            if (file == "" || used[i] == "tort_build") continue
            if (!may_take(storey_of(user[i]), storey_of(file)) || (room_of(user[i]) && room_of(file) > room_of(user[i])))
                printf "%s: takes %s of %s\n", user[i], used[i], file
        }
        if (!uses) print "no objects of runtime/"
    }'
}
climbs=
[ $# -lt 2 ] || climbs=$(climbs "$2")
[ -z "$climbs" ] || echo "$climbs"

awk -v rooms=" $rooms " -v violations="$(printf '%s' "$climbs" | grep -c '')" "$layers"'
function report(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; violations++ }

function check_include(header) {
    if (header ~ /^protobuf-c\// || header ~ /\.pb-c\.h$/) {
        if (storey != "loader") report("includes the protobuf header " header " outside loader/")
        return
    }
    if (header ~ /^(cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nvml|nvrtc|nvtx)[A-Za-z0-9_]*\.h$/ ||
        header ~ /^(device_launch_parameters|cooperative_groups|mma|vector_types)\.h$/ || header ~ /^(cub|thrust|cuda|cooperative_groups|nv)\//) {
        if (FILENAME !~ /^kernels\/cuda[^\/]*\//) report("includes the CUDA header " header " outside kernels/cuda*/")
        return
    }
    if (!quoted) return
    # The headers of the interface lie in one folder, in the tree and where they are installed.
    if (FILENAME ~ /^runtime\/include\/tinyort[a-z_]*\.h$/ && header ~ /^tinyort[a-z_]*\.h$/) return
    if (header !~ /^(runtime|loader|ops|kernels|tests)\// || header ~ /\.\./) {
        report("includes \"" header "\": write the path from the root")
        return
    }
    if (room && room_of(header) > room) report("the room of " header " comes after this one")
    if (!may_take(storey, storey_of(header))) report("the storey of " header " (" storey_of(header) ") is not below this one (" storey ")")
}

# Capitalized words among the strings of a line, one call a word.
function each_name(line,   word) {
    while (match(line, /"[^"]*"/)) {
        word = substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
        if (word !~ /^[A-Z][A-Za-z0-9]+$/) continue
        if (storey == "ops") operators[word] = 1
        else if (storey == "core" || storey == "firmware") { count++; named[count] = word; place[count] = FILENAME ":" FNR }
    }
}

# Comments of one line and, unless `strings`, the contents of strings are left out.
function code_of(line, strings) {
    gsub(/\\\\|\\"/, "", line)
    if (!strings) gsub(/"[^"]*"/, "\"\"", line)
    gsub(/\/\*[^*]*\*\//, "", line)
    sub(/\/\/.*/, "", line)
    return line
}

# Reports a call in `code` of one of the functions, outside of the files.
function only(code, files, functions, why,   name) {
    if (FILENAME ~ files || !match(code, "(^|[^A-Za-z0-9_.>])(" functions ")\\(")) return
    name = substr(code, RSTART, RLENGTH)
    gsub(/[^A-Za-z0-9_]/, "", name)
    report("calls " name ": " why)
}

function check_calls(   code, text) {
    code = code_of($0)
    only(code, "^(runtime/core/base/locale.c$|kernels/cudasim/)", "strto(d|f|ld)|atof|sto(d|f|ld)|v(f|s|sn|d|as)?(print|scan)f|(set|new|use)locale|localeconv",
        "it depends on the locale, runtime/core/base/locale.h does not")
    only(code, "^$", "is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)|to(lower|upper)|strn?casecmp|strcoll|" \
        "strxfrm|strftime|mb(r?to|s|r?len)[a-z]*|wc[a-z]+|isw[a-z]+|tow[a-z]+", "it depends on the locale, runtime/core/base/ascii.h does not")
    only(code, "^(runtime/core/base/locale.c|kernels/cuda/libraries.c)$", "strerror(_r)?|perror", "it depends on the locale, runtime/core/base/locale.h does not")
    only(code, "^(runtime/cli/|kernels/plugin/find.c$)", "(secure_)?getenv", "only the command line reads the environment")
    only(code, "^runtime/(core/base/watch|cli/page).c$", "clock_gettime|timespec_get|gettimeofday|time|clock", "runtime/core/base/watch.h tells the time")
    only(code, "^runtime/core/base/hash.c$", "getrandom|getentropy|arc4random", "tort_random_bits has a way out where the system gives none")
    if (code ~ /(^|[^A-Za-z0-9_])((f|s|sn|d|as)?print|[fs]?scan)f *\(/) plain_format = FILENAME != "runtime/core/base/locale.c"
    text = code_of($0, 1)
    gsub(/%%/, "", text)
    if (plain_format && text ~ /"[^"]*%[-+ #0]*[0-9*]*(\.[0-9*]*)?[lL]?[aAeEfFgG]/)
        report("a float is printed or read as the locale has it: runtime/core/base/locale.h does not")
    if (code ~ /;/) plain_format = 0
}

FNR == 1 {
    plain_format = 0
    storey = storey_of(FILENAME)
    room = room_of(FILENAME)
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    header = $0
    quoted = header ~ /"/
    sub(/^[^"<]*["<]/, "", header)
    sub(/[">].*/, "", header)
    check_include(header)
    next
}
{
    each_name($0)
    check_calls()
}

END {
    for (i = 1; i <= count; i++)
        if (named[i] in operators) { printf "%s: names the operator %s\n", place[i], named[i]; violations++ }
    printf "check-layers: %d passed, %d failed\n", !violations, violations
    exit violations != 0
}' $sources
