"""Whole runs, small: what they leave behind, how they stop, what they survive."""

import os
import signal
import time

import flywheel_run as fr

JOB = fr.HOME / "examples/halfcheetah.yaml"


def small(steps, *more):
    return [*fr.SMALL, f"budget.environment_steps={steps}", *more]


def test_a_run_reaches_its_budget_and_leaves_a_whole_run_folder():
    before = fr.socket_folders()
    run = fr.Run(JOB, small(20000))
    run.expect_exit(0, 120)
    summary = run.summary()
    assert summary["state"] == "SUCCEEDED", summary
    assert summary["environment_steps"] >= 20000
    assert summary["train_steps"] >= 20000 // (8 * 16)
    assert isinstance(summary["episode_return_mean"], float)
    assert summary["policy_lag"]["max"] <= 4
    assert not any(summary["drops"].values()), summary["drops"]
    for name in ("job.yaml", "metrics.jsonl", "report.html", "checkpoints", "logs"):
        assert (run.folder / name).exists(), name
    steps = [line["train_step"] for line in run.metrics() if line["phase"] == "training"]
    assert steps == list(range(1, len(steps) + 1)), "a train step is missing or doubled"
    assert fr.socket_folders() <= before, "a socket folder was left behind"


def test_the_policy_lag_never_exceeds_its_limit():
    for limit in (0, 1, 4, 16):
        run = fr.Run(JOB, small(15000, f"pacing.max_policy_lag={limit}"))
        run.expect_exit(0, 120)
        summary = run.summary()
        assert summary["policy_lag"]["max"] <= limit, (limit, summary["policy_lag"])
        assert not any(summary["drops"].values()), (limit, summary["drops"])


def test_ctrl_c_stops_within_ten_seconds_and_resume_goes_on():
    run = fr.Run(JOB, small(60000))
    fr.wait_for("30 train steps", lambda: run.train_steps() >= 30, 60, run)
    members = run.members()
    started = time.monotonic()
    run.interrupt()
    run.expect_exit(130, 15)
    assert time.monotonic() - started < 10, "took longer than 10 s"
    assert not any(fr.alive(pid) for pid in members), "a service is still running"
    assert run.summary()["state"] == "CANCELLED"
    trained = run.train_steps()
    again = fr.Run(JOB, output=run.folder, resume=True)
    again.expect_exit(0, 120)
    assert again.summary()["environment_steps"] >= 60000
    steps = [line["train_step"] for line in again.metrics() if line["phase"] == "training"]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) > trained


def test_each_killed_role_is_replaced_and_the_run_goes_on():
    run = fr.Run(JOB, small(120000))
    for role in ("rollout", "learner", "buffer"):
        reached = run.train_steps() + 20
        fr.wait_for(f"step {reached}", lambda: run.train_steps() >= reached, 60, run)
        victims = run.members(role)
        assert len(victims) == 1, (role, victims)
        os.kill(victims[0], signal.SIGKILL)
        fr.wait_for(f"another {role}",
                    lambda: run.members(role) and run.members(role) != victims, 20, run)
    run.expect_exit(0, 120)
    assert "goes on from the recovery point" in run.logs(), run.logs()
    assert len(run.resumed_steps()) == 1
    summary = run.summary()
    for role in ("rollout", "learner", "buffer"):
        assert summary["restarts"].get(role) == 1, summary["restarts"]
    assert summary["environment_steps"] >= 120000
    steps = [line["train_step"] for line in run.metrics() if line["phase"] == "training"]
    assert steps == list(range(1, len(steps) + 1)), "a train step is missing or doubled"


def test_a_buffer_killed_before_training_is_replaced_and_the_run_goes_on():
    run = fr.Run(fr.HOME / "examples/reach_vla.yaml", [
        "policy.width=16", "policy.layers=1", "pretraining.episodes=64",
        "pretraining.epochs=1", "resources.environments_per_rollout=4",
        "algorithm.batch_credits=4", "budget.train_steps=2", "evaluation.episodes=1"])
    fr.wait_for("the learner", lambda: "joined job" in run.logs(), 60, run)
    fr.wait_for("the buffer", lambda: run.members("buffer"), 60, run)
    os.kill(run.members("buffer")[0], signal.SIGKILL)
    run.expect_exit(0, 120)
    assert run.summary()["restarts"].get("buffer") == 1, run.summary()["restarts"]


def test_a_resumed_run_keeps_its_network():
    run = fr.Run(JOB, small(20000))
    run.expect_exit(0, 120)
    before = (run.folder / "summary.json").read_text(), (run.folder / "job.yaml").read_text()
    again = fr.Run(JOB, ["policy.hidden_sizes=[16, 16]"], output=run.folder, resume=True)
    again.expect_exit(64, 60)
    assert "policy.hidden_sizes must stay [32, 32]" in again.err, again.err
    assert before == ((run.folder / "summary.json").read_text(),
                      (run.folder / "job.yaml").read_text())


def test_a_killed_launcher_leaves_no_process_and_no_socket():
    before = fr.socket_folders()
    run = fr.Run(JOB, small(10000000))
    fr.wait_for("10 train steps", lambda: run.train_steps() >= 10, 60, run)
    members = run.members()
    assert len(members) >= 3, members
    run.kill()
    fr.wait_for("the end of every service",
                lambda: not any(fr.alive(pid) for pid in members), 30)
    fr.wait_for("the end of the socket folder", lambda: fr.socket_folders() <= before, 5)


if __name__ == "__main__":
    fr.main([
        test_a_run_reaches_its_budget_and_leaves_a_whole_run_folder,
        test_the_policy_lag_never_exceeds_its_limit,
        test_ctrl_c_stops_within_ten_seconds_and_resume_goes_on,
        test_each_killed_role_is_replaced_and_the_run_goes_on,
        test_a_buffer_killed_before_training_is_replaced_and_the_run_goes_on,
        test_a_resumed_run_keeps_its_network,
        test_a_killed_launcher_leaves_no_process_and_no_socket,
    ])
