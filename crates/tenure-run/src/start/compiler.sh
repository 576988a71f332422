#!/bin/sh
# Written by `tenure run --cc`. Stands in for the compiler of the same name: calls the real one, which TENURE_COMPILERS names
# or is the next on PATH, and has it instrument memory accesses and link with the runtime that records them. As `launch` it
# does so with the compiler that its first argument names.
set -f
here=@HERE@
library=@LIBRARY@
name=${0##*/} launched=
if [ "$name" = launch ]; then
    name=${1##*/}
    case $1 in
    # Another stand-in: it does what is to be done.
    "$here"/*) exec "$@" ;;
    esac
    # As `is_compiler` knows it: without a version, and of this machine.
    bare=$name
    case ${name##*-} in
    *[!0-9.]* | .* | "") ;;
    *) bare=${name%-*} ;;
    esac
    case $bare in
    @ARCH@*linux*-*) bare=${bare##*-} ;;
    esac
    case $bare in
    cc | c++ | gcc | g++ | clang | clang++) ;;
    *) exec "$@" ;;
    esac
    launched=$1
    shift
fi

# PATH without this directory: a compiler cache looks for the compiler there too, and must not find this script again.
path= real=
IFS=:
for compiler in $TENURE_COMPILERS; do
    [ "$compiler" = "$here/$name" ] || [ "${compiler##*/}" != "$name" ] || [ -n "$real" ] || real=$compiler
done
for folder in $PATH; do
    [ "$folder" = "$here" ] && continue
    path=$path${path:+:}$folder
    [ -z "$real" ] && [ -f "$folder/$name" ] && [ -x "$folder/$name" ] && real=$folder/$name
done
unset IFS
real=${launched:-$real}
if [ -z "$real" ]; then
    echo "$name: no such compiler on PATH" >&2
    exit 127
fi
export PATH="$path"

# A question to the compiler is no build.
files=
for word; do
    case $word in
    -dumpversion | -dumpfullversion | -dumpmachine | -dumpspecs | -print-* | --print-* | --version | --help* | -'###')
        exec "$real" "$@"
        ;;
    -) files=yes ;;
    -*) ;;
    *) files=yes ;;
    esac
done
[ -n "$files" ] || exec "$real" "$@"
# Says that the build has called a compiler which instruments.
[ ! -d "$TENURE_PROBE_DIR" ] || : >"$TENURE_PROBE_DIR/compiled"

# Other sanitizers cannot be combined with these accesses, and none of their runtimes is wanted.
links=yes static=
for word; do
    shift
    case $word in
    -fsanitize=* | -static-libtsan | -static-libasan) continue ;;
    -static | --static | -static-pie)
        static=$word
        continue
        ;;
    -c | -S | -E | -M | -MM | -r | -fsyntax-only) links= ;;
    esac
    set -- "$@" "$word"
done

[ -z "$static" ] || [ -z "$links" ] ||
    echo "tenure: $name links without $static, because the runtime is a shared library" >&2

# Without a PLT each access calls the runtime itself. A last call that became a jump would be one of the caller.
set -- "$@" -fsanitize=thread -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-plt
# A compiler cache has the compiler's name, but another file.
file=$(readlink -f "$real")
case $name:${file##*/} in
*clang*)
    set -- "$@" -mllvm -tsan-instrument-func-entry-exit=0 -Qunused-arguments -fno-sanitize-link-runtime
    [ -z "$links" ] || set -- "$library/libtsan.so.2" "-Wl,-rpath,$library" "$@"
    ;;
*)
    # gcc has the parameter since version 11, and a warning of fences that are not instrumented.
    case $("$real" -dumpversion) in
    [1-9] | [1-9].* | 10 | 10.*) ;;
    *) set -- "$@" --param tsan-instrument-func-entry-exit=0 -Wno-tsan ;;
    esac
    [ -z "$links" ] || set -- "-L$library" "-Wl,-rpath,$library" "$@"
    ;;
esac
exec "$real" "$@"
