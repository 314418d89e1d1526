#!/usr/bin/env python3
"""Looks at this machine and says whether Flywheel can build, run and train on it.

    ./flywheel doctor [--json]

Needs nothing but Python, installs nothing. Each line is "ok", "note" (it works, but
here is something to know), "later" (the next ./flywheel start installs it) or
"missing" (training cannot run), and says what to do. Exit codes: 0 training can run,
1 something is missing, 64 bad usage.
"""

import argparse
import ctypes
import dataclasses
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile

HOME = pathlib.Path(__file__).resolve().parent.parent
GIB = 2**30
LONGEST_SOCKET_PATH = 107  # Bytes, set by Linux.
SOCKET_NAME_ROOM = 48      # Bytes of "/flywheel-<pid>-XXXXXX/<name>" at the longest.


@dataclasses.dataclass
class Check:
    """One thing looked at. `advice` is a sentence unless all is well."""
    group: str
    name: str
    status: str  # ok, note, later, missing
    value: str
    advice: str = ""


# --- Reading the machine --------------------------------------------------------

def run(*command, seconds=20):
    """Standard output of a command; None if it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds,
                              check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def read(path):
    try:
        return pathlib.Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def gib(num_bytes):
    return f"{num_bytes / GIB:.1f} GiB"


def version_of(command):
    """The version number a tool prints, or None."""
    found = re.search(r"\d+\.\d+(\.\d+)?", run(command, "--version") or "")
    return found.group() if found else None


def as_numbers(version):
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def cgroup_limit(v2, v1):
    """A limit in the units of its file; None where there is none."""
    for path in (v2, v1):
        words = read(f"/sys/fs/cgroup/{path}").split()
        if words and words[0].isdigit():
            return words
    return None


# --- The checks: each yields what it finds --------------------------------------

def check_system():
    release = dict(line.split("=", 1) for line in read("/etc/os-release").splitlines()
                   if "=" in line)
    name = release.get("PRETTY_NAME", "unknown").strip('"')
    debian12 = release.get("ID") == "debian" and release.get("VERSION_ID", "").strip('"') == "12"
    yield Check("system", "system", "ok" if debian12 else "note",
                f"{name}, Linux {platform.release()}, {platform.machine()}",
                "" if debian12 else "Flywheel is built and tested on Debian 12; elsewhere its "
                "libraries (scripts/debian_packages.txt) must come from that system.")


def check_cpu():
    info = read("/proc/cpuinfo")
    model = re.search(r"^model name\s*:\s*(.*)", info, re.M)
    flags = set((re.search(r"^(?:flags|Features)\s*:\s*(.*)", info, re.M) or ["", ""])[1].split())
    cores = len(os.sched_getaffinity(0))
    few = cores < 2
    yield Check("processor", "cores", "note" if few else "ok",
                f"{cores} × {model[1] if model else platform.processor() or 'unknown'}",
                "With one core, rollout, buffer and learner take turns: training works, slowly."
                if few else "")
    wanted = {"avx2": "avx2", "avx512": "avx512f", "bf16": "avx512_bf16", "amx": "amx_tile"}
    named = [f"{'' if flag in flags else 'no '}{name}" for name, flag in wanted.items()]
    slow = platform.machine() == "x86_64" and "avx2" not in flags
    yield Check("processor", "features", "note" if slow else "ok", ", ".join(named),
                "torch is several times slower without AVX2; a virtual machine may be hiding it "
                "(pass the host's processor through)." if slow else "")
    quota = cgroup_limit("cpu.max", "cpu/cpu.cfs_quota_us")
    if quota:
        period = quota[1] if len(quota) > 1 else read("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
        allowed = int(quota[0]) / int(period)
        tight = allowed < cores
        yield Check("processor", "cgroup limit", "note" if tight else "ok", f"{allowed:g} cores",
                    f"The container may use {allowed:g} of the {cores} cores it sees: set "
                    "resources in the job, and JOBS for builds, to that." if tight else "")


def check_memory():
    info = dict(re.findall(r"^(\w+):\s+(\d+) kB", read("/proc/meminfo"), re.M))
    total, free = (int(info.get(key, 0)) * 1024 for key in ("MemTotal", "MemAvailable"))
    limit = cgroup_limit("memory.max", "memory/memory.limit_in_bytes")
    text = f"{gib(free)} free of {gib(total)}"
    if limit and int(limit[0]) < total:
        free = min(free, int(limit[0]))
        text += f", the container may use {gib(int(limit[0]))}"
    low = free < 4 * GIB
    yield Check("memory", "memory", "note" if low else "ok", text,
                "Compiling one file takes up to 2 GiB and the example jobs 2 GiB: close other "
                "programs, or build with JOBS=1." if low else "")
    shm = shutil.disk_usage("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
    yield Check("memory", "/dev/shm", "ok" if shm and shm.free >= GIB // 16 else "note",
                f"{gib(shm.free)} free of {gib(shm.total)}" if shm else "not writable",
                "" if shm and shm.free >= GIB // 16 else "Flywheel does not need it; torch's own "
                "tools do. In a container: --shm-size=1g.")


def check_disk():
    built = (HOME / "build/release/bin/flywheel").exists()
    needed = 1 if built else 5
    free = shutil.disk_usage(HOME).free
    writable = os.access(HOME, os.W_OK)
    yield Check("disk", "project folder", "ok" if writable and free >= needed * GIB else
                "note" if writable else "missing",
                f"{HOME}, {gib(free)} free" + ("" if writable else ", not writable"),
                "Flywheel installs and builds in its own folder: clone it where you may write."
                if not writable else f"Runs and the build need about {needed} GiB."
                if free < needed * GIB else "")


def socket_folder_problem(base):
    """Why processes cannot meet at Unix sockets in this folder; None if they can."""
    length, room = len(os.fsencode(base)), LONGEST_SOCKET_PATH - SOCKET_NAME_ROOM
    if length > room:
        return (f"its path has {length} bytes and may have {room} (a socket's ends at "
                f"{LONGEST_SOCKET_PATH})")
    try:
        with tempfile.TemporaryDirectory(dir=base, prefix="flywheel-doctor-") as folder, \
                socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
    except OSError as error:
        return str(error.strerror)
    return None


def check_sockets():
    """The processes of a run meet in a folder of the first of these that works."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    places = [place for place in (runtime, "/tmp") if place.startswith("/")]
    problems = {place: socket_folder_problem(place) for place in places}
    found = next((place for place in places if problems[place] is None), None)
    yield Check("disk", "socket folder", "ok" if found else "missing",
                found or "; ".join(f"{place}: {why}" for place, why in problems.items()),
                "" if found else "The processes of a run meet at Unix sockets: make /tmp writable, "
                "or set XDG_RUNTIME_DIR to a folder of yours with a short path.")
    temporary = os.environ.get("TMPDIR", "/tmp")
    writable = os.access(temporary, os.W_OK)
    yield Check("disk", "TMPDIR", "ok" if writable else "note",
                temporary if writable else f"{temporary}, not writable",
                "" if writable else "Compilers and pip put their files there: export TMPDIR=/tmp.")


