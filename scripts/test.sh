#!/usr/bin/env bash
# The second command of the README: sets the machine up, builds everything, runs all tests.
#   scripts/test.sh [CTEST ARGUMENTS]      for instance: scripts/test.sh -R golden
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test
scripts/build.sh release -DHLOKIT_TESTS=ON
exec ctest --test-dir build/release --output-on-failure -j "$(nproc)" "$@"
