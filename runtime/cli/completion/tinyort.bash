# Completion of tinyort in bash, as '.ci/pages.sh TINYORT bash' prints it: source it, or let 'make install' put it where
# bash-completion finds it.

# A line each, with tabs: command, option (of "tinyort": command), argument, separator, what the argument is, help.
_tinyort_table='@TABLE@'

# _tinyort_find COMMAND NAME: sets argument, separator and what of a line to those of the table.
_tinyort_find() {
    local command name help
    while IFS=$'\t' read -r command name argument separator what help; do
        [[ $command == "$1" && $name == "$2" ]] && return 0
    done <<< "$_tinyort_table"
    argument=- separator=- what=-
    return 1
}

# _tinyort_names COMMAND: its options, or all commands.
_tinyort_names() {
    local command name rest
    while IFS=$'\t' read -r command name rest; do
        [[ $command == "$1" ]] && echo "$name"
    done <<< "$_tinyort_table"
}

# _tinyort_candidates WHAT TYPED: a line each.
_tinyort_candidates() {
    case $1 in
    -) ;;
    DIR) compgen -d -- "$2" ;;
    FILE) compgen -f -- "$2" ;;
    MODEL) { compgen -f -X '!*.onnx' -- "$2"; compgen -d -- "$2"; } | sort -u | grep . || compgen -f -- "$2" ;;
    *) compgen -W "${1//|/ }" -- "$2" ;;
    esac
}

_tinyort() {
    local IFS=$' \t\n'
    # Bash cuts words at '=' and ':' too: `words` has them whole, up to the cursor.
    local words=() piece= glue= last=-1 i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((i > 1)) && [[ $piece == [=:]* || ($glue && $piece != -*) ]]; then
            words[last]+=$piece
        else
            words[++last]=$piece
        fi
        glue=
        [[ $piece == *[=:] ]] && glue=yes
    done
    [[ $piece == [=:]* ]] && piece=
    local current=${words[last]} command=${words[1]} before=${words[last - 1]}
    local kept=${current%"$piece"} value=$current argument=- separator=- what=- # bash leaves what is kept as it is
    COMPREPLY=()

    if ((last < 2)); then
        what=$(_tinyort_names tinyort)
    elif [[ $current == --*=* ]]; then
        value=${current#*=}
        _tinyort_find "$command" "${current%%=*}"
    elif [[ $before == --* && $before != *=* ]] && _tinyort_find "$command" "$before" && [[ $argument != - && $argument != \[=* ]]; then
        :
    elif [[ $current == -* ]]; then
        what=$(_tinyort_names "$command")
    else
        _tinyort_find tinyort "$command"
    fi

    local stem= candidate
    [[ $separator == = && $what != FILE && $value != *=* ]] && what=-
    [[ $separator == [,=] ]] && stem=${value%"${value##*"$separator"}"}
    local typed=${value#"$stem"}
    while IFS= read -r candidate; do
        candidate=${current%"$typed"}$candidate
        COMPREPLY+=("${candidate#"$kept"}")
    done < <(_tinyort_candidates "$what" "$typed")
    case $what in FILE | DIR | MODEL) compopt -o filenames 2> /dev/null ;; esac
}
complete -F _tinyort tinyort
