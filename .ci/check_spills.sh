#!/bin/sh
# What ptxas said of every CUDA kernel: registers, shared memory, stack (local memory), spills. A kernel whose registers spill
# fails, and so does a file that was not compiled for every architecture, and a kernel's name that another file has too.
# Usage: check_spills.sh "ARCHITECTURES" "FILES" LOG... A log is what `nvcc -Xptxas -v` printed. FILES, without .cu, have code of their
# own for sm_86 and sm_89, which run that of sm_80 of the others. ALL=1 lists every kernel, else only those with a stack and the
# ten with the most registers.
set -eu
architectures=$1 tiled=$2
shift 2
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

# One row a kernel and architecture: file, architecture, registers, shared, stack, spill stores, spill loads, kernel. A device
# function that was not inlined has a row of its own, without registers.
awk -v wanted="$architectures" -v tiled=" $tiled " '
function close_row() { if (name != "") print file, arch, registers, shared, stack, stores, loads, name; name = "" }
function close_file(   n, i, list, stem) {
    close_row()
    n = split(wanted, list, " ")
    stem = file
    sub(/\.cu$/, "", stem)
    for (i = 1; i <= n; i++)
        if (list[i] ~ /^8[69]$/ && (file, "sm_80") in seen && !index(tiled, " " stem " ")) continue
        else if (file != "" && !((file, "sm_" list[i]) in seen)) print file, "sm_" list[i], "-", 0, 0, 0, 0, "MISSING"
}
FNR == 1 { close_file(); file = FILENAME; sub(/.*\//, "", file); sub(/\.ptxas$/, "", file) }
/Compiling entry function/ { close_row(); split($0, part, "\047"); arch = part[4]; seen[file, arch] = 1 }
/Function properties for/ { close_row(); name = $NF; registers = "-"; shared = 0 }
/bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
/Used [0-9]+ registers/ {
    registers = $5
    if (match($0, /[0-9]+ bytes smem/)) { split(substr($0, RSTART, RLENGTH), part, " "); shared = part[1] }
    close_row()
}
END { close_file() }' OFS='\t' "$@" | c++filt | sed 's/\tvoid /\t/; s/>(.*/>/; s/\([a-z0-9_]\)(.*/\1/' > "$rows"

show() {
    awk -F '\t' '{ printf "%-14s %-7s %9s %7s %6s %7s %7s  %s\n", $1, $2, $3, $4, $5, $6, $7, $8 }'
}
printf 'file\tarch\tregisters\tshared\tstack\tstores\tloads\tkernel\n' | show
if [ -n "${ALL:-}" ]; then
    show < "$rows"
else
    awk -F '\t' '$5 + $6 + $7 > 0 || $8 == "MISSING"' "$rows" | show
    # Of each kernel the architecture that takes the most.
    sort -t "$(printf '\t')" -k3,3nr "$rows" | awk -F '\t' '!seen[$1, $8]++ && ++count <= 10' | show
fi
# A profiler shows a kernel's name and not its file.
same=$(awk -F '\t' '$3 != "-" { name = $8; sub(/<.*/, "", name); if (!((name, $1) in seen) && count[name]++) print name; seen[name, $1] = 1 }' "$rows" | tr '\n' ' ')
[ -z "$same" ] || echo "FAILED: two files have kernels of one name: $same"
awk -F '\t' -v same="$same" '
    $8 == "MISSING" { print "FAILED: " $1 " was not compiled for " $2; failed++; next }
    $6 + $7 > 0 { print "FAILED: registers spill: " $8 " on " $2; failed++; next }
    { passed++; stacks += $5 > 0 }
    END {
        printf "%d with a stack in local memory\n", stacks
        failed += same != ""
        printf "cuda-spills: %d passed, %d failed\n", passed, failed
        exit failed || !passed
    }' "$rows"
