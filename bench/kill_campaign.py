#!/usr/bin/env python3
"""Kills each role of a running job with SIGKILL, again and again, and prints what it cost.

    bench/kill_campaign.py [--kills 10] [--job examples/halfcheetah.yaml] [--steps 3000000]

Prints one JSON line per kill (role, seconds until the replacement joined and until it
produced, train steps lost), one per role with p50 and max, and one for the run.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/integration"))
import flywheel_run as fr  # noqa: E402

ROLES = ("rollout", "buffer", "learner")


def kill_learner(run, pid):
    """Kills it; returns how many train steps its successor has to repeat."""
    resumed = len(run.resumed_steps())
    os.kill(pid, signal.SIGKILL)
    fr.wait_for("the end of the learner", lambda: not fr.alive(pid), 10, run)
    reached = run.train_steps()  # Each is written when it is trained.
    fr.wait_for("a learner that goes on", lambda: len(run.resumed_steps()) > resumed, 60, run)
    return reached - run.resumed_steps()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10, help="of each role")
    parser.add_argument("--job", default=str(fr.HOME / "examples/halfcheetah.yaml"))
    parser.add_argument("--steps", type=int, default=3000000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    victims = [role for role in ROLES for _ in range(options.kills)]
    rng.shuffle(victims)

    run = fr.Run(options.job, [f"budget.environment_steps={options.steps}",
                               "budget.seconds=3600", "evaluation.episodes=1"])
    lost = []  # Train steps, by each kill of the learner.
    fr.wait_for("first train steps", lambda: run.train_steps() >= 5, 120, run)
    for role in victims:
        time.sleep(rng.uniform(1.0, 3.0))  # A random moment of training.
        before = run.members(role)
        if not before:
            continue
        if role == "learner":
            lost.append(kill_learner(run, before[0]))
        else:
            os.kill(before[0], signal.SIGKILL)
        fr.wait_for(f"another {role}",
                    lambda: run.members(role) and run.members(role) != before, 30, run)
        reached = run.train_steps()
        fr.wait_for("training to go on", lambda: run.train_steps() > reached, 60, run)
    code = run.wait(3600)
    summary = run.summary()
    by_role = {role: [] for role in ROLES}
    for entry in summary["recoveries"]:
        print(json.dumps({"bench": "kill", **entry}))
        by_role.setdefault(entry["role"], []).append(entry)
    for role, entries in by_role.items():
        joined = sorted(e["seconds_to_rejoin"] for e in entries)
        produced = sorted(e["seconds_to_produce"] for e in entries
                          if e["seconds_to_produce"] is not None)
        of_learner = role == "learner" and lost
        print(json.dumps({
            "bench": "kill_role", "role": role, "kills": len(entries),
            "rejoin_seconds_p50": statistics.median(joined) if joined else None,
            "rejoin_seconds_max": max(joined, default=None),
            "produce_seconds_p50": statistics.median(produced) if produced else None,
            "produce_seconds_max": max(produced, default=None),
            "train_steps_lost_mean": statistics.mean(lost) if of_learner else None,
            "train_steps_lost_max": max(lost) if of_learner else None}))
    print(json.dumps({"bench": "kill_campaign", "exit_code": code, "state": summary["state"],
                      "environment_steps": summary["environment_steps"],
                      "seconds": summary["seconds"], "restarts": summary["restarts"],
                      "drops": summary["drops"], "policy_lag": summary["policy_lag"],
                      "run_folder": str(run.folder)}))
    return 0 if code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
