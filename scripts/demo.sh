#!/usr/bin/env bash
# Fills one real model, optimizes it, and ends with the table that isomer prints. Leaves nothing behind.
#   scripts/demo.sh [NAME]      default resnet50; any of models/
set -euo pipefail
cd "$(dirname "$0")/.."
model=${1:-resnet50}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "Filling models/$model.onnx with its weights" >&2
build/bin/isomer-fill "models/$model.onnx" -o "$folder" >&2
echo "isomer optimize $model.onnx -o $model.optimized.onnx" >&2
build/bin/isomer optimize "$folder/$model.onnx" -o "$folder/$model.optimized.onnx"