def check_limits():
    def text(limit):
        return "unlimited" if limit == resource.RLIM_INFINITY else str(limit)

    wanted = {
        "nofile": (resource.RLIMIT_NOFILE, 1024, "open files", "ulimit -n 4096"),
        "nproc": (resource.RLIMIT_NPROC, 512, "processes and threads", "ulimit -u 4096"),
        "memlock": (resource.RLIMIT_MEMLOCK, 0, "locked memory (bytes)", ""),
        "core": (resource.RLIMIT_CORE, 0, "core dump (bytes)", ""),
    }
    for name, (limit, least, what, command) in wanted.items():
        soft, hard = resource.getrlimit(limit)
        low = soft != resource.RLIM_INFINITY and soft < least
        yield Check("limits", name, "note" if low else "ok", f"{text(soft)} of {text(hard)} {what}",
                    f"A large run may need {least}: {command} in this shell before it." if low
                    else "")


def check_tools():
    needed = {"g++": (12, 0), "cmake": (3, 25), "ninja": (1, 10), "ccache": (0, 0),
              "git": (0, 0), "clang++": (14, 0), "clang-tidy": (14, 0)}
    for tool, least in needed.items():
        found = version_of(tool)
        only_check = tool.startswith("clang")
        if found and as_numbers(found) >= least:
            yield Check("tools", tool, "ok", found)
        elif found:
            yield Check("tools", tool, "missing" if not only_check else "note", found,
                        f"{tool} must be at least {'.'.join(map(str, least))}: put a newer one "
                        "first in PATH.")
        else:
            yield Check("tools", tool, "note" if only_check else install_status(), "not installed",
                        "Only ./check.sh needs it, and installs it." if only_check
                        else install_advice([]))


def wanted_packages():
    lines = read(HOME / "scripts/debian_packages.txt").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def install_status():
    return "later" if os.geteuid() == 0 else "missing"


def install_advice(packages):
    if os.geteuid() == 0:
        return "The next ./flywheel start installs it."
    command = "apt-get update && apt-get install -y --no-install-recommends " + " ".join(
        packages or wanted_packages())
    return f"As root: {command}"


def check_libraries():
    if not shutil.which("dpkg-query"):
        yield Check("libraries", "Debian packages", "note", "this is not Debian",
                    "Install the libraries that scripts/debian_packages.txt names, then set "
                    "FLYWHEEL_SKIP_PACKAGES=1.")
        return
    lines = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n",
         *wanted_packages()], capture_output=True, text=True, check=False).stdout.splitlines()
    versions = {words[1]: words[2] for words in map(str.split, lines)
                if words[:1] == ["installed"]}
    shown = {"gRPC": "libgrpc++-dev", "Protobuf": "libprotobuf-dev", "Abseil": "libabsl-dev",
             "ZeroMQ": "libzmq3-dev", "ISA-L": "libisal-dev", "SQLite": "libsqlite3-dev",
             "prometheus-cpp": "prometheus-cpp-dev", "spdlog": "libspdlog-dev"}
    for name, package in shown.items():
        if package in versions:
            yield Check("libraries", name, "ok", versions[package])
    missing = [package for package in wanted_packages() if package not in versions]
    if missing:
        yield Check("libraries", "Debian packages", install_status(),
                    f"{len(missing)} not installed: {' '.join(missing)}", install_advice(missing))


