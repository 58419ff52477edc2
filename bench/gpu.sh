#!/usr/bin/env bash
# Checks and measures CUDA code on a machine that has a GPU but nothing of what Isomer is built with.
#   bench/gpu.sh pack DIR              here: program, tests, their libraries, graphs of models and layers into DIR
#   bench/gpu.sh run DIR OUT [OPTION…] there (DIR holds this script too): checks, times and a table, also in OUT/gpu.json
#   bench/gpu.sh run --emulated DIR OUT  a rehearsal on the emulated GPU: the same steps on the smallest models and layers
# `pack` needs what the build needs, and Python's onnx (ISOMER_BUILD names a build of the preset, instead of build-portable); `run` python3 and xz alone. The options of `run` are those of gpu.py.
set -euo pipefail

pack() {
  local folder root
  mkdir -p "$1"
  folder=$(cd "$1" && pwd)
  root=$(cd "$(dirname "$0")/.." && pwd)
  cd "$root"
  scripts/setup.sh program tests portable
  [ -n "${ISOMER_BUILD:-}" ] || cmake --preset portable >/dev/null
  local build=${ISOMER_BUILD:-build-portable} programs=(bin/isomer bin/isomer-cubin bin/isomer-fill bin/tests/cuda_rows bin/tests/cuda_space bin/tests/peak_of bin/bench/gpu_sweep)
  ninja -C "$build" isomer isomer-cubin isomer-fill test_cuda_rows test_cuda_space peak_of bench_gpu_sweep isomer_fake_driver >&2
  local stage=$scratch
  mkdir -p "$stage"/{bin/tests,bin/bench,lib,models,layers}
  local program
  for program in "${programs[@]}"; do
    strip -o "$stage/$program" "$build/$program"
  done
  cp "$build"/tests/cuda/libisomer_fake_driver.so "$stage/lib"
  # Libraries that each Linux has are taken from there: those of C and C++.
  for program in "${programs[@]}"; do ldd "$build/$program"; done | awk '$2 == "=>" { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so' | xargs cp -L -t "$stage/lib"
  cp models/*.onnx models/expected.json "$stage/models"
  python3 bench/gpu_layers.py "$stage/layers"
  tar -C "$stage" -c . | xz --lzma2=preset=2,dict=192MiB >"$folder/isomer.tar.xz"
  cp bench/gpu.sh bench/gpu.py bench/gpu_torch.py "$folder"
  echo "pack: $(du -m "$folder" | tail -1 | cut -f1) MiB in $folder"
}

run() {
  local options=()
  while [[ ${1:-} == --* ]]; do options+=("$1"); shift; done
  local folder=$1 out=$2 place=$scratch
  shift 2
  mkdir -p "$out"
  tar -C "$place" -xJf "$folder/isomer.tar.xz"
  python3 "$folder/gpu.py" "${options[@]}" "$@" "$place" "$out"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case ${1:-} in
  pack) pack "${2:?a folder expected}" ;;
  run) shift; run "$@" ;;
  *)
    echo "gpu.sh: pack DIR or run DIR OUT expected" >&2
    exit 2
    ;;
esac
