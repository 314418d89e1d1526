#!/usr/bin/env bash
# Configures and builds one preset, quietly.
#
#   scripts/build.sh PRESET [TARGET...]     all targets if none is named
#
# On a terminal one line shows the progress; elsewhere a line every 30 s. Errors
# show the compiler's output. JOBS=n uses n processes, KEEP_GOING=1 builds what
# can be built after an error.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$home/scripts/console.sh"

preset=$1
shift
folder=$home/build/$preset
log=$folder/build.log

# A torch translation unit takes up to 2 GB under gcc.
jobs() {
  local cores gib
  cores=$(nproc)
  gib=$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  if [ "$gib" -lt $((cores * 2)) ]; then
    say "note: only $gib GiB of memory are free, so fewer than $cores files are compiled at once"
    cores=$((gib < 4 ? 1 : gib / 2))
  fi
  echo "$cores"
}

configure() {
  local torch
  torch=$(cat "$home/.deps/torch_site_packages" 2>/dev/null || true)
  cd "$home" && cmake --preset "$preset" \
    "-DFLYWHEEL_TORCH_SITE_PACKAGES=${torch:-}"
}

# Reads ninja's output: keeps it in the log, shows how far it is.
show_progress() {
  local line shown=$SECONDS
  while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ $line =~ ^\[([0-9]+/[0-9]+)\] ]] || continue
    if on_terminal; then
      printf '\rflywheel: building %s %s ' "$preset" "${BASH_REMATCH[1]}" >&2
    elif [ $((SECONDS - shown)) -ge 30 ]; then
      shown=$SECONDS
      say "building $preset ${BASH_REMATCH[1]}"
    fi
  done >>"$log"
  ! on_terminal || printf '\r\033[K' >&2
}

build() {
  NINJA_STATUS='[%f/%t] ' ninja -C "$folder" -j "${JOBS:-$(jobs)}" \
    -k "$([ "${KEEP_GOING:-0}" = 1 ] && echo 0 || echo 1)" "$@" 2>&1 </dev/null | show_progress
}

# The compiler's words without ninja's: from the first failure on.
show_errors() {
  awk '/^FAILED: /, 0' "$log" | grep -v '^\[[0-9]*/[0-9]*\]' | cut -c1-400 | head -n 80 >&2
  say "the whole log: $log"
}

mkdir -p "$folder"
held "$folder/build.lock" "building"
# PCH-safe: ccache otherwise never hits a file that uses one.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

configured=$folder/configured_with
wanted="$(cat "$home/.deps/torch_site_packages" "$home/.deps/venv/ready" 2>/dev/null || true)"
if [ ! -e "$folder/build.ninja" ] || [ "$(cat "$configured" 2>/dev/null)" != "$wanted" ]; then
  rm -f "$configured"
  logged "configuring $preset" "$folder/configure.log" configure
  printf '%s' "$wanted" >"$configured"
fi

started=$(now)
: >"$log"
if ! build "$@"; then
  say "building $preset: failed after $(say_seconds "$(seconds_since "$started")")"
  show_errors
  exit 1
fi
# Nothing to do is nothing to report.
grep -q '^\[' "$log" && say "building $preset: done in $(say_seconds "$(seconds_since "$started")")"
exit 0
