#!/usr/bin/env bash
# Installs the packages that the build and the tests need and that are not there yet (Debian 12 or newer; root, or a user
# with sudo). Does nothing, and asks for nothing, when all are there.
set -euo pipefail

packages=(
  # to build
  g++ cmake ninja-build ccache
  libprotobuf-dev protobuf-compiler libboost-graph-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libcli11-dev
  libsqlite3-dev libzip-dev llvm-19-dev libz3-dev z3
  openmpi-bin libopenmpi3
  # to test
  libgtest-dev libgmock-dev libbenchmark-dev libonnx-dev libonnx-testdata
  clang-19 libclang-rt-19-dev llvm-19
)

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; these are taken to be there under their own names: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: run this as root, or install sudo; missing: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}" >&2
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >&2
}
apt update
apt install -y --no-install-recommends "${missing[@]}"
