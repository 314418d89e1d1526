"""Starts real `flywheel train` runs and looks at them from outside, as a user would.

FLYWHEEL_BIN names the folder with the binaries (CTest sets it).
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("FLYWHEEL_BIN", HOME / "build/release/bin"))

# A job small enough for a test, with every part of a real one.
SMALL = [
    "policy.hidden_sizes=[32, 32]",
    "algorithm.batch_credits=8",
    "algorithm.unroll_length=16",
    "resources.environments_per_rollout=8",
    "checkpoints.every_seconds=1",
    "evaluation.episodes=1",
]


class Run:
    """One `flywheel train` process and its run folder."""

    def __init__(self, job, settings=(), output=None, resume=False, prefix=()):
        self.folder = pathlib.Path(output or tempfile.mkdtemp(prefix="flywheel-test-")) / (
            "" if output else "run")
        command = [*prefix, str(BIN / "flywheel"), "train"]
        if resume:
            command += ["--resume", str(self.folder)]
        else:
            command += [str(job), "--output", str(self.folder)]
        for setting in settings:
            command += ["--set", setting]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "FLYWHEEL_HOME": str(HOME)})

    def wait(self, seconds):
        """Exit code; fails the test with the output if it takes too long."""
        try:
            self.out, self.err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {seconds} s\n{self.err}\n{self.logs()}")
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.out, self.err = self.process.communicate()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def members(self, role=None):
        """PIDs of the services the launcher started, by their command line."""
        return [pid for pid, args in children_of(self.process.pid)
                if role is None or pathlib.Path(args[0]).name == f"flywheel-{role}"]

    def summary(self):
        return json.loads((self.folder / "summary.json").read_text())

    def metrics(self):
        path = self.folder / "metrics.jsonl"
        if not path.exists():
            return []
        lines = path.read_text().split("\n")[:-1]  # The last may be half written.
        return [json.loads(line) for line in lines]

    def resumed_steps(self):
        """The train steps that the lives of the learner went on from, by its log."""
        log = self.folder / "logs/learner-0.log"
        text = log.read_text() if log.exists() else ""
        return [int(step) for step in re.findall(r"goes on from .*train step (\d+)$", text, re.M)]

    def train_steps(self):
        steps = [line["train_step"] for line in self.metrics() if line["phase"] == "training"]
        return max(steps, default=0)

    def logs(self):
        texts = []
        for path in sorted((self.folder / "logs").glob("*.log")):
            texts.append(f"--- {path.name}\n" + path.read_text(errors="replace")[-2000:])
        return "\n".join(texts)

    def expect_exit(self, code, seconds):
        found = self.wait(seconds)
        assert found == code, f"exit code {found}, expected {code}\n{self.err}\n{self.logs()}"


def children_of(parent):
    """(pid, command line) of every live child of process `parent`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            args = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # It ended while we looked.
        if int(stat[1]) == parent and stat[0] != "Z" and args[0]:
            found.append((int(entry.name), [a.decode() for a in args]))
    return found


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_for(what, condition, seconds, run=None):
    """Polls until condition() is true; fails with a sentence after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        if run is not None and run.process.poll() is not None:
            run.wait(1)
            found = condition()
            if found:
                return found
            raise AssertionError(f"run ended before {what}\n{run.err}\n{run.logs()}")
        time.sleep(0.02)
    raise AssertionError(f"no {what} within {seconds} s\n" + (run.logs() if run else ""))


def socket_folders():
    """Socket folders of this user's launchers."""
    roots = {os.environ.get("XDG_RUNTIME_DIR", ""), os.environ.get("TMPDIR", ""), "/tmp"}
    return {str(path) for root in roots if root
            for path in pathlib.Path(root).glob("flywheel-[0-9]*")}


def main(tests):
    """Runs the test functions given, or those named on the command line."""
    names = sys.argv[1:]
    for test in tests:
        if names and test.__name__ not in names:
            continue
        started = time.monotonic()
        test()
        print(f"ok {test.__name__} ({time.monotonic() - started:.1f} s)", flush=True)
