# For test scripts, by `suite=NAME; . tests/check.sh`: counts checks in $passed and $failed. $scratch is a folder of the test.
passed=0 failed=0

# check NAME COMMAND...: the command must succeed; else the end of its output is shown.
check() {
    name=$1
    shift
    if "$@" > "$scratch/log" 2>&1; then passed=$((passed + 1)); return; fi
    failed=$((failed + 1))
    echo "$suite: FAILED: $name"
    tail -n 20 "$scratch/log"
}
