# pages.awk - the manual page of tinyort, or what completes its commands in a shell, made of what the program's help says.
#
# KIND=man prints the page tinyort(1) in roff. KIND=table prints a line for each command and option, with tabs: command ("tinyort": its
# commands), name, argument, separator (what is completed begins behind a ',' or a '='), what the argument is, help; '-' for what there is not.
# FILE, MODEL, DIR, words such as "npy|pb" or '-': what an argument is. Input: `tinyort --help`, and after a line "@ COMMAND" each the help of a command.

function ends_with(text, end) { return length(text) >= length(end) && substr(text, length(text) - length(end) + 1) == end }
function names_providers(argument) { return argument == "CHAIN" || argument ~ /EP(,\.\.\.)?$/ }

function what_it_is(argument,   word) {
    word = argument
    gsub(/^[[=]+|\]$/, "", word)
    if (word ~ /^[a-z0-9|]+$/) return word
    if (names_providers(argument)) return providers
    if (argument == "COMMAND") return commands
    if (argument == "PATH" || argument == "OUT.onnx" || ends_with(argument, "FILE")) return "FILE"
    return argument ~ /^MODEL/ ? "MODEL" : index(argument, "DIR") ? "DIR" : "-"
}
function separator_of(argument) {
    sub(/^[[=]+/, "", argument)
    return index(argument, "=") ? "=" : names_providers(argument) ? "," : "-"
}
# Text between single quotes, whichever of the three shells reads it.
function print_row(of, name, argument, help) {
    gsub(/'/, "'\\''", help)
    printf "%s\t%s\t%s\t%s\t%s\t%s\n", of, name, argument == "" ? "-" : argument, separator_of(argument), what_it_is(argument), help
}

# roff reads '\' as the start of an escape and a '.' that begins a line as that of a request, and gives plain '-', '^', '~' and '`' other forms.
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    gsub(/`/, "\\(ga", text)
    return text ~ /^\./ ? "\\&" text : text
}
function tag(word, between, argument) { printf ".TP\n\\fB%s\\fR%s\\fI%s\\fR\n", roff(word), between, roff(argument) }

# The first screen: the commands; then, behind an empty line, examples and "Exit status: ..." to its end.
!command && /^  tinyort [a-z]+ / && !first_try {
    name[++count] = $2
    operands[count] = $3 ~ /^(MODEL|DIR|\[OPERATOR)/ ? $3 : ""
    summary[count] = substr($0, 28)
    sub(/^ +/, "", summary[count])
    commands = commands (commands ? "|" : "") $2
}
!command && NR == 1 { version = $2; what = $0; sub(/:$/, "", version); sub(/^[^:]*: /, "", what) }
!command && /^Exit status: / { status = substr($0, 14); in_status = 1; next }
!command && in_status && !/^@/ { status = status "\n" $0 }
!command && first_try && !in_status { examples = examples $0 "\n" }
!command && /lists the options\. A first try:$/ { first_try = 1 }

/^@ / { command = $2; heading = ""; next }
command && /^Options of providers, as in --ep/ { heading = "providers"; sub(/^.*--ep/, "--ep"); as_in = $0; next }
command && /^In the environment/ { heading = "environment"; next }
heading == "providers" {
    option[++provider_options] = $1 ":" $2
    help = $0
    sub(/^ +[a-z-]+ +[^ ]+ +/, "", help)
    option_help[provider_options] = help
    if (!(("" $1) in known)) providers = providers (providers ? "|" : "") $1
    known[$1] = 1
}
heading == "environment" { variable[++variables] = $1; help = $0; sub(/^ +[^ ]+ +/, "", help); variable_help[variables] = help }
command && /^[A-Z]/ && NR > 2 { heading = $0 }
command && /^  --/ {
    match($0, /^  --[a-z-]+/)
    word = substr($0, 3, RLENGTH - 2)
    rest = substr($0, RLENGTH + 1)
    argument = ""
    if (match(rest, /^(\[[^ ]*| [^ ]+)/)) argument = substr(rest, 1, RLENGTH)
    rest = substr(rest, length(argument) + 1)
    sub(/^ /, "", argument)
    sub(/^ +/, "", rest)
    key = word "\t" argument "\t" rest
    if (!(key in takers)) { order[++keys] = key; under[keys] = heading }
    takers[key] = takers[key] (takers[key] ? "," : "") command
    if (!(heading in seen)) headings[++heading_count] = heading
    seen[heading] = 1
}

function print_table(   i, k, part, of) {
    for (i = 1; i <= count; i++) print_row("tinyort", name[i], operands[i], summary[i])
    print_row("tinyort", "help", "COMMAND", "Describes a command and its options.")
    for (i = 1; i <= count; i++)
        for (k = 1; k <= keys; k++)
            if (index("," takers[order[k]] ",", "," name[i] ",")) {
                split(order[k], part, "\t")
                print_row(name[i], part[1], part[2], part[3])
            }
}
function print_options(   h, k, part, of) {
    print ".SH OPTIONS"
    for (h = 1; h <= heading_count; h++) {
        print ".SS " roff(headings[h])
        for (k = 1; k <= keys; k++) {
            if (under[k] != headings[h]) continue
            split(order[k], part, "\t")
            tag(part[1], part[2] == "" || part[2] ~ /^\[=/ ? "" : " ", part[2])
            of = takers[order[k]]
            gsub(/,/, "\\fR, \\fB", of)
            printf "%s\n.br\nOf \\fB%s\\fR.\n", roff(part[3]), of
        }
    }
}
function print_lines(text,   i, n, lines) {
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) if (lines[i] != "") print roff(lines[i])
}
function print_man(   i, part) {
    printf ".TH TINYORT 1 \"\" \"tinyort %s\" \"User Commands\"\n.SH NAME\ntinyort \\- %s\n", version, roff(what)
    print ".SH SYNOPSIS\n\\fBtinyort\\fR \\fICOMMAND\\fR [\\fIoption\\fR]...\n.SH COMMANDS"
    for (i = 1; i <= count; i++) {
        tag(name[i], operands[i] == "" ? "" : " ", operands[i])
        print roff(summary[i])
    }
    print ".PP\n\\fBtinyort\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR lists the options of a command."
    print_options()
    print ".SH OPTIONS OF PROVIDERS\nAs in \\fB" roff(as_in) "\\fR."
    for (i = 1; i <= provider_options; i++) {
        split(option[i], part, "=")
        tag(part[1] "=", "", part[2])
        print roff(option_help[i])
    }
    print ".SH ENVIRONMENT"
    for (i = 1; i <= variables; i++) {
        split(variable[i], part, "=")
        tag(part[1] "=", "", part[2])
        print roff(variable_help[i])
    }
    print ".SH EXIT STATUS"
    print_lines(status)
    print ".SH EXAMPLES\n.nf"
    print_lines(examples)
    print ".fi"
}
END { if (KIND == "man") print_man(); else print_table() }
