# Compares what the analyzers found with what is known. The first file has lines "SOURCE CHECK: why it is no fault" for one finding,
# "SOURCE CHECK xN: why" for N of them; the others have what the analyzers print. What is found in a header is printed for each source
# that includes it, and counts once.
FNR == NR {
    if (/^#/ || !NF) next
    count = $3 ~ /^x[0-9]+:$/ ? substr($3, 2) + 0 : 1
    sub(/:$/, "", $2)
    known[$1 " " $2] += count
    next
}
/: warning: .*\[[A-Za-z0-9_.]+\]$/ {
    sub(/^\.\//, "")
    split($0, place, ":")
    check = $NF
    gsub(/[][]/, "", check)
    if (seen[place[1], place[2], place[3], check]++) next
    key = place[1] " " check
    if (known[key] > found[key]++) passed++
    else {
        print "analyze: FAILED: " $0 "\n    how it comes there: " FILENAME
        failed++
    }
}
END {
    for (key in known)
        for (; found[key] < known[key]; found[key]++) {
            print "analyze: FAILED: " key " is known, but not found: remove it from tests/analyze/known.txt"
            failed++
        }
    printf "analyze: %d passed, %d failed\n", passed + !failed, failed
    exit failed != 0
}
