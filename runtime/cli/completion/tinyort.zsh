#compdef tinyort
# Completion of tinyort in zsh, as '.ci/pages.sh TINYORT zsh' prints it: save it as _tinyort in a folder of $fpath, where
# 'make install' puts it.

# _tinyort_value SEPARATOR WHAT: completes the argument of an option, or what is behind its last separator.
_tinyort_value() {
    [[ $1 == = && $2 != FILE && $PREFIX != *=* ]] && return 1
    [[ $1 == - ]] || compset -P "*$1"
    case $2 in
    -) return 1 ;;
    DIR) _files -/ ;;
    FILE) _files ;;
    MODEL) _files -g '*.onnx(-.)' ;;
    *) compadd -- ${(s:|:)2} ;;
    esac
}

_tinyort() {
    # A line each, with tabs: command, option (of "tinyort": command), argument, separator, what it is, help.
    local table='@TABLE@'
    local command name argument separator what help action spec
    local -a commands specs
    while IFS=$'\t' read -r command name argument separator what help; do
        action=":$argument: _tinyort_value $separator ${(q)what}"
        if [[ $command == tinyort ]]; then
            commands+=("$name:$help")
            [[ $name == $words[2] && $argument != - ]] && specs+=("*$action")
        elif [[ $command == $words[2] ]]; then
            spec="[${${help//\[/\\[}//\]/\\]}]"
            case $argument in
            -) specs+=("$name$spec") ;;
            \[=*) specs+=("$name=-$spec:$action") ;;
            *) specs+=("*$name=$spec$action") ;;
            esac
        fi
    done <<< "$table"
    if (( CURRENT == 2 )); then
        _describe command commands
    else
        shift words
        (( CURRENT-- ))
        _arguments -S : $specs
    fi
}

_tinyort "$@"
