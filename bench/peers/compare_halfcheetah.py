#!/usr/bin/env python3
"""Environment steps per second of HalfCheetah: raw stepping, Flywheel and Sample Factory
on the same cores, taking turns in one run.

    bench/peers/compare_halfcheetah.py [--rounds 3] [--steps 1500000] [--seconds 60]

One JSON line per measurement, then one with medians and ratios. Run nothing else beside it.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests/integration"))
import flywheel_run as fr  # noqa: E402


def last_json_line(command, wanted):
    """The last line that `wanted` accepts, of what the command prints."""
    done = subprocess.run([str(part) for part in command], check=True, text=True,
                          stdout=subprocess.PIPE)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return next(line for line in reversed(lines) if wanted(line))


def raw_stepping(_options):
    cores = len(os.sched_getaffinity(0))
    line = last_json_line([fr.BIN / "raw_stepping", cores, 3, 1],
                          lambda line: "HalfCheetah" in line.get("task", "")
                          and line["threads"] == cores)
    return line["environment_steps_per_second"]


def flywheel(options):
    run = fr.Run(fr.HOME / "examples/halfcheetah.yaml",
                 [f"budget.environment_steps={options.steps}", "evaluation.episodes=1"])
    if run.wait(1800) != 0:
        raise SystemExit(f"the run failed:\n{run.err}")
    return run.summary()["environment_steps_per_second"]


def sample_factory(options):
    return last_json_line([HERE / "sample_factory_halfcheetah.py", "--seconds", options.seconds],
                          lambda line: line["bench"] == "sample_factory_halfcheetah"
                          )["environment_steps_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1500000, help="of Flywheel's training")
    parser.add_argument("--seconds", type=float, default=60, help="of Sample Factory's training")
    options = parser.parse_args()
    rates = {measure: [] for measure in (raw_stepping, flywheel, sample_factory)}
    for round_index in range(options.rounds):
        for measure, seen in rates.items():
            seen.append(measure(options))
            print(json.dumps({"bench": "halfcheetah_rate", "round": round_index,
                              "system": measure.__name__,
                              "environment_steps_per_second": seen[-1]}), flush=True)
    raw, ours, theirs = (statistics.median(seen) for seen in rates.values())
    print(json.dumps({"bench": "halfcheetah_comparison", "rounds": options.rounds,
                      "cores": len(os.sched_getaffinity(0)),
                      "raw_stepping": raw, "flywheel": ours, "sample_factory": theirs,
                      "flywheel_to_sample_factory": round(ours / theirs, 2),
                      "flywheel_to_raw_stepping": round(ours / raw, 3)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
