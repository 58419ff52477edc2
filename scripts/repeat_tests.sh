#!/usr/bin/env bash
# Runs the whole test suite of a build again and again, to find tests that pass by luck: ctest's tests in random order,
# those within an executable shuffled, in every second run with all cores loaded besides.
#     scripts/repeat_tests.sh [RUNS [BUILD_FOLDER [CTEST_ARGUMENT...]]]
# A line a run; below it the names of what failed, and how to have that run again. The logs stay in
# BUILD_FOLDER/repeat_tests.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
runs=${1:-20}
build=${2:-build}
shift $(($# < 2 ? $# : 2))
logs=$build/repeat_tests
mkdir -p "$logs"

loops=()
end_load() {
  for loop in "${loops[@]}"; do kill "$loop" 2> /dev/null && wait "$loop" 2> /dev/null; done
  loops=()
}
trap end_load EXIT
trap 'exit 130' INT TERM

failures=0
for ((run = 1; run <= runs; ++run)); do
  seed=$((RANDOM * 3 + run)) # gtest takes seeds below 100,000
  load=idle
  if ((run % 2 == 0)); then
    load=loaded
    for ((core = 0; core < $(nproc); ++core)); do
      (while :; do :; done) &
      loops+=($!)
    done
  fi
  log=$logs/$run.log
  start=$SECONDS
  GTEST_SHUFFLE=1 GTEST_RANDOM_SEED=$seed ctest --test-dir "$build" -LE long -j "$(nproc)" --schedule-random \
    --output-on-failure "$@" > "$log" 2>&1
  code=$?
  end_load
  summary=$(grep -E '^[0-9]+% tests passed' "$log" || echo "ctest ended with $code")
  printf 'run %d of %d, %s, seed %d, %d s: %s\n' "$run" "$runs" "$load" "$seed" $((SECONDS - start)) "$summary"
  if ((code != 0)); then
    failures=$((failures + 1))
    # What ctest counts, then the tests within.
    sed -n '/^The following tests FAILED:/,/^Errors/p' "$log" | sed -n -E 's/^[[:space:]]+([0-9]+ - )/    \1/p'
    grep -E '^\[  FAILED  \] [A-Za-z]' "$log" | grep -v ' ms)$' | sort -u | sed 's/^/    /'
    printf '    again: GTEST_SHUFFLE=1 GTEST_RANDOM_SEED=%d ctest --test-dir %s -R NAME   (all of it: %s)\n' "$seed" "$build" "$log"
  fi
done
printf '%d of %d runs passed\n' $((runs - failures)) "$runs"
exit $((failures > 0))
