"""Fails when an include crosses a border of the system.

    tests/layering_test.py [FOLDER]     the project by default

Three checks of the C++ code: which folders a folder may include, which files a heavy
library may enter by, and that torch never meets Protobuf in one translation unit
(its wheel ships old headers of it). One check of every text file: no path of somebody's
machine, no mark of unfinished work. Long files are listed, and are no failure.
tests/ and bench/ may include anything.
"""

import pathlib
import re
import subprocess
import sys

# Which folders a folder may include, besides itself.
MAY_INCLUDE = {
    "sim": set(),
    "services/core": set(),
    "services/wire": {"services/core"},
    "services/policy": {"services/core"},
    "services/buffer": {"services/wire", "services/core"},
    "services/orchestrator": {"services/wire", "services/core"},
    "services/rollout": {"services/policy", "services/wire", "services/core", "sim"},
    "services/learner": {"services/policy", "services/wire", "services/core"},
    # The command line says what is wrong with a job before anything starts: it knows the tasks.
    "cli": {"services/orchestrator", "services/wire", "services/core", "sim"},
}

# Which files a heavy library may enter by.
DOORS = {
    r"(flywheel/v\d+|google/protobuf)/": r"_(codec|service|client)\.(h|cc)$",
    r"grpcpp/": r"(_(codec|service|client)\.(h|cc)|/main\.cc)$",
    r"zmq": r"^services/wire/\w+_(sender|receiver|channel)\.(h|cc)$",
    r"isa-l": r"^services/wire/crc32c\.cc$",
    r"httplib\.h": r"^services/wire/admin_server\.cc$",
    r"prometheus/": r"^services/(wire/admin_server|\w+/\w+_metrics)\.(h|cc)$",
    r"sqlite3": r"^services/orchestrator/job_store\w*\.cc$",
    r"yaml-cpp/": r"^cli/(yaml_\w+|\w+_codec)\.(h|cc)$",
    r"CLI/": r"(^cli/command_line\.(h|cc)|main\.cc|/service_process\.cc)$",
    r"(mujoco|GL|EGL)/": r"^sim/mujoco_\w+\.(h|cc)$",
    r"(torch/csrc/distributed|gloo)/|nccl": r"^services/learner/collectives\.(h|cc)$",
    r"(torch|ATen|c10)/(?!csrc/distributed/)": r"^services/(policy|learner)/",
    r"(arrow|parquet)/": r"_parquet\.(h|cc)$",
}

# Sizes that read well; see CONTRIBUTING.md. A flat table may be longer.
LINES_THAT_READ_WELL = {".h": 150, ".cc": 400, ".py": 400}

# Written so that they do not match themselves.
UNWANTED = {
    r"\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b": "a mark of unfinished work",
    r"(?<![\w.$}])/(work|home|root|Users)/\w": "a path of somebody's machine",
}

INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)
TORCH = re.compile(r"(torch|ATen|c10)/")
PROTOBUF = re.compile(r"(flywheel/v\d+|google/protobuf|grpcpp)/")


def read_includes(root):
    """{file: [what it includes]} of the folders that have rules."""
    return {path.relative_to(root).as_posix(): INCLUDE.findall(path.read_text())
            for folder in MAY_INCLUDE for path in sorted((root / folder).rglob("*"))
            if path.suffix in (".h", ".cc")}


def owner_of(name):
    return next((folder for folder in MAY_INCLUDE if name.startswith(folder + "/")), None)


def crossed_borders(includes):
    for name, included in includes.items():
        for other in included:
            owner = owner_of(other)
            if owner not in (None, owner_of(name)) and owner not in MAY_INCLUDE[owner_of(name)]:
                yield f"{name} may not include {other}"


def missed_doors(includes):
    for name, included in includes.items():
        for other in included:
            for library, door in DOORS.items():
                if re.match(library, other) and not re.search(door, name):
                    yield f"{name} is no door for {other}"


def reached_from(name, includes):
    """Everything a file includes, directly or through our own headers."""
    reached, waiting = set(), [name]
    while waiting:
        for other in includes.get(waiting.pop(), []):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached


def torch_beside_protobuf(includes):
    for name in includes:
        reached = reached_from(name, includes)
        torch = min(filter(TORCH.match, reached), default=None)
        protobuf = min(filter(PROTOBUF.match, reached), default=None)
        if torch and protobuf:
            yield f"{name} reaches both {torch} and {protobuf}: one of them must go behind bytes"


def text_files(root):
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False)
    if listed.returncode != 0:  # No checkout, an unpacked archive.
        return []
    return [root / name for name in listed.stdout.decode().split("\0")
            if name and (root / name).is_file()]


def unwanted_words(root):
    for path in text_files(root):
        text = path.read_text(errors="ignore")
        for pattern, what in UNWANTED.items():
            for found in re.finditer(pattern, text):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path.relative_to(root)}:{line} has {what}: {found.group()}"


def long_files(root):
    for path in text_files(root):
        limit = LINES_THAT_READ_WELL.get(path.suffix)
        lines = len(path.read_text(errors="ignore").splitlines()) if limit else 0
        if limit and lines > limit:
            yield f"{path.relative_to(root)} has {lines} lines; {limit} read well"


def errors_in(root):
    includes = read_includes(root)
    return [*crossed_borders(includes), *missed_doors(includes),
            *torch_beside_protobuf(includes), *unwanted_words(root)]


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    for note in long_files(root):
        print("note:", note)
    errors = errors_in(root)
    print("\n".join(errors) or "layering ok")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
