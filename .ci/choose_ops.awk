# choose_ops.awk - leaves out of preprocessed C sources the rows that are of operators outside of a list (make OPS=FILE).
#
# MODE=list FILE SOURCES: reads the file of operators, one a line, and all sources; prints a choice: "operator" with domain and name,
# "table" with the name of an array that keeps rows. A fusion is kept if each of its nodes can be a chosen operator, and the
# operators that it makes are chosen with it. Fails with the operators that no table has.
# MODE=keep CHOICE SOURCE: prints the source; tables of rows keep those of the choice, lists of tables keep its tables. Compilers then
# drop the static functions that only the other rows named. A table begins and ends at the start of a line, as clang-format has it.

function key(domain, name) { return domain "\t" name }

# Reads "com.microsoft::Gelu" or "Gelu".
function key_of(text, at) {
    at = index(text, "::")
    return at ? key(substr(text, 1, at - 1), substr(text, at + 2)) : key("", text)
}

# Makes `node` and `made` of the words of a fusion: lists of operators, without attributes and operands. Returns the number of nodes.
function read_fusion(nodes, makes, count, words, i) {
    anchor = 1
    gsub(/\{[^}]*\}/, "", nodes)
    count = split(nodes, words, /\) */) - 1
    for (i = 1; i <= count; i++) {
        if (words[i] ~ /^\*/) anchor = i
        sub(/^[^=]*=/, "", words[i])
        sub(/\(.*/, "", words[i])
        node[i] = words[i]
    }
    made = makes
    sub(/\(.*/, "", made)
    return count
}

function any_chosen(operators, parts, i, count) {
    count = split(operators, parts, "|")
    for (i = 1; i <= count; i++)
        if (key_of(parts[i]) in chosen) return 1
    return 0
}

function fusion_fits(nodes, makes, count, i) {
    count = read_fusion(nodes, makes)
    for (i = 1; i <= count; i++)
        if (!any_chosen(node[i])) return 0
    return 1
}

# Chooses the operators that a fusion makes; with one for each operator of the anchor, those of the chosen ones. True if any is new.
function choose_made(anchors, makes, i, count, new) {
    count = split(node[anchor], anchors, "|")
    if (split(made, makes, "|") != count) {
        new = !(key_of(made) in chosen)
        chosen[key_of(made)] = 1
        return new
    }
    for (i = 1; i <= count; i++)
        if (key_of(anchors[i]) in chosen && !(key_of(makes[i]) in chosen)) chosen[key_of(makes[i])] = new = 1
    return new
}

function fits(kind, row_texts, first, second, third) {
    if (!row_texts || second == "*") return 1
    return kind == "pattern" ? fusion_fits(second, third) : key(first, second) in chosen
}

# Takes a row: its source text, the number of its strings, and the first three of its members that are strings.
function take_row(text, texts, first, second, third) {
    if (MODE == "keep") {
        if (fits(kind, texts, first, second, third)) kept = kept text ",\n"
    } else if (texts) {
        row_kind[++rows] = kind
        row_table[rows] = table
        row_first[rows] = first
        row_second[rows] = second
        row_third[rows] = third
    }
}

# Splits the text of a table into rows. Strings side by side are one.
function take_table(text, depth, round, member, texts, part, row, value) {
    while (match(text, /"([^"\\]|\\.)*"|[{}(),]/)) {
        part = substr(text, RSTART, RLENGTH)
        if (depth) row = row substr(text, 1, RSTART + RLENGTH - 1)
        text = substr(text, RSTART + RLENGTH)
        if (part == "{" && ++depth == 1) {
            row = part
            member = 1
            texts = 0
            split("", value)
        } else if (part == "}" && --depth == 0) {
            take_row(row, texts, value[1], value[2], value[3])
        } else if (part == "(") {
            round++
        } else if (part == ")") {
            round--
        } else if (part == "," && depth == 1 && !round) {
            member++
        } else if (length(part) > 1) {
            texts++
            value[member] = value[member] substr(part, 2, length(part) - 2)
        }
    }
}

# Prints a list of tables without those that keep no row.
function print_list(text, name) {
    while (match(text, /tort_(ops|patterns|cpu)_[a-z0-9_]+ *,/)) {
        name = substr(text, RSTART, RLENGTH)
        printf "%s", substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        sub(/ *,/, "", name)
        if (name in tables) printf "%s,", name
    }
    print text
}

function choose(i, new) {
    do {
        new = 0
        for (i = 1; i <= rows; i++)
            if (row_kind[i] == "pattern" && fusion_fits(row_second[i], row_third[i])) new += choose_made()
    } while (new)
    for (i = 1; i <= rows; i++)
        if (fits(row_kind[i], 1, row_first[i], row_second[i], row_third[i])) {
            tables[row_table[i]] = 1
            if (row_kind[i] == "op") found[key(row_first[i], row_second[i])] = 1
        }
}

NR == FNR && MODE == "list" {
    sub(/#.*/, "")
    gsub(/[ \t\r]/, "")
    if ($0 == "") next
    dots = split($0, parts, ".")
    name = parts[dots]
    domain = dots > 1 ? substr($0, 1, length($0) - length(name) - 1) : ""
    if (domain == "ai.onnx") domain = ""
    wanted[key(domain, name)] = $0
    chosen[key(domain, name)] = 1
    next
}
NR == FNR {
    if ($1 == "operator") chosen[substr($0, 10)] = 1
    if ($1 == "table") tables[$2] = 1
    next
}

!open && /^const tort_(op|pattern|kernel|flops) \*const tort_[a-z_]+\[\] = \{/ && MODE == "keep" { open = "list" }
!open && /^const tort_(op|pattern|kernel|flops) tort_[a-z_0-9]+\[\] = \{/ {
    open = "table"
    kind = substr($2, 6)
    table = $3
    sub(/\[.*/, "", table)
}
open {
    ends = /\};$/
    if (!body) {
        if (MODE == "keep") print substr($0, 1, index($0, "{"))
        sub(/^[^{]*\{/, "")
        body = "\n"
    }
    if (ends) sub(/\};$/, "")
    if (!/^#/) body = body $0 "\n"
    if (!ends) next
    kept = ""
    if (open == "list") {
        print_list(body)
    } else {
        take_table(body)
        if (MODE == "keep") printf "%s", kept
    }
    if (MODE == "keep") print "};"
    open = body = ""
    next
}
MODE == "keep" { print }

END {
    if (MODE == "keep") exit
    choose()
    for (operator in wanted)
        if (!(operator in found)) {
            print "error: " FILE ": no operator '" wanted[operator] "' in ops/ ('tinyort ops' lists them)" > "/dev/stderr"
            failed = 1
        }
    if (failed) exit 1
    for (operator in found) print "operator\t" operator
    for (name in tables) print "table\t" name
}
