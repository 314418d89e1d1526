#!/usr/bin/env python3
"""Trains a job with several seeds and prints what the final evaluations found.

    bench/seeds.py examples/halfcheetah.yaml [--seeds 1 2 3] [--set path=value ...]

One JSON line per seed, then one with means.
"""

import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/integration"))
import flywheel_run as fr  # noqa: E402


def mean(values):
    values = [v for v in values if v is not None]
    return statistics.mean(values) if values else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    rows = []
    for seed in options.seeds:
        run = fr.Run(options.job, [*options.set, f"seed={seed}"])
        code = run.wait(7200)
        summary = run.summary()
        first = next((e for e in summary.get("evaluations", [])
                      if e["policy_version"] == 0), None)
        rows.append({
            "bench": "seeds", "job": options.job, "seed": seed, "exit_code": code,
            "episode_return_mean": summary["episode_return_mean"],
            "success_rate": summary["success_rate"],
            "success_rate_of_version_0": first and first["success_rate"],
            "environment_steps": summary["environment_steps"], "seconds": summary["seconds"],
            "environment_steps_per_second": summary["environment_steps_per_second"],
            "policy_lag": summary["policy_lag"], "idle": summary["idle"],
            "run_folder": str(run.folder)})
        print(json.dumps(rows[-1]), flush=True)
    print(json.dumps({"bench": "seeds_mean", "job": options.job, "seeds": options.seeds,
                      **{key: mean([row[key] for row in rows]) for key in (
                          "episode_return_mean", "success_rate", "success_rate_of_version_0",
                          "environment_steps_per_second")}}))
    return 0 if all(row["exit_code"] == 0 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
