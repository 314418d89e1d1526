#!/usr/bin/env python3
"""Trains HalfCheetah with Sample Factory for a while and prints how fast it was.

    bench/peers/sample_factory_halfcheetah.py [--seconds 120] [--environments 32]

Sets Sample Factory up on first use. Its own --train_for_seconds has no effect, so it
is stopped by a signal. --seconds and --warm-up count from its first train step; speed
is taken between its first progress line after the warm-up and its last one. Prints one JSON line; exit codes: 0 measured, 1 not.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
VENV = HERE.parent.parent / ".deps/peers/sample_factory"

# "Fps is (10 sec: 3276.8, 60 sec: …). Total num frames: 32768. Throughput: …"
PROGRESS = re.compile(r"Fps is \(.*Total num frames: (\d+)")
START_LIMIT_SECONDS = 300
RETURN = re.compile(r"Avg episode reward: \[\(0, '(-?[\d.]+)'\)\]")


def workers_for(environments):
    """One sampling process per core, as many as divide the environments evenly in two."""
    cores = len(os.sched_getaffinity(0))
    return max(n for n in range(1, cores + 1) if environments % (2 * n) == 0 or n == 1)


def training_command(environments, folder):
    workers = workers_for(environments)
    return [str(VENV / "bin/python"), "-m", "sf_examples.mujoco.train_mujoco",
            "--env=mujoco_halfcheetah", "--experiment=peer", f"--train_dir={folder}",
            "--device=cpu", f"--num_workers={workers}",
            f"--num_envs_per_worker={environments // workers}",
            "--train_for_env_steps=1000000000", "--with_wandb=False"]


def stop(process):
    """Ctrl-C, as its documentation says; then harder. Its children share the group."""
    for how, patience in ((signal.SIGINT, 30), (signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(process.pid, how)
            process.wait(timeout=patience)
            break
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    try:
        os.killpg(process.pid, signal.SIGKILL)  # What it left behind.
    except ProcessLookupError:
        pass


def steps_in(line):
    """Environment steps that a progress line reports, else 0."""
    match = PROGRESS.search(line)
    return int(match[1]) if match else 0


def train(environments, seconds, folder):
    """[(seconds since its first train step, line)] of what it prints in `seconds`."""
    process = subprocess.Popen(
        training_command(environments, folder), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, start_new_session=True)
    timer = threading.Timer(START_LIMIT_SECONDS, stop, [process])
    timer.start()
    started, lines = None, []
    for line in process.stdout:
        if started is None and steps_in(line) > 0:
            timer.cancel()
            started = time.monotonic()
            timer = threading.Timer(seconds, stop, [process])
            timer.start()
        lines.append((time.monotonic() - started if started else 0.0, line))
    timer.cancel()
    stop(process)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=120, help="of training")
    parser.add_argument("--warm-up", type=float, default=20, help="seconds left out")
    parser.add_argument("--environments", type=int, default=32)
    options = parser.parse_args()
    subprocess.run([str(HERE / "setup_sample_factory.sh")], check=True)
    with tempfile.TemporaryDirectory(prefix="flywheel-peer-") as folder:
        lines = train(options.environments, options.seconds, folder)
    points = [(at, steps_in(line)) for at, line in lines
              if steps_in(line) > 0 and at >= options.warm_up]
    if len(points) < 2:
        print("".join(line for _, line in lines[-30:]), file=sys.stderr)
        print("Sample Factory made no progress to measure", file=sys.stderr)
        return 1
    (begin, first), (end, last) = points[0], points[-1]
    returns = [float(match[1]) for match in
               (RETURN.search(line) for _, line in lines) if match]
    print(json.dumps({
        "bench": "sample_factory_halfcheetah",
        "environment_steps_per_second": round((last - first) / (end - begin), 1),
        "environment_steps": last, "measured_seconds": round(end - begin, 1),
        "environments": options.environments, "workers": workers_for(options.environments),
        "cores": len(os.sched_getaffinity(0)),
        "load_average_1min": round(os.getloadavg()[0], 2),
        "episode_return_last": returns[-1] if returns else None,
        "version": "2.1.1"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
