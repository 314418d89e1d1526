#!/usr/bin/env bash
# Installs Sample Factory into .deps/peers/sample_factory, an environment of its own:
# it wants older gymnasium, numpy and MuJoCo than Flywheel does. FLYWHEEL_TORCH_INDEX
# works as in scripts/setup.sh. Safe to run again.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$home/scripts/console.sh"
venv=$home/.deps/peers/sample_factory
list=$home/bench/peers/sample_factory_wheels.txt
mkdir -p "$home/.deps/logs" "$(dirname "$venv")"
held "$home/.deps/setup.lock" "set-up"
[ "$(cat "$venv/ready" 2>/dev/null)" != "$(sha256sum <"$list")" ] || exit 0

install() {
  "$venv/bin/python" -m pip --version ||
    { rm -rf "$venv" && /usr/bin/python3 -m venv "$venv"; } || return
  local pip=("$venv/bin/python" -m pip install --no-input --disable-pip-version-check
             --progress-bar off)
  retried "${pip[@]}" ${FLYWHEEL_TORCH_INDEX:+--index-url "$FLYWHEEL_TORCH_INDEX"} \
    -r "$home/scripts/wheels_torch.txt" || return
  retried "${pip[@]}" -r "$list" || return
  "$venv/bin/python" -c "import sample_factory, sf_examples.mujoco.train_mujoco"
}

logged "installing Sample Factory into .deps/peers" "$home/.deps/logs/sample_factory.log" install
sha256sum <"$list" >"$venv/ready"
