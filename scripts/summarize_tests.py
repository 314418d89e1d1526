#!/usr/bin/env python3
"""Adds up what check.sh ran and prints it; the last line is `N passed, N failed`.

    scripts/summarize_tests.py FOLDER

FOLDER holds <preset>.xml, CTest's JUnit report of one preset, and phases.txt with a
line "<exit code> <name>" for each check that is no test. Exits 1 if anything failed
or nothing ran.
"""

import pathlib
import sys
import xml.etree.ElementTree


def read_phases(folder):
    """(name, "passed" or "failed") of each check."""
    for line in (folder / "phases.txt").read_text().splitlines():
        code, name = line.split(" ", 1)
        yield name, "passed" if code == "0" else "failed"


def read_report(path):
    """(name, "passed", "failed" or "skipped") of each test of one preset."""
    try:
        cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
    except xml.etree.ElementTree.ParseError:
        yield f"{path.stem}: report cannot be read", "failed"
        return
    for case in cases:
        skipped = case.find("skipped")
        if case.get("status") == "run":
            status = "passed"
        elif case.get("status") == "disabled" or (
                skipped is not None and skipped.get("message", "").startswith("SKIP_")):
            status = "skipped"
        else:  # Failed, or not run for want of its program.
            status = "failed"
        yield f"{path.stem}: {case.get('name')}", status


def main():
    folder = pathlib.Path(sys.argv[1])
    results = list(read_phases(folder))
    for path in sorted(folder.glob("*.xml")):
        results += read_report(path)
    names = {status: [name for name, found in results if found == status]
             for status in ("passed", "failed", "skipped")}
    for status in ("skipped", "failed"):
        for name in names[status]:
            print(f"{status}: {name}")
    line = f"{len(names['passed'])} passed, {len(names['failed'])} failed"
    if names["skipped"]:
        line += f", {len(names['skipped'])} skipped"
    print(line)
    return 0 if names["passed"] and not names["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
