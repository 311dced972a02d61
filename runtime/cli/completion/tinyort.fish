# Completion of tinyort in fish, as '.ci/pages.sh TINYORT fish' prints it: source it, or save it as tinyort.fish in a folder of
# $fish_complete_path, where 'make install' puts it.

# __tinyort_in COMMAND: true if it is the command that is typed.
function __tinyort_in -a command
    set -l words (commandline -opc)
    test "$words[2]" = $command
end

# __tinyort_value SEPARATOR WHAT: what the argument of an option may be, behind its last separator.
function __tinyort_value -a separator what
    set -l value (commandline -ct | string replace -r '^--[^=]*=' '')
    set -l stem ''
    if test $separator != -
        set stem (string replace -r "[^$separator]*\$" '' -- $value)
    end
    set -l typed (string sub -s (math 1 + (string length -- "$stem")) -- "$value")
    set -l found
    switch $what
        case DIR
            set found (__fish_complete_directories "$typed" '')
        case MODEL
            string match -q -- '-*' (commandline -ct); or set found (__fish_complete_suffix .onnx)
        case '*'
            set found (string split '|' -- $what)
    end
    if test $separator != = -o -n "$stem"
        printf '%s\n' $stem$found
    end
end

# A line each, with tabs: command, option (of "tinyort": command), argument, separator, what it is, help.
set -l table '@TABLE@'
complete -c tinyort -f
for row in (string split -n \n -- $table)
    set -l of (string split \t -- $row)
    set -l arguments
    set -l required -x
    switch $of[5]
        case -
        case FILE
            set arguments -F
            set required -r
        case '*'
            set arguments -k -a "(__tinyort_value '$of[4]' '$of[5]')"
    end
    if test $of[1] = tinyort
        complete -c tinyort -n __fish_use_subcommand -a $of[2] -d $of[6]
        test -n "$arguments"; and complete -c tinyort -n "__tinyort_in $of[2]" $arguments
    else
        string match -q -- - $of[3]; or string match -q -- '[=*' $of[3]; or set -p arguments $required
        complete -c tinyort -n "__tinyort_in $of[1]" -l (string sub -s 3 -- $of[2]) -d $of[6] $arguments
    end
end
