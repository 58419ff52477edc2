#!/usr/bin/env bash
# Checks the sources; exits with 1 and says how to repair what is found. Format, paths and tidy by default.
#   scripts/lint.sh format   against .clang-format
#   scripts/lint.sh paths    that the files are there which comments and pages name
#   scripts/lint.sh tidy     against .clang-tidy; build/ is configured, with tests, and what is generated is there.
#                            Groups of sources are read as one, as they are compiled: headers once a group.
#   scripts/lint.sh analyze  by clang's analyzer, as tidy
# FOLDER=src: tidy and analyze read what lies there alone.
# COMMITS=12: of that, the groups with a source that one of the last commits changed, or with one beside a header, those
# changed last first.
# SECONDS_AT_MOST=60: tidy and analyze begin no more groups then, and say how many were left.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
jobs=${JOBS:-$(nproc)}

format() {
  git ls-files -z '*.cpp' '*.h' '*.c' | xargs -0 clang-format-19 --dry-run -Werror || {
    echo "lint: sources in another format than .clang-format's, see above; \`make format\` repairs them" >&2
    return 1
  }
}

paths() {
  local missing
  # What programs of others were called where they come from is no path here.
  missing=$(git grep -oP '(?<![\w/.])(?:tests|src|bench|scripts|docs|include)/[\w/.-]*\w\.(?:h|cpp|py|sh|md|txt|cmake)\b' \
    -- '*.h' '*.cpp' '*.c' '*.py' '*.sh' '*.md' '*CMakeLists.txt' Makefile ':!tests/python/programs' |
    while IFS=: read -r place path; do [ -e "$path" ] || echo "$place: $path"; done) || {
    echo "lint: git grep -P expected to find named files" >&2
    return 1
  }
  [ -z "$missing" ] || {
    printf 'lint: named files that are not there:\n%s\n' "$missing" >&2
    return 1
  }
}

# Of sources and groups of them, one a line, those that COMMITS asks for.
changed_lately() {
  [ -n "${COMMITS:-}" ] || {
    cat
    return
  }
  local members source name
  members=$(mktemp)
  # A line for each source of each group: the source, the group.
  while read -r source; do
    case $source in
      */Unity/*) sed -n -E "s|^#include \"(.*)\"\$|\1 $source|p" "$source" ;;
      *) echo "$source $source" ;;
    esac
  done >"$members"
  # Sources, and the folders of headers.
  git log "-$COMMITS" --format= --name-only -- '*.cpp' '*.h' | sed -E 's|^|/|; s|[^/]+\.h$||' | awk '!seen[$0]++' |
    while read -r name; do
      grep -F "$name" "$members" | cut -d' ' -f2
    done | awk '!seen[$0]++'
  rm -f "$members"
}

read_sources() {
  local commands=build/compile_commands.json
  [ -e $commands ] || {
    echo "lint: $commands expected, \`make build\` makes it" >&2
    return 1
  }
  local groups code=0 left
  groups=$(mktemp -d)
  # Not what protoc wrote.
  grep -oP '"file": "\K[^"]+' $commands | grep -v '\.pb\.cc$' | grep -E "^$PWD/(build/)?${FOLDER:-}" | sort -u |
    changed_lately >"$groups/all"
  # Each says that it was left out, or reads one group.
  GROUPS_LEFT=$groups/left END=$(($(date +%s) + ${SECONDS_AT_MOST:-86400})) xargs -r -P "$jobs" -I{} sh -c '
    [ "$(date +%s)" -lt "$END" ] || { echo {} >>"$GROUPS_LEFT"; exit 0; }
    exec clang-tidy-19 "$@" -p build --quiet --extra-arg=-Wno-unknown-warning-option {}' sh "$@" \
    <"$groups/all" 2>/dev/null || code=1
  left=$(cat "$groups/left" 2>/dev/null | wc -l)
  echo "lint: $(($(wc -l <"$groups/all") - left)) groups of sources read, $left left for want of time" >&2
  rm -r "$groups"
  [ $code -eq 0 ] || echo "lint: findings of clang-tidy, see above; .clang-tidy says what is asked for" >&2
  return $code
}
tidy() { read_sources; }
analyze() { read_sources --checks='-*,clang-analyzer-core.*,clang-analyzer-cplusplus.*'; }

failed=0
for part in "${@:-format paths tidy}"; do
  for check in $part; do
    case $check in
      format | paths | tidy | analyze) "$check" || failed=1 ;;
      *)
        echo "lint: format, paths, tidy or analyze expected, $check found" >&2
        exit 2
        ;;
    esac
  done
done
exit $failed