def site_packages():
    return next((HOME / ".deps/venv/lib").glob("python3*/site-packages"), None)


def wheel_version(folder, name):
    return next((info.name.split("-")[1].removesuffix(".dist")
                 for info in folder.glob(f"{name}-*.dist-info")), None) if folder else None


def check_wheels():
    yield Check("wheels", "python", "ok", f"{platform.python_version()} ({sys.executable})")
    folder = site_packages()
    elsewhere = read(HOME / ".deps/torch_site_packages")
    for name in ("torch", "mujoco", "gymnasium", "numpy"):
        where = pathlib.Path(elsewhere) if name == "torch" and elsewhere else folder
        found = wheel_version(where, name)
        if found:
            yield Check("wheels", name, "ok", f"{found}" + (f" in {where}" if elsewhere else ""))
        else:
            yield Check("wheels", name, "later", "not installed",
                        "The next ./flywheel start downloads it into .deps/venv.")


def check_gpus(torch_folder):
    rows = run("nvidia-smi", "--query-gpu=name,memory.total,driver_version",
               "--format=csv,noheader")
    if not rows:
        present = pathlib.Path("/dev/nvidia0").exists()
        yield Check("GPUs", "GPUs", "note" if present else "ok",
                    "a device without a driver" if present else "none; training runs on the CPU",
                    "/dev/nvidia0 is there but nvidia-smi fails: the driver or the container's "
                    "GPU access needs repair." if present else "")
        return
    for index, row in enumerate(rows.splitlines()):
        yield Check("GPUs", f"GPU {index}", "ok", row)
    cuda = re.search(r"^cuda\b.*= ['\"]([\d.]+)", read(torch_folder / "torch/version.py")
                     if torch_folder else "", re.M)
    yield Check("GPUs", "torch with CUDA", "ok" if cuda else "note",
                cuda[1] if cuda else "no",
                "" if cuda else "Training will not use the GPU: set FLYWHEEL_TORCH_SITE_PACKAGES "
                "to a site-packages folder whose torch has CUDA (or FLYWHEEL_TORCH_INDEX to an "
                "index that has one), remove .deps/venv and start again.")


def check_rendering():
    libraries = {
        "OSMesa": (("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"), install_status(),
                   install_advice(["libosmesa6-dev"])),
        "EGL": (("libEGL.so.1", "libEGL.so"), "note",
                "Nothing needs it yet: cameras are drawn with OSMesa, on the CPU. "
                "Debian's package is libegl1."),
    }
    for name, (files, status, advice) in libraries.items():
        for file in files:
            try:
                ctypes.CDLL(file)
            except OSError:
                continue
            yield Check("rendering", name, "ok", file)
            break
        else:
            yield Check("rendering", name, status, "cannot be loaded", advice)


def check_build():
    program = HOME / "build/release/bin/flywheel"
    if not program.exists():
        yield Check("build", "flywheel", "later", "not built",
                    "The next ./flywheel start builds it: minutes on 2 cores.")
        return
    version = run(str(program), "version")
    yield Check("build", "flywheel", "ok" if version else "missing",
                version.splitlines()[0] if version else "does not start",
                "" if version else "Remove build/release and start ./flywheel again; if it "
                f"stays, run {program} version to see why.")


def all_checks():
    folder = site_packages()
    elsewhere = read(HOME / ".deps/torch_site_packages")
    for check in (check_system, check_cpu, check_memory, check_disk, check_sockets, check_limits,
                  check_tools, check_libraries, check_wheels):
        yield from check()
    yield from check_gpus(pathlib.Path(elsewhere) if elsewhere else folder)
    yield from check_rendering()
    yield from check_build()


# --- Showing them ----------------------------------------------------------------

def show(checks):
    group = None
    for check in checks:
        if check.group != group:
            group = check.group
            print(f"{group}")
        print(f"  {check.status:8}{check.name:18}{check.value}")
        if check.advice:
            print(f"  {'':8}{'':18}→ {check.advice}")
    counts = {status: sum(check.status == status for check in checks)
              for status in ("missing", "later", "note")}
    if counts["missing"]:
        print(f"\nTraining cannot run yet: {counts['missing']} missing, marked above.")
    elif counts["later"]:
        print("\nTraining can run: the next ./flywheel start installs and builds what is marked "
              "later.")
    else:
        print("\nTraining can run.")


def main():
    parser = argparse.ArgumentParser(prog="flywheel doctor", description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    try:
        options = parser.parse_args()
    except SystemExit as stop:
        return 64 if stop.code else 0
    checks = list(all_checks())
    can_train = all(check.status != "missing" for check in checks)
    if options.json:
        print(json.dumps({"can_train": can_train,
                          "checks": [dataclasses.asdict(check) for check in checks]}, indent=2))
    else:
        show(checks)
    return 0 if can_train else 1


if __name__ == "__main__":
    sys.exit(main())
