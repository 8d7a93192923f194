#!/usr/bin/env bash
# Installs what hlokit needs on a Debian 12 machine. Safe to run again; quick when all is there.
#
#   scripts/setup.sh build   compiler and libraries (enough for the demo)
#   scripts/setup.sh test    the above, GoogleTest, Python packages for the tests   (default)
#   scripts/setup.sh ci      the above, clang tools, the fuzzer's runtime, Google Benchmark
#
# Debian packages come through apt (with sudo when the user is not root); Python packages go into
# build/venv, since Debian's Python does not take them system-wide.
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(g++ cmake ninja-build ccache libfmt-dev libcli11-dev nlohmann-json3-dev
                libprotobuf-dev protobuf-compiler zlib1g-dev libhwy-dev)
test_packages=(libgtest-dev python3 python3-venv valgrind)
ci_packages=(clang-format-14 clang-19 libclang-rt-19-dev clang-tidy-19 llvm-19 libbenchmark-dev)

level="${1:-test}"
case "$level" in
  build) packages=("${build_packages[@]}") ;;
  test) packages=("${build_packages[@]}" "${test_packages[@]}") ;;
  ci) packages=("${build_packages[@]}" "${test_packages[@]}" "${ci_packages[@]}") ;;
  *) sed -n '2,9p' "$0" | cut -c3- >&2; exit 2 ;;
esac

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done

if [ "${#missing[@]}" -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: these packages are missing and there is no sudo; as root run:" >&2
      echo "  apt-get install -y --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}" >&2
  install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq
           --no-install-recommends -o DPkg::Lock::Timeout=120 "${missing[@]}")
  # The package lists of a fresh machine may be absent or old; refresh them only when that is so.
  if ! "${install[@]}" >/dev/null 2>&1; then
    "${as_root[@]}" apt-get update -qq -o DPkg::Lock::Timeout=120
    "${install[@]}" >/dev/null
  fi
fi

if [ "$level" != build ]; then
  venv=build/venv
  stamp="$venv/requirements.installed"
  if ! cmp -s tests/requirements.txt "$stamp" || ! "$venv/bin/python" -c '' 2>/dev/null; then
    echo "setup: Python packages of tests/requirements.txt into $venv" >&2
    python=/usr/bin/python3
    [ -x "$python" ] || python=python3
    rm -rf "$venv"
    mkdir -p build
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -r tests/requirements.txt
    cp tests/requirements.txt "$stamp"
  fi
fi
