#!/usr/bin/env python3
"""Trains the same job at several lag limits and prints the lags it was trained with.

    bench/policy_lag.py [--limits 0 1 4 16] [--job examples/halfcheetah.yaml] [--steps 500000]

One JSON line per limit: the largest and the mean lag ever trained on, drops, speed.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/integration"))
import flywheel_run as fr  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", type=int, nargs="+", default=[0, 1, 4, 16])
    parser.add_argument("--job", default=str(fr.HOME / "examples/halfcheetah.yaml"))
    parser.add_argument("--steps", type=int, default=500000)
    options = parser.parse_args()
    broken = False
    for limit in options.limits:
        run = fr.Run(options.job, [f"pacing.max_policy_lag={limit}",
                                   f"budget.environment_steps={options.steps}",
                                   "evaluation.episodes=1"])
        code = run.wait(1800)
        summary = run.summary()
        broken |= code != 0 or summary["policy_lag"]["max"] > limit or any(
            summary["drops"].values())
        print(json.dumps({
            "bench": "policy_lag", "max_policy_lag": limit, "policy_lag": summary["policy_lag"],
            "drops": summary["drops"], "train_steps": summary["train_steps"],
            "environment_steps_per_second": summary["environment_steps_per_second"],
            "idle": summary["idle"]}), flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
