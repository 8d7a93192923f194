#!/usr/bin/env bash
# Runs every fuzz target for a while, starting from the examples and the golden inputs.
#   scripts/fuzz.sh [SECONDS PER TARGET] [TARGET...]      default: 60 s, all targets
# What is found stands in build/fuzz/crashes; rerun one with build/fuzz/TARGET FILE.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:-60}"
[ "$#" -gt 0 ] && shift
scripts/build.sh fuzz -DHLOKIT_TESTS=ON -- fuzzers
targets=("$@")
if [ "${#targets[@]}" -eq 0 ]; then
  for source in tests/fuzz/fuzz_*.cc; do
    target="$(basename "$source" .cc)"
    if [ -x "build/fuzz/$target" ]; then targets+=("$target"); else echo "fuzz: $target is not built"; fi
  done
fi

# Small seeds only: libFuzzer spends its time on mutations, not on reading.
seeds=build/fuzz/seeds
if [ ! -d "$seeds" ]; then
  mkdir -p "$seeds"
  find examples tests/golden/data/inputs -name '*.hlo' -size -8k -exec cp -t "$seeds" {} +
  python3 - "$seeds" <<'PY'
import os, sys
sys.path.insert(0, "tests/golden")
from run_text_cases import load_cases
for case in load_cases().values():
    if case["kind"] == "module":
        with open(os.path.join(sys.argv[1], "case-" + case["id"]), "w", encoding="utf-8") as file:
            file.write(case["input"])
PY
fi

mkdir -p build/fuzz/crashes
status=0
for target in "${targets[@]}"; do
  corpus="build/fuzz/corpus-$target"
  if [ ! -d "$corpus" ]; then
    mkdir -p "$corpus"
    if [ "$target" = fuzz_neuron ]; then python3 tests/fuzz/neuron_seeds.py "$corpus"; fi
    for seed in "$seeds"/*; do
      # fuzz_assign takes its options from the first byte.
      if [ "$target" = fuzz_neuron ]; then break
      elif [ "$target" = fuzz_assign ]; then { printf '\0'; cat "$seed"; } >"$corpus/$(basename "$seed")"
      else cp "$seed" "$corpus"; fi
    done
  fi
  echo "fuzz: $target for $seconds s, $(ls "$corpus" | wc -l) inputs"
  "build/fuzz/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=20000 \
    -dict=tests/fuzz/hlo.dict -artifact_prefix="build/fuzz/crashes/$target-" -print_final_stats=1 \
    "$corpus" 2>"build/fuzz/$target.log" || status=1
  grep -E 'number_of_executed_units|peak_rss|SUMMARY|ERROR' "build/fuzz/$target.log" || true
  if [ "$status" -ne 0 ]; then tail -n 60 "build/fuzz/$target.log"; fi
done
exit "$status"
