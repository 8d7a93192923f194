#!/usr/bin/env bash
# Formats the C++ files with clang-format-14; with --check only says which ones are not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."
# Tables of rows keep their own form.
mapfile -t files < <(git ls-files '*.cc' '*.h')
if [ "${1:-}" != --check ]; then
  clang-format-14 -i "${files[@]}"
  exit
fi
bad=0
for file in "${files[@]}"; do
  if ! clang-format-14 "$file" | cmp -s - "$file"; then
    echo "not formatted: $file"
    bad=$((bad + 1))
  fi
done
echo "format: ${#files[@]} files, $bad not formatted"
[ "$bad" -eq 0 ]
