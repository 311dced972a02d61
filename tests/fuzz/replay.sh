#!/bin/sh
# Hands each entry of the fuzzers its corpus. Of saved plans there is none: a build takes no other's, so they are made of the models.
#
#   replay.sh TESTS ENTRY:CORPUS...   TESTS has replay/ENTRY and write_plans
set -eu
tests=$1
shift
plans=$(mktemp -d)
trap 'rm -rf "$plans"' EXIT
"$tests/write_plans" "$plans" tests/fuzz/corpus/models/*
for pair in "$@"; do
    folder=tests/fuzz/corpus/${pair#*:}
    [ "${pair#*:}" != plans ] || folder=$plans
    "$tests/replay/${pair%:*}" "$folder"
done
