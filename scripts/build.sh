#!/usr/bin/env bash
# Configures and builds one preset: scripts/build.sh PRESET [CMAKE ARGUMENTS] [-- NINJA TARGETS]
# The folder is build/PRESET. Output is kept short unless something fails.
set -euo pipefail
cd "$(dirname "$0")/.."
preset="${1:?usage: scripts/build.sh PRESET [CMAKE ARGUMENTS] [-- NINJA TARGETS]}"
shift
configure=()
while [ "$#" -gt 0 ] && [ "$1" != -- ]; do configure+=("$1"); shift; done
[ "$#" -gt 0 ] && shift

log="build/$preset/configure.log"
mkdir -p "build/$preset"
if ! cmake --preset "$preset" "${configure[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
echo "building build/$preset" >&2
# On a terminal ninja shows its progress on one line; elsewhere only what goes wrong.
quiet=(--quiet)
[ -t 1 ] && quiet=()
ninja -C "build/$preset" "${quiet[@]}" "$@"
