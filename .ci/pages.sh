#!/bin/sh
# Prints the manual page of tinyort, or the script that completes its commands in a shell, from what its help says.
# Usage: pages.sh TINYORT man|bash|zsh|fish, from the root of the tree.
set -eu
tinyort=$1
help() {
    "$tinyort" --help
    # The providers' page first: it has their names, which other options take.
    for command in providers $("$tinyort" --help | sed -n '/A first try:$/q; s/^  tinyort \([a-z]*\) .*/\1/p' | grep -vx providers); do
        echo "@ $command"
        "$tinyort" "$command" --help
    done
}
case $2 in
man) help | awk -v KIND=man -f .ci/pages.awk ;;
*)
    table=$(mktemp)
    trap 'rm -f "$table"' EXIT
    help | awk -v KIND=table -f .ci/pages.awk > "$table"
    awk -v table="$(sed 's/\\/&&/g' "$table")" '
        { at = index($0, "@TABLE@") }
        at { print substr($0, 1, at - 1) table "\n" substr($0, at + 7); next }
        { print }' "runtime/cli/completion/tinyort.$2"
    ;;
esac
