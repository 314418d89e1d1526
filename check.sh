#!/usr/bin/env bash
# Everything a change must pass: format, layering, then build and test with the
# presets dev, release, asan and tsan, and clang-tidy on changed files.
#
#   ./check.sh            from nothing: also installs what it needs
#   ./check.sh --full     clang-tidy on all files, fuzz targets for a minute each
#
# JOBS=n uses n processes. All phases run even if one fails; what failed is listed
# at the end, above the line `N passed, N failed`. Exit codes: 0 all passed,
# 1 something failed, 64 bad usage, 75 set-up needs help, 130 interrupted.
set -euo pipefail
home=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
. "$home/scripts/console.sh"
cd "$home"

full=
case "${1:-}" in
  '') ;;
  --full) full=--full ;;
  *) echo "usage: ./check.sh [--full]" >&2; exit 64 ;;
esac

"$home/scripts/setup.sh" check
reports=$home/build/check
rm -rf "$reports"
mkdir -p "$reports"
trap 'say "interrupted"; exit 130' INT TERM
export JOBS=${JOBS:-$(nproc)}

# phase NAME COMMAND...: counts as one check, passed or failed.
phase() {
  local name=$1 code=0
  shift
  logged "$name" "$reports/${name// /_}.log" "$@" || code=$?
  echo "$code $name" >>"$reports/phases.txt"
}

check_format() {
  find sim services cli tests bench \( -name '*.h' -o -name '*.cc' \) -print0 |
    xargs -0 clang-format --dry-run -Werror
}

build() {
  local code=0
  KEEP_GOING=1 scripts/build.sh "$1" || code=$?
  echo "$code build $1" >>"$reports/phases.txt"
}

# Tests are counted one by one from CTest's report, so the phase itself is not,
# unless there is no report.
run_tests() {
  local preset=$1 log=$reports/test_$1.log started
  started=$(now)
  say "testing $preset ..."
  if ctest --preset "$preset" -j "$JOBS" --output-junit "$reports/$preset.xml" \
    >"$log" 2>&1 </dev/null; then
    say "testing $preset: $(grep -o '[0-9]* tests failed out of [0-9]*' "$log") in $(say_seconds "$(seconds_since "$started")")"
  else
    # Only what failed, each with its output.
    awk '/\*\*\*/ { show = 1 }
         /Start +[0-9]+:|Test +#[0-9]+:.*Passed|% tests passed/ { show = 0 }
         show' "$log" | head -n 400 >&2
    [ -s "$reports/$preset.xml" ] || tail -n 25 "$log" >&2
    say "testing $preset: FAILED after $(say_seconds "$(seconds_since "$started")"), the whole log: $log"
    [ -s "$reports/$preset.xml" ] || echo "1 test $preset" >>"$reports/phases.txt"
  fi
}

# CTest gives each fuzzer ten seconds; this a minute more, from what those found.
fuzz() {
  find build/asan/tests -name '*_fuzzer' -type f -perm -u+x | while read -r fuzzer; do
    corpus=$(dirname "$fuzzer")/corpus/$(basename "$fuzzer")
    echo "--- $fuzzer"
    "$fuzzer" -max_total_time=60 -max_len=65536 "-artifact_prefix=${corpus}_" \
      "${corpus}_found" "$corpus" || exit 1
  done
}

started=$(now)
phase "format" check_format
phase "layering" python3 tests/layering_test.py
for preset in dev release asan tsan; do
  build "$preset"
  run_tests "$preset"
  [ "$preset" != dev ] || phase "clang-tidy" scripts/tidy.sh $full
done
[ -z "$full" ] || phase "fuzz" fuzz

say "everything: $(say_seconds "$(seconds_since "$started")")"
python3 scripts/summarize_tests.py "$reports"
