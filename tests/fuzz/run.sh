#!/bin/sh
# run.sh CORPUS [libFuzzer options]: fuzzes the importer (built by `make fuzz`) from the hostile files, the small real models
# and ONNX's own node tests; new inputs go to the folder CORPUS. Default: a million executions.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
corpus=$1
shift
seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT
mkdir -p "$corpus"
find "$root/tests/hostile/files" "$root/tests/fuzz/found" "$root/models" -name '*.onnx' -size -6k -exec cp -n {} "$seeds" \;
for model in /usr/share/libonnx-testdata/data/*/*/model.onnx; do
  [ -f "$model" ] && cp "$model" "$seeds/$(basename "$(dirname "$model")").onnx"
done
# What costs half the time and finds nothing more: stacks of allocations, fills, leak checks (there are no owning pointers).
export ASAN_OPTIONS="${ASAN_OPTIONS:-quarantine_size_mb=16:malloc_context_size=1:max_malloc_fill_size=0:detect_stack_use_after_return=0}"
"$root/build-fuzz/bin/fuzz/import_model" -runs=1000000 -max_len=2048 -entropic=0 -detect_leaks=0 -timeout=10 -rss_limit_mb=2048 \
  -artifact_prefix="$corpus-" -print_final_stats=1 "$@" "$corpus" "$seeds"
