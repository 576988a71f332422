# Sourced by the checks that run README's commands: says what they are.

# readme_command N : the Nth line of README's first block of shell commands, as it is typed.
readme_command() {
    awk -v wanted="$1" '/^```$/ { if (inside) exit } inside && ++line == wanted; /^```sh$/ { inside = 1 }' README.md
}
