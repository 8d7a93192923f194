#!/usr/bin/env bash
# Runs clang-tidy-19 over the sources, the most recently changed first, until the time is used up.
#   scripts/tidy.sh [SECONDS] [FILE...]      default: no limit, all files; needs build/release
set -euo pipefail
cd "$(dirname "$0")/.."
limit="${1:-100000}"
[ "$#" -gt 0 ] && shift
files=("$@")
if [ "${#files[@]}" -eq 0 ]; then
  # Paths in the order of the commits that touched them last, those that still exist, each once.
  mapfile -t files < <(git log --format= --name-only -- 'src/*.cc' 'tools/*.cc' |
                       awk 'NF && !seen[$0]++' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
fi
checked=build/tidy.checked
: >"$checked"
end=$(($(date +%s) + limit))
export end checked
check_one() {
  [ "$(date +%s)" -lt "$end" ] || exit 0
  clang-tidy-19 -p build/release --quiet "$1" 2>/dev/null || exit 1
  echo "$1" >>"$checked"
}
export -f check_one
status=0
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I{} bash -c 'check_one {}' || status=1
echo "tidy: $(wc -l <"$checked") of ${#files[@]} files checked without findings"
exit "$status"
