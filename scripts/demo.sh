#!/usr/bin/env bash
# The first command of the README: sets the machine up, builds, explains the copies of an example.
#   scripts/demo.sh [FILE]      default: examples/attention.hlo
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh build
scripts/build.sh release -DHLOKIT_TESTS=OFF -- hlokit >&2
echo "\$ hlokit explain ${1:-examples/attention.hlo}" >&2
exec build/release/hlokit explain "${1:-examples/attention.hlo}"
