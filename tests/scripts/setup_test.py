"""Set-up and launcher on a machine made of fakes: packages, pip and the build are scripts."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent

# What the fakes do; $FAKE is their folder. `fail_<name>` holds how often to fail still.
FAKES = {
    "dpkg-query": 'shift 3; for p in "$@"; do grep -qx "$p" "$FAKE/installed" && '
                  'echo "installed $p"; done; exit 1',
    "dpkg": "exit 0",
    "id": 'cat "$FAKE/uid"',
    "sleep": "exit 0",
    "sudo": "exit 1",
    "apt-get": 'echo "apt-get $*" >>"$FAKE/calls"; fail_some apt; '
               'for p in "$@"; do case $p in install|-*) ;; *) echo "$p" >>"$FAKE/installed";; '
               "esac; done",
    "venv-python": 'echo "python $*" >>"$FAKE/calls"; case "$*" in *"pip install"*) '
                   "fail_some pip;; esac",
}
PROLOGUE = '''#!/bin/bash
fail_some() {
  left=$(cat "$FAKE/fail_$1" 2>/dev/null || echo 0)
  [ "$left" -gt 0 ] || return 0
  echo $((left - 1)) >"$FAKE/fail_$1"; echo "network is unreachable"; exit 1
}
'''


class FakeMachine(unittest.TestCase):
    """A clone in a folder with spaces, and the fakes in front of PATH."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="flywheel setup ")  # With spaces.
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "a clone"
        self.fake = pathlib.Path(folder.name) / "fake"
        shutil.copytree(HOME / "scripts", self.root / "scripts")
        shutil.copy(HOME / "flywheel", self.root)
        self.fake.mkdir()
        self.more_environment = {}
        for name, body in FAKES.items():
            self.write(self.fake / name, PROLOGUE + body)
        self.write(self.root / ".deps/venv/bin/python",
                   '#!/bin/bash\nexec "$FAKE/venv-python" "$@"\n')
        (self.fake / "uid").write_text("0\n")
        (self.fake / "installed").write_text("")

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def environment(self):
        return {"PATH": f"{self.fake}:{os.environ['PATH']}", "FAKE": str(self.fake),
                "HOME": os.environ.get("HOME", "/"), "TERM": "dumb",
                **self.more_environment}

    def start(self, *command):
        return subprocess.Popen(list(command) or [str(self.root / "scripts/setup.sh"), "run"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment())

    def run_to_end(self, *command):
        process = self.start(*command)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def calls(self, what):
        path = self.fake / "calls"
        return [line for line in path.read_text().splitlines() if what in line] \
            if path.exists() else []


class SetupTest(FakeMachine):
    def test_installs_packages_and_wheels_once_and_then_says_nothing(self):
        code, out, err = self.run_to_end()
        self.assertEqual((0, ""), (code, out), err)
        self.assertIn("Debian packages: done in", err)
        self.assertIn("wheels", err)
        self.assertIn(" cmake ", self.calls("install")[0])
        before = len(self.calls(""))
        self.assertEqual((0, "", ""), self.run_to_end())
        self.assertEqual(before, len(self.calls("")))

    def test_check_also_wants_what_only_the_tests_need(self):
        self.run_to_end()
        code, _, err = self.run_to_end(str(self.root / "scripts/setup.sh"), "check")
        self.assertEqual(0, code, err)
        self.assertIn("clang-tidy", self.calls("install")[-1])

    def test_without_root_prints_the_whole_command_and_changes_nothing(self):
        (self.fake / "uid").write_text("1000\n")
        code, out, err = self.run_to_end()
        self.assertEqual((75, ""), (code, out))
        self.assertIn("    apt-get update && apt-get install -y --no-install-recommends "
                      "ca-certificates ", err)
        self.assertIn("    sudo sh -c 'apt-get update && ", err)
        self.assertEqual([], self.calls(""))

    def test_tries_three_times_when_the_network_fails(self):
        (self.fake / "fail_apt").write_text("2")
        (self.fake / "fail_pip").write_text("2")
        code, _, err = self.run_to_end()
        self.assertEqual(0, code, err)
        self.assertEqual(3, len(self.calls("apt-get -y -q -o DPkg::Lock::Timeout=600 update")))

    def test_a_network_that_stays_down_shows_the_log_and_exits_75(self):
        (self.fake / "fail_apt").write_text("99")
        code, _, err = self.run_to_end()
        self.assertEqual(75, code)
        self.assertIn("    network is unreachable", err)
        self.assertIn("packages.log", err)

    def test_an_attempt_whose_wheels_failed_is_taken_up_again(self):
        (self.fake / "fail_pip").write_text("3")
        code, _, err = self.run_to_end()
        self.assertEqual(75, code)
        self.assertIn("wheels.log", err)
        code, _, err = self.run_to_end()
        self.assertEqual(0, code, err)
        self.assertIn("wheels", err)

    def test_two_starts_at_once_install_once(self):
        started = [self.start(), self.start()]
        ends = [process.communicate(timeout=60) for process in started]
        self.assertEqual([0, 0], [process.returncode for process in started], ends)
        self.assertEqual(1, len(self.calls("install --no-install")))

    def test_a_torch_folder_without_torch_is_refused_by_name(self):
        self.more_environment["FLYWHEEL_TORCH_SITE_PACKAGES"] = str(self.fake)
        (self.fake / "installed").write_text(
            (self.root / "scripts/debian_packages.txt").read_text())
        code, _, err = self.run_to_end()
        self.assertEqual(64, code)
        self.assertIn(f"got {self.fake}", err)


class LauncherTest(FakeMachine):
    """Builds when something changed, passes on arguments and exit codes."""

    def setUp(self):
        super().setUp()
        self.write(self.root / "scripts/setup.sh", "#!/bin/bash\n")
        self.write(self.root / ".deps/venv/ready", "")
        for name in ("CMakeLists.txt", "CMakePresets.json", "cmake/a.cmake", "proto/a.proto",
                     "sim/a.cc", "services/core/a.h", "cli/a.cc"):
            self.write(self.root / name, "")
        self.write(self.root / "scripts/build.sh", PROLOGUE + '''
echo "build $*" >>"$FAKE/calls"
fail_some build
mkdir -p "$(dirname "$0")/../build/release/bin"
program=$(dirname "$0")/../build/release/bin/flywheel
printf '%s\\n' '#!/bin/bash' 'echo "$FLYWHEEL_HOME|$#|$2"; exit 42' >"$program.$$"
chmod +x "$program.$$"
mv "$program.$$" "$program"
''')

    def launch(self, *arguments):
        return self.run_to_end(str(self.root / "flywheel"), *arguments)

    def test_builds_once_and_passes_on_arguments_output_and_exit_code(self):
        expected = (42, f"{self.root}|2|two words\n", "")
        self.assertEqual(expected, self.launch("train", "two words"))
        self.assertEqual(expected, self.launch("train", "two words"))
        self.assertEqual(["build release flywheel_programs"], self.calls("build"))

    def test_builds_again_after_a_change_and_after_a_failed_build(self):
        self.launch()
        os.utime(self.root / "services/core/a.h", (4e9, 4e9))  # Newer than any build.
        (self.fake / "fail_build").write_text("1")
        code, out, _ = self.launch()
        self.assertEqual((1, ""), (code, out.replace("network is unreachable\n", "")))
        self.assertEqual(42, self.launch()[0])
        self.assertEqual(3, len(self.calls("build")))

    def test_two_starts_at_once_both_run(self):
        started = [self.start(str(self.root / "flywheel"), "a", "b") for _ in range(2)]
        ends = [process.communicate(timeout=60) for process in started]
        self.assertEqual([42, 42], [process.returncode for process in started], ends)

    def test_works_through_a_symbolic_link(self):
        link = self.fake / "fly"
        link.symlink_to(self.root / "flywheel")
        code, out, _ = self.run_to_end(str(link), "a", "b")
        self.assertEqual((42, f"{self.root}|2|b\n"), (code, out))

    def test_doctor_needs_no_set_up_and_no_build(self):
        code, out, err = self.launch("doctor", "--json")
        self.assertIn(code, (0, 1), err)
        self.assertTrue(out.startswith("{"), out)
        self.assertEqual([], self.calls("build"))


if __name__ == "__main__":
    unittest.main()
