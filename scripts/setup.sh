#!/usr/bin/env bash
# Installs what this machine lacks: Debian packages (as root) and Python wheels
# (into .deps/venv). ./flywheel and ./check.sh call it at every start.
#
#   scripts/setup.sh run     what building and running needs
#   scripts/setup.sh check   also what ./check.sh needs
#
# When nothing is missing it takes a few milliseconds and says nothing. It may be
# run again, twice at once, and after an attempt that was cut off.
#
# Environment:
#   FLYWHEEL_SKIP_PACKAGES=1           installs no Debian packages
#   FLYWHEEL_TORCH_INDEX=URL           where to get torch from, if not pip's default
#   FLYWHEEL_TORCH_SITE_PACKAGES=DIR   has a torch already (one with CUDA): none is
#                                      downloaded, Flywheel is built for that one
#
# Exit codes: 0 all is there; 75 something must be done first (the message says
# what), then the same command works.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$home/scripts/console.sh"

part=${1:-run}
deps=$home/.deps
venv=$deps/venv
logs=$deps/logs
retry_later=75

package_lists=("$home/scripts/debian_packages.txt")
[ "$part" = run ] || package_lists+=("$home/scripts/debian_packages_check.txt")

# --- Debian packages -----------------------------------------------------------

wanted_packages() { grep -hv '^#' "${package_lists[@]}" | sort; }

installed_packages() {  # dpkg-query fails when it does not know one of them.
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(wanted_packages) 2>/dev/null |
    sed -n 's/^installed //p' | sort
}

missing_packages() { comm -23 <(wanted_packages) <(installed_packages); }

apt() { DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=600 "$@"; }

update_and_install() {
  dpkg --configure -a  # An earlier attempt may have been cut off.
  apt update && apt install --no-install-recommends "$@"
}

ask_administrator() {
  local packages="$*"
  {
    echo "flywheel: Debian packages are missing, and installing them takes root. Ask an administrator to run"
    echo
    echo "    apt-get update && apt-get install -y --no-install-recommends $packages"
    echo
    if command -v sudo >/dev/null; then
      echo "or, if you may use sudo:"
      echo
      echo "    sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends $packages'"
      echo
    fi
    echo "then start again."
  } >&2
  exit "$retry_later"
}

install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian: the libraries in scripts/debian_packages.txt must be there already (set FLYWHEEL_SKIP_PACKAGES=1 once they are)"
    exit "$retry_later"
  fi
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || ask_administrator "${missing[@]}"
  note_free_space
  logged "installing ${#missing[@]} Debian packages" "$logs/packages.log" \
    retried update_and_install "${missing[@]}" || exit "$retry_later"
}

# --- Python wheels -------------------------------------------------------------

# The Debian python, past any version manager in PATH; wheels exist for 3.11.
find_python() {
  local python
  for python in /usr/bin/python3 python3.11 python3; do
    "$python" -c 'import sys, venv; sys.exit(sys.version_info[:2] < (3, 11))' 2>/dev/null &&
      { command -v "$python"; return; }
  done
  say "no python3 of version 3.11 or newer with the venv module was found"
  exit "$retry_later"
}

# A torch built for CUDA that an NVIDIA machine has already: its site-packages
# folder, else nothing. Reads files only; importing torch takes seconds.
find_cuda_torch() {
  local python
  if [ -n "${FLYWHEEL_TORCH_SITE_PACKAGES:-}" ]; then
    [ -e "$FLYWHEEL_TORCH_SITE_PACKAGES/torch/share/cmake/Torch/TorchConfig.cmake" ] || {
      say "FLYWHEEL_TORCH_SITE_PACKAGES must name a folder with torch/share/cmake/Torch/TorchConfig.cmake, got $FLYWHEEL_TORCH_SITE_PACKAGES"
      exit 64
    }
    printf '%s' "$FLYWHEEL_TORCH_SITE_PACKAGES"
    return
  fi
  [ -e /dev/nvidia0 ] || return 0
  for python in /usr/bin/python3 python3; do
    "$python" - 2>/dev/null <<'PYTHON' && return || true
import importlib.util, pathlib, re, sys
spec = importlib.util.find_spec("torch")
package = pathlib.Path(spec.origin).parent if spec else sys.exit(1)
if not re.search(r"^cuda\b.*= ['\"]\d", (package / "version.py").read_text(), re.M):
    sys.exit(1)
print(package.parent, end="")
PYTHON
  done
}

# Called under `||`, where the shell does not stop at the first failure by itself.
fill_venv() {
  local torch_elsewhere=$1 python
  python=$(find_python) || return
  # A folder whose making was cut off has no working pip.
  "$venv/bin/python" -m pip --version ||
    { rm -rf "$venv" && "$python" -m venv "$venv"; } || return
  local pip=("$venv/bin/python" -m pip install --no-input --disable-pip-version-check
             --progress-bar off)
  if [ -z "$torch_elsewhere" ]; then
    retried "${pip[@]}" ${FLYWHEEL_TORCH_INDEX:+--index-url "$FLYWHEEL_TORCH_INDEX"} \
      -r "$home/scripts/wheels_torch.txt" || return
  fi
  retried "${pip[@]}" -r "$home/scripts/wheels.txt" || return
  "$venv/bin/python" -c "import mujoco, gymnasium, numpy"
}

install_wheels() {
  local ready torch_elsewhere=$1
  ready="$(cat "$home/scripts/wheels.txt" "$home/scripts/wheels_torch.txt" | sha256sum) $torch_elsewhere ${FLYWHEEL_TORCH_INDEX:-}"
  [ "$(cat "$venv/ready" 2>/dev/null)" != "$ready" ] || return 0
  note_free_space
  rm -f "$venv/ready"
  logged "installing Python wheels (torch, mujoco, gymnasium) into .deps/venv" "$logs/wheels.log" \
    fill_venv "$torch_elsewhere" || exit "$retry_later"
  printf '%s' "$torch_elsewhere" >"$deps/torch_site_packages"
  printf '%s' "$ready" >"$venv/ready"
}

# --- Both ----------------------------------------------------------------------

# Wheels take 1.2 GB, packages 1.5 GB, a build 1 GB.
note_free_space() {
  local free_mib
  free_mib=$(df -Pm "$deps" | awk 'NR == 2 { print $4 }')
  [ "$free_mib" -ge 5000 ] ||
    say "note: only $free_mib MiB are free in $home; set-up and build need about 5,000"
}

mkdir -p "$logs" 2>/dev/null || {
  say "cannot write to $home: Flywheel installs and builds in its own folder"
  exit "$retry_later"
}
# Two starts at once: the second waits here, then finds everything there.
command -v flock >/dev/null && held "$deps/setup.lock" "set-up"
[ "${FLYWHEEL_SKIP_PACKAGES:-0}" = 1 ] || install_packages
torch_elsewhere=$(find_cuda_torch)
install_wheels "$torch_elsewhere"
