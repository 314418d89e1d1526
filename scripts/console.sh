# How the scripts talk; sourced. All of it goes to stderr: stdout belongs to the
# program that is started in the end.

say() { printf 'flywheel: %s\n' "$*" >&2; }

# say_seconds SECONDS: "0.4 s", "12 s", "3 min 05 s".
say_seconds() {
  LC_ALL=C awk -v s="$1" 'BEGIN {
    if (s < 10) printf "%.1f s", s
    else if (s < 60) printf "%d s", s
    else printf "%d min %02d s", s / 60, s % 60 }'
}

# now: seconds of a clock that nobody sets.
now() { cut -d ' ' -f 1 /proc/uptime; }

# seconds_since NOW
seconds_since() { LC_ALL=C awk -v a="$1" -v b="$(now)" 'BEGIN { print b - a }'; }

# on_terminal: whether stderr is one that can redraw a line.
on_terminal() { [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; }

# show_log_end FILE: the last lines of a log, and where the rest is.
show_log_end() {
  tail -n 25 "$1" | sed 's/^/    /' >&2
  say "the whole log: $1"
}

# logged WHAT LOG COMMAND...: runs COMMAND with its output in LOG. One line when
# it starts, one when it is done; on failure the end of the log.
logged() {
  local what=$1 log=$2 started code=0
  shift 2
  started=$(now)
  say "$what ..."
  "$@" >"$log" 2>&1 </dev/null || code=$?
  if [ "$code" -ne 0 ]; then
    say "$what: failed with exit code $code after $(say_seconds "$(seconds_since "$started")")"
    show_log_end "$log"
    return "$code"
  fi
  say "$what: done in $(say_seconds "$(seconds_since "$started")")"
}

# retried COMMAND...: three tries, for what goes over the network.
retried() {
  local try
  for try in 1 2 3; do
    "$@" && return 0
    [ "$try" = 3 ] || { echo "--- try $try failed, again in $((try * 5)) s"; sleep $((try * 5)); }
  done
  return 1
}

# held LOCK_FILE WHAT: waits until no other process holds the lock; it is ours
# until this shell ends or closes descriptor 9.
held() {
  exec 9>"$1"
  flock -n 9 && return 0
  say "another start is busy with $2 here; waiting for it"
  flock 9
}
