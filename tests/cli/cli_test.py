"""Runs the real `flywheel` as a user or a script would: exit codes, what goes to which stream.

Services are stand-ins here (shell scripts beside a copy of the program); tests/integration runs
the real ones. FLYWHEEL_BIN names the folder with the program (CTest sets it).
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("FLYWHEEL_BIN", HOME / "build/release/bin"))
EXAMPLE = HOME / "examples/halfcheetah.yaml"
SERVICES = ("rollout", "buffer", "learner", "evaluate")


class Place:
    """A folder to work in, with a copy of the program and services that run `script`."""

    def __init__(self, script="exit 1"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="flywheel-cli-"))
        self.program = self.folder / "bin/flywheel"
        self.program.parent.mkdir()
        shutil.copy(BIN / "flywheel", self.program)
        for service in SERVICES:
            path = self.program.parent / f"flywheel-{service}"
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)

    def start(self, *arguments, **more):
        environment = {**os.environ, "FLYWHEEL_HOME": str(HOME), **more.pop("env", {})}
        return subprocess.Popen(
            [str(self.program), *map(str, arguments)], cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment, start_new_session=True, **more)

    def run(self, *arguments, seconds=60, **more):
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out, err

    def expect(self, code, *arguments, **more):
        found, out, err = self.run(*arguments, **more)
        assert found == code, f"{arguments}: exit code {found}, expected {code}\n{out}\n{err}"
        return out, err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


def test_help_and_version_go_to_stdout():
    with Place() as place:
        out, err = place.expect(0, "help")
        assert "flywheel train" in out and not err
        for verb in ("train", "eval", "validate", "report", "doctor", "version"):
            out, err = place.expect(0, verb, "--help")
            assert out.startswith(f"flywheel {verb}") and not err
        out, err = place.expect(0, "version")
        assert out.startswith("flywheel ") and not err


def test_bad_usage_is_one_sentence_on_stderr_and_64():
    with Place() as place:
        for arguments in ([], ["tran"], ["train", "--ouput", "x"], ["train", "a", "b"],
                          ["eval"], ["eval", "nowhere"], ["report", "nowhere"],
                          ["validate"], ["validate", "nowhere.yaml"],
                          ["train", "nowhere.yaml"], ["train", "--resume", "nowhere"],
                          ["train", "--set", "budget.seconds=soon"],
                          ["train", EXAMPLE, "--output", "bin"],
                          ["train", EXAMPLE, "--output", "/proc/x"],
                          ["doctor"]):
            out, err = place.expect(64, *arguments)
            assert not out and err.count("\n") == 1, (arguments, out, err)
        assert not (place.folder / "runs").exists()


def test_validate_prints_a_job_that_validates_to_itself():
    with Place() as place:
        resolved, err = place.expect(0, "validate", EXAMPLE, "--set", "seed=7")
        assert "seed: 7\n" in resolved and not err
        (place.folder / "job.yaml").write_text(resolved)
        again, err = place.expect(0, "validate", "job.yaml")
        assert again == resolved and not err


def test_validate_names_file_line_field_rule_and_value():
    with Place() as place:
        (place.folder / "x.yaml").write_text("task: a\nalgorithm:\n  batch_credits: lots\n")
        out, err = place.expect(64, "validate", "x.yaml")
        assert err == ("x.yaml:3: algorithm.batch_credits must be a whole number from 1 to "
                       "65536, got \"lots\"\n"), err
        (place.folder / "x.yaml").write_text("task: a\n")
        out, err = place.expect(64, "validate", "x.yaml")
        assert err.startswith("x.yaml: budget must give at least one of"), err


def test_validate_warns_on_stderr():
    with Place() as place:
        out, err = place.expect(0, "validate", EXAMPLE, "--set", "policy.width=32")
        assert "width: 32" in out
        assert err == ("warning: --set: policy.width has no effect, since policy.kind is "
                       "mlp_gaussian\n"), err


def test_the_default_job_is_the_example():
    with Place("exit 64") as place:
        place.expect(64, "train", "--output", "run")
        assert "name: reach-vla" in (place.folder / "run/job.yaml").read_text()


def summary_of(place):
    return json.loads((place.folder / "run/summary.json").read_text())


def test_a_service_that_finds_fault_with_the_job_ends_it_with_64():
    with Place("echo unknown task >&2; exit 64") as place:
        out, err = place.expect(64, "train", EXAMPLE, "--output", "run")
        assert "unknown task" in err and "run/logs" in err, err
        assert "FAILED" in out and "run/report.html" in out, out
        assert summary_of(place)["state"] == "FAILED"
        assert "FAILED" in (place.folder / "run/report.html").read_text()
        (place.folder / "run/report.html").unlink()
        out, err = place.expect(0, "report", "run")
        assert out == "run/report.html\n" and (place.folder / "run/report.html").exists()
        assert "\x1b" not in err and "\r" not in err


def test_a_missing_service_fails_the_job():
    with Place() as place:
        for service in SERVICES:
            (place.program.parent / f"flywheel-{service}").unlink()
        code, out, err = place.run("train", EXAMPLE, "--output", "run")
        assert code in (1, 64), (code, err)
        assert summary_of(place)["state"] == "FAILED"


def wait_for_services(place, process, seconds=20):
    """Until every service of the job has been started."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if len(list(place.folder.glob("started.*"))) >= 3:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError("services were not started")


