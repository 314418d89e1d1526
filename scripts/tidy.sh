#!/usr/bin/env bash
# Runs clang-tidy, with the dev preset's compile commands (build it first).
#
#   scripts/tidy.sh           what differs from the main branch; on the main branch
#                             itself, from the commit before. A changed header stands
#                             for the .cc and the test of its name.
#   scripts/tidy.sh --full    every file
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sources() { git ls-files --cached --others --exclude-standard -- "$@"; }

# The commit that a change starts from.
base() {
  local branch from
  for branch in origin/HEAD origin/main main; do
    from=$(git merge-base HEAD "$branch" 2>/dev/null) || continue
    [ "$from" = "$(git rev-parse HEAD)" ] || { echo "$from"; return; }
  done
  git rev-parse --quiet --verify HEAD~1 || git hash-object -t tree /dev/null
}

changed() {
  { git diff --name-only --diff-filter=d "$(base)"
    git ls-files --others --exclude-standard; } | sort -u | while read -r path; do
    case $path in
      *.cc) echo "$path" ;;
      *.h) name=$(basename "$path" .h)
           sources "**/$name.cc" "**/${name}_test.cc" ;;
    esac
  done | sort -u
}

if [ "${1:-}" = --full ]; then wanted=$(sources '*.cc'); else wanted=$(changed); fi
# Only what the preset compiles has compile commands.
compiled=$(python3 -c '
import json, os, sys
for entry in json.load(open("build/dev/compile_commands.json")):
    print(os.path.relpath(entry["file"]))' | sort -u)
files=$(comm -12 <(sort -u <<<"$wanted") <(echo "$compiled"))
[ -n "$files" ] || { echo "no changed file that the dev preset compiles"; exit 0; }
echo "$(wc -l <<<"$files") files"
set +e  # The code that counts is clang-tidy's, not that of the filter behind it.
xargs -d '\n' -n 1 -P "${JOBS:-$(nproc)}" clang-tidy -p build/dev --quiet <<<"$files" 2>&1 |
  grep -v -E '^[0-9]+ warnings? (generated|treated as error)|^Suppressed |^Use -header-filter'
exit "${PIPESTATUS[0]}"
