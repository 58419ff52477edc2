#!/usr/bin/env bash
# Builds the Python package as `pip install .` does, into a virtual environment of its own, and runs its tests and
# ONNX's backend tests there. Packages of Python come from PyPI.
#     scripts/test_python.sh [PYTEST_ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-python
python3 -m venv $build/venv
$build/venv/bin/pip install --quiet --config-settings=build-dir=$build/package '.[test]'
ISOMER_FILL=$PWD/build/bin/isomer-fill $build/venv/bin/python -m pytest -q -p no:cacheprovider tests/python "$@"
