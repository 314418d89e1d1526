"""max_policy_lag 0 is the synchronous run, bit for bit, however many processes collect."""

import os
import pathlib
import subprocess

import flywheel_run as fr

JOB = fr.HOME / "examples/halfcheetah.yaml"
REFERENCE = pathlib.Path(os.environ["FLYWHEEL_REFERENCE_LOOP"])


def compare(rollouts, environments_per_rollout, train_steps=50):
    run = fr.Run(JOB, [
        "policy.hidden_sizes=[32, 32]", "pacing.max_policy_lag=0",
        f"resources.rollouts={rollouts}",
        f"resources.environments_per_rollout={environments_per_rollout}",
        "resources.inference_batch=4", "algorithm.batch_credits=12",
        "algorithm.unroll_length=24", "budget.environment_steps=1000000000",
        f"budget.train_steps={train_steps}", "evaluation.episodes=0"])
    run.expect_exit(0, 120)
    assert run.summary()["train_steps"] == train_steps
    assert run.summary()["policy_lag"]["max"] == 0
    newest = sorted((run.folder / "checkpoints").glob("step-*"))[-1]
    result = subprocess.run([REFERENCE, newest], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"equal after {train_steps} train steps" in result.stdout


def test_one_rollout_process_equals_the_reference_loop():
    compare(rollouts=1, environments_per_rollout=12)


def test_three_rollout_processes_equal_the_reference_loop():
    compare(rollouts=3, environments_per_rollout=4)


if __name__ == "__main__":
    fr.main([test_one_rollout_process_equals_the_reference_loop,
             test_three_rollout_processes_equal_the_reference_loop])