# Lives until SIGTERM; leaves a mark once it is there.
OBEDIENT = "touch started.$$; exec sleep 1000"
# Lives until SIGKILL.
STUBBORN = "trap '' TERM; touch started.$$; while :; do sleep 1; done"


def interrupted(script, signals, limit):
    """Exit code, streams and summary of a run that gets `signals`, one after the other."""
    with Place(script) as place:
        process = place.start("train", EXAMPLE, "--output", "run")
        wait_for_services(place, process)
        started = time.monotonic()
        for number in signals:
            process.send_signal(number)
            time.sleep(0.5)  # Two at the same instant would be one.
        out, err = process.communicate(timeout=30)
        seconds = time.monotonic() - started
        assert seconds < limit, f"took {seconds:.1f} s\n{err}"
        assert process.returncode == 130, (process.returncode, err)
        assert "train --resume run" in err, err
        assert summary_of(place)["state"] == "CANCELLED"
        assert (place.folder / "run/report.html").exists()
        return err


def test_each_ending_signal_stops_in_order():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        err = interrupted(OBEDIENT, [number], 9)
        assert "interrupted" in err, err


def test_a_stubborn_service_does_not_hold_up_the_end():
    interrupted(STUBBORN, [signal.SIGINT], 10)


def test_a_second_signal_kills_at_once():
    err = interrupted(STUBBORN, [signal.SIGINT, signal.SIGINT], 3)
    assert "killed" in err, err


def test_a_run_folder_in_use_is_worth_trying_again():
    with Place(OBEDIENT) as place:
        process = place.start("train", EXAMPLE, "--output", "run")
        wait_for_services(place, process)
        out, err = place.expect(75, "train", "--resume", "run")
        assert "run: another flywheel is working in this folder" in err, err
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == 130


def test_a_run_without_a_checkpoint_starts_from_the_beginning():
    with Place("exit 64") as place:
        place.expect(64, "train", EXAMPLE, "--output", "run")
        out, err = place.expect(64, "train", "--resume", "run")
        assert "nothing is saved yet: the run starts from the beginning" in err, err


def test_eval_takes_the_exit_code_of_the_evaluation():
    result = ('{"policy_version": 5, "environment_steps": 640, "seconds_trained": 1.5, '
              '"episodes": 3, "episode_return_mean": 2.5, "episode_return_std": 0.5, '
              '"success_rate": 0.5}')
    write = f"for a; do case $a in --output=*) echo '{result}' > \"${{a#--output=}}\";; esac; done"
    for script, code in ((write, 0), ("echo no such task >&2; exit 64", 64), ("exit 75", 75),
                         ("kill -9 $$", 1), ("true", 1)):
        with Place(script) as place:
            (place.folder / "run/checkpoints/step-5").mkdir(parents=True)
            (place.folder / "run/job.yaml").write_text("task: a\n")
            out, err = place.expect(code, "eval", "run", "--episodes", "3")
            if code == 0:
                assert "success  50 %" in out and "return   2.5 ± 0.5" in out, out
            else:
                assert not out and err.strip(), (script, out, err)
            if code == 64:
                assert "no such task" in err, err
            out, err = place.expect(64, "eval", "run", "--checkpoint", "step-6")
            assert "did you mean step-5?" in err, err


def test_output_nobody_reads_harms_nothing():
    with Place("exit 64") as place:
        read_end, write_end = os.pipe()
        os.close(read_end)
        process = subprocess.run(
            [str(place.program), "train", str(EXAMPLE), "--output", "run"], cwd=place.folder,
            stdout=write_end, stderr=write_end, timeout=60,
            env={**os.environ, "FLYWHEEL_HOME": str(HOME)})
        os.close(write_end)
        assert process.returncode == 64, process.returncode
        assert summary_of(place)["state"] == "FAILED"


def main():
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    for name in sys.argv[1:] or tests:
        started = time.monotonic()
        tests[name]()
        print(f"ok {name} ({time.monotonic() - started:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
