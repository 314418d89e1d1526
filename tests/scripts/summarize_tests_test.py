"""The summary of check.sh counts what ran, what failed and what could not run."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/summarize_tests.py"

# As CTest writes it.
REPORT = """<testsuite>
<testcase name="Good" status="run"/>
<testcase name="Bad" status="fail"><failure message=""/></testcase>
<testcase name="Skips" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="Disabled" status="disabled"/>
<testcase name="NotBuilt" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""


class SummarizeTestsTest(unittest.TestCase):
    def summary_of(self, phases, **reports):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "phases.txt").write_text(phases)
            for preset, text in reports.items():
                pathlib.Path(folder, f"{preset}.xml").write_text(text)
            done = subprocess.run([sys.executable, str(SCRIPT), folder], capture_output=True,
                                  text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def test_adds_up_presets_and_phases_and_names_what_failed(self):
        code, lines = self.summary_of("0 format\n1 build tsan\n", dev=REPORT, asan=REPORT)
        self.assertEqual(1, code)
        self.assertEqual("3 passed, 5 failed, 4 skipped", lines[-1])
        for name in ("build tsan", "dev: Bad", "dev: NotBuilt", "asan: Bad"):
            self.assertIn(f"failed: {name}", lines)

    def test_is_content_only_if_something_passed(self):
        self.assertEqual((0, ["1 passed, 0 failed"]), self.summary_of("0 format\n"))
        self.assertEqual((1, ["0 passed, 0 failed"]), self.summary_of(""))

    def test_a_report_cut_short_is_a_failure_by_name(self):
        code, lines = self.summary_of("0 format\n", dev="<testsuite><testc")
        self.assertEqual((1, ["failed: dev: report cannot be read", "1 passed, 1 failed"]),
                         (code, lines))


if __name__ == "__main__":
    unittest.main()
