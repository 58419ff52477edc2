#!/usr/bin/env bash
# Checks the sources; exits with 1 and says how to repair what is found. Format and tidy by default.
#   scripts/lint.sh format   against .clang-format
#   scripts/lint.sh tidy     against .clang-tidy; build/ is configured, with tests, and what is generated is there.
#                            Groups of sources are read as one, as they are compiled: headers once a group.
#   scripts/lint.sh analyze  by clang's analyzer, as tidy
# FOLDER=src: tidy and analyze read what lies there alone.
# COMMITS=12: of that, the groups with a source that one of the last commits changed, or with one beside a header.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
jobs=${JOBS:-$(nproc)}

format() {
  git ls-files -z '*.cpp' '*.h' '*.c' | xargs -0 clang-format-19 --dry-run -Werror || {
    echo "lint: sources in another format than .clang-format's, see above; \`make format\` repairs them" >&2
    return 1
  }
}

# Of sources and groups of them, one a line, those that COMMITS asks for.
changed_lately() {
  [ -n "${COMMITS:-}" ] || {
    cat
    return
  }
  local names source
  names=$(mktemp)
  # Sources, and the folders of headers.
  git log "-$COMMITS" --format= --name-only -- '*.cpp' '*.h' | sed -E 's|^|/|; s|[^/]+\.h$||' | sort -u >"$names"
  while read -r source; do
    case $source in
      */Unity/*) grep '^#include' "$source" ;;
      *) echo "$source" ;;
    esac | grep -Ff "$names" >/dev/null && echo "$source"
  done
  rm -f "$names"
}

read_sources() {
  local commands=build/compile_commands.json
  [ -e $commands ] || {
    echo "lint: $commands expected, \`make build\` makes it" >&2
    return 1
  }
  # Not what protoc wrote.
  grep -oP '"file": "\K[^"]+' $commands | grep -v '\.pb\.cc$' | grep -E "^$PWD/(build/)?${FOLDER:-}" | sort -u |
    changed_lately |
    xargs -r -P "$jobs" -n 1 clang-tidy-19 "$@" -p build --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null || {
    echo "lint: findings of clang-tidy, see above; .clang-tidy says what is asked for" >&2
    return 1
  }
}
tidy() { read_sources; }
analyze() { read_sources --checks='-*,clang-analyzer-core.*,clang-analyzer-cplusplus.*'; }

failed=0
for part in "${@:-format tidy}"; do
  for check in $part; do
    case $check in
      format | tidy | analyze) "$check" || failed=1 ;;
      *)
        echo "lint: format, tidy or analyze expected, $check found" >&2
        exit 2
        ;;
    esac
  done
done
exit $failed
