#!/bin/sh
# Written by `tenure run --cc`. Stands in for the compiler of the same name: calls the real one, which is the next on
# PATH, and has it instrument memory accesses and link with the runtime that records them.
here=@HERE@
library=@LIBRARY@
name=${0##*/}

# PATH without this directory: a compiler cache looks for the compiler there too, and must not find this script again.
path= real=
IFS=:
for folder in $PATH; do
    [ "$folder" = "$here" ] && continue
    path=$path${path:+:}$folder
    [ -z "$real" ] && [ -f "$folder/$name" ] && [ -x "$folder/$name" ] && real=$folder/$name
done
unset IFS
if [ -z "$real" ]; then
    echo "$name: no such compiler on PATH" >&2
    exit 127
fi
export PATH="$path"

# Other sanitizers cannot be combined with these accesses, and none of their runtimes is wanted.
links=yes
for word; do
    shift
    case $word in
    -fsanitize=* | -static-libtsan | -static-libasan) continue ;;
    -c | -S | -E | -M | -MM | -fsyntax-only | -dump* | -print* | --print* | --version | --help*) links= ;;
    esac
    set -- "$@" "$word"
done

# Without a PLT each access calls the runtime itself.
set -- "$@" -fsanitize=thread -g -fno-omit-frame-pointer -fno-plt
case $(readlink -f "$real") in
*clang*)
    set -- "$@" -mllvm -tsan-instrument-func-entry-exit=0 -Qunused-arguments
    [ -z "$links" ] || set -- -fno-sanitize-link-runtime "$library/libtsan.so.2" "-Wl,-rpath,$library" "$@"
    ;;
*)
    # gcc has the parameter since version 11.
    case $("$real" -dumpversion) in
    [1-9] | [1-9].* | 10 | 10.*) ;;
    *) set -- "$@" --param tsan-instrument-func-entry-exit=0 ;;
    esac
    [ -z "$links" ] || set -- "-L$library" "-Wl,-rpath,$library" "$@"
    ;;
esac
exec "$real" "$@"
