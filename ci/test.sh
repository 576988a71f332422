#!/usr/bin/env bash
# README's second command, as it is written there: the library's tests, loom models and documentation examples included, and the command's.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/readme.sh
command=$(readme_command 2)
: "${command:?"README has no second command"}"
echo "\$ $command"
eval "$command"
