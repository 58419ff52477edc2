#!/usr/bin/env bash
# From a bare system to a real model made faster: installs what the program needs, builds it, fills the model with
# weights, optimizes it into a file for any runtime, compiles it, and measures both. Leaves the build only.
#   scripts/demo.sh [NAME]      default resnet50; any of models/
set -euo pipefail
cd "$(dirname "$0")/.."
model=${1:-resnet50}
jobs=${JOBS:-$(nproc)}

say() { echo "demo: $*" >&2; }

scripts/setup.sh program

[ -e build/build.ninja ] || {
  say "configuring the build"
  cmake --preset program >/dev/null
}
steps=$(ninja -C build -n isomer isomer-verify isomer-fill | grep -c '^\[' || true)
if [ "$steps" -gt 1 ]; then
  minutes=$((steps * 8 / jobs / 60 + 1))
  say "building the program: $steps steps of 8 to 16 s each on $jobs cores, $minutes to $((2 * minutes)) min"
fi
NINJA_STATUS='[%f/%t, %e s] ' ninja -C build -j "$jobs" isomer isomer-verify isomer-fill >&2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
say "filling models/$model.onnx with weights"
build/bin/isomer-fill "models/$model.onnx" -o "$folder" >&2
say "isomer optimize $model.onnx -o $model.optimized.onnx: a file for any runtime"
build/bin/isomer optimize "$folder/$model.onnx" -o "$folder/$model.optimized.onnx"
echo
say "isomer compile $model.onnx -o $model.iso: machine code for this processor"
build/bin/isomer compile "$folder/$model.onnx" -o "$folder/$model.iso"
echo
peer=(--model "$folder/$model.onnx" --against onnxruntime)
if build/bin/isomer env --json | grep -q '"onnxruntime": null'; then
  say "no ONNX Runtime was found to compare with: 'pip install onnxruntime' in an active environment, then 'make demo' again"
  peer=()
fi
say "isomer bench $model.iso: the times of that code, and where they go"
build/bin/isomer bench "$folder/$model.iso" --duration 3 "${peer[@]}"
