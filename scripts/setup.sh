#!/usr/bin/env bash
# Installs the packages of these groups that are not there yet (Debian 12 or newer; root, or a user with sudo). Does
# nothing, and asks for nothing, when all are there.
#   scripts/setup.sh [GROUP...]     program: to build and run the program; tests: to build and run its tests;
#                                   lint: to format and check the sources. All of these by default.
#                                   portable: to link programs for other machines (bench/gpu.sh)
#                                   browser: to look at reports (make test-report)
#                                   python: to build the Python package (make test-python)
set -euo pipefail

program=(
  g++ cmake ninja-build ccache  # ccache now, since a build that gets it later starts over
  libprotobuf-dev protobuf-compiler libboost-dev libfmt-dev nlohmann-json3-dev libcli11-dev
  libsqlite3-dev libzip-dev llvm-19-dev libz3-dev
)
tests=(
  libgtest-dev libgmock-dev libbenchmark-dev libboost-context-dev libonnx-dev libonnx-testdata
  clang-19 libclang-rt-19-dev llvm-19 z3
  openmpi-bin libxgboost0
)
lint=(clang-format-19 clang-tidy-19)
portable=(libzstd-dev xz-utils)  # what LLVM's static libraries refer to
browser=(chromium fonts-dejavu-core python3)
python=(python3-venv python3-dev)

packages=()
for group in "${@:-program tests lint}"; do
  for name in $group; do
    case $name in
      program) packages+=("${program[@]}") ;;
      tests) packages+=("${tests[@]}") ;;
      lint) packages+=("${lint[@]}") ;;
      portable) packages+=("${portable[@]}") ;;
      browser) packages+=("${browser[@]}") ;;
      python) packages+=("${python[@]}") ;;
      *)
        echo "setup: program, tests, lint, portable, browser or python expected, $name found" >&2
        exit 2
        ;;
    esac
  done
done

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

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
  "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    return 1
  }
}

echo "setup: asking the package archive for ${missing[*]}" >&2
quietly apt update
count=$(apt install -s --no-install-recommends "${missing[@]}" | grep -c '^Inst ' || true)
# A line a package that is not in apt's cache: its address, name and size.
bytes=$(apt install -y --no-install-recommends --print-uris "${missing[@]}" | awk '/^'\''/ { bytes += $3 } END { printf "%d", bytes }')
echo "setup: installing $count packages, $((bytes / 1000000)) MB to download" >&2
quietly apt install -y --no-install-recommends "${missing[@]}"
