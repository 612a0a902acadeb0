"""Compiles kernels of every family with published versions of NVRTC.

Takes the wheels from PyPI into build/nvrtc/<version>, where they stay, and compiles the specs of
examples/specs and some more for every architecture that a version has. Fails if a version crashes,
refuses a kernel, spills more than docs/security-and-reliability.md says, or refuses an architecture in any other
way than with one line that names the first version that has it. Needs a built heddle command
(tools/quickstart builds it) and no GPU.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import specs
import wheels

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples/specs"
DEFAULT = ("12.0", "12.4", "12.8", "12.9", "13.0")
SAMPLE = ("12.0", "12.8")
SAMPLE_ARCHS = ("sm_90",)
# Bytes that a kernel may spill with a release and an architecture; elsewhere none
# (docs/security-and-reliability.md).
MOST_SPILLED = {("12.9", "sm_100"): 128, ("12.9", "sm_103"): 128}


def options():
    parser = argparse.ArgumentParser(prog="tools/check-nvrtc", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="VERSION",
                        help="a release such as 12.4, or a wheel such as 12.4.127; default: "
                        + " ".join(DEFAULT) + ", with --sample " + " ".join(SAMPLE))
    parser.add_argument("--sample", action="store_true",
                        help="a few kernels of each family for " + " ".join(SAMPLE_ARCHS)
                        + ": 10 s a version instead of 10 minutes, of two cores")
    parser.add_argument("--arch", action="append", metavar="sm_NN",
                        help="only this architecture; may be given several times")
    parser.add_argument("--jobs", type=int, metavar="N", help="compilations at a time")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/nvrtc",
                        help="where the wheels lie; default build/nvrtc")
    parser.add_argument("--heddle", default=os.environ.get("HEDDLE_COMMAND",
                                                           ROOT / "build/release/bin/heddle"),
                        metavar="FILE", help="the command; default build/release/bin/heddle")
    return parser.parse_args()


def architectures(command):
    listed = json.loads(subprocess.run([command, "targets", "--json"], capture_output=True,
                                       check=True, text=True).stdout)
    return [t["name"] for t in listed["targets"] if t["name"].startswith("sm_")]


def number(version):
    return tuple(int(part) for part in version.split(".")[:2])


class Check:
    def __init__(self, args):
        self.args = args
        self.failures = []
        self.kernels = 0

    def fail(self, where, why):
        self.failures.append(f"{where}: {why}")
        print(f"{where:16} FAILED: {why}", flush=True)

    def build(self, library_folder, wanted, arch):
        command = [self.args.heddle, "build", "-", "--target", arch, "--json"]
        if self.args.jobs:
            command += ["--jobs", str(self.args.jobs)]
        with tempfile.TemporaryDirectory(prefix="heddle-check-nvrtc-") as cache:
            environment = {**os.environ, "HEDDLE_NVRTC": str(library_folder),
                           "HEDDLE_CACHE": cache}
            return subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True,
                                  env=environment, check=False)

    def culprits(self, library_folder, wanted, arch):
        """Names of the specs that fail alone, and the last line of each."""
        for spec in wanted:
            done = self.build(library_folder, [spec], arch)
            if done.returncode < 0 or not done.stdout.strip():
                yield spec.get("name", spec["op"]), f"exit code {done.returncode}; {refusal(done)}"

    def run(self, version, library_folder, wanted, arch):
        where = f"{version} {arch}"
        start = time.monotonic()
        done = self.build(library_folder, wanted, arch)
        lacks = re.findall(r"cannot compile for sm_\w+; NVRTC (\d+\.\d+) is the first", done.stderr)
        if done.returncode == 1 and lacks:
            lines = [line for line in done.stderr.splitlines()
                     if not line.startswith("heddle: no kernel")]
            if len(lines) != 1:
                return self.fail(where, f"{len(lines)} lines instead of one: {done.stderr[:300]}")
            if number(lacks[0]) <= number(version):
                return self.fail(where, f"is refused although {lacks[0]} has it")
            print(f"{where:16} {lacks[0]} is the first that has it")
            return None
        if done.returncode not in (0, 1) or not done.stdout.strip():
            for name, why in self.culprits(library_folder, wanted, arch):
                self.fail(where, f"{name}: {why}")
            return self.fail(where, f"exit code {done.returncode}; {refusal(done)}")
        report = json.loads(done.stdout)
        kernels = report["kernels"]
        most = max((k["spill_bytes"] for k in kernels), default=0)
        spilled = [k for k in kernels if k["spill_bytes"] > 0]
        slow = done.stderr.count("serialized")
        print(f"{where:16} {len(kernels):4} kernels, {len(report['unserved'])} specs not served, "
              f"{len(spilled)} spill, {most} bytes at most, wgmma serialised in {slow}, "
              f"{time.monotonic() - start:.0f} s", flush=True)
        self.kernels += len(kernels)
        if not kernels:
            self.fail(where, "no kernel was made")
        limit = MOST_SPILLED.get((".".join(version.split(".")[:2]), arch), 0)
        for kernel in spilled:
            if kernel["spill_bytes"] > limit:
                self.fail(where, f"{kernel['kernel']} spills {kernel['spill_bytes']} bytes")
        return None


def refusal(done):
    lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
    return (lines or done.stderr.splitlines() or ["no message"])[0][:300]


def main():
    args = options()
    if not pathlib.Path(args.heddle).is_file():
        sys.exit(f"check-nvrtc: no {args.heddle}; tools/quickstart builds it")
    wanted = (specs.sample_specs if args.sample else specs.all_specs)(EXAMPLES)
    archs = args.arch or (SAMPLE_ARCHS if args.sample else architectures(args.heddle))
    check = Check(args)
    for short in args.versions or (SAMPLE if args.sample else DEFAULT):
        version = wheels.RELEASES.get(short, short)
        try:
            library_folder = wheels.take(version, args.folder)
        except wheels.WheelError as error:
            check.fail(version, str(error))
            continue
        for arch in archs:
            check.run(version, library_folder, wanted, arch)
    if check.failures:
        sys.exit(f"check-nvrtc: {len(check.failures)} failures")
    print(f"check-nvrtc: {check.kernels} kernels compiled")


if __name__ == "__main__":
    main()
