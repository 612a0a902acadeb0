#!/usr/bin/env python3
"""Runs a checker on translation units, but for those that it has found clean before.

usage: clean_units.py COMMANDS CLEAN JOBS CHECKER... < paths

COMMANDS is a compile_commands.json; CLEAN a folder that remembers clean units: empty files, named
after all that the checker sees, which is the preprocessed text with its comments and macros, the
checker's version and arguments, and .clang-tidy. Only what was clean is remembered, so that every
finding is reported each time.
"""

import concurrent.futures
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys

DAYS_KEPT = 30


def preprocess(entry):
    """The unit's text; None if the compiler has an error to tell, which the checker will."""
    command = shlex.split(entry["command"])
    while pathlib.Path(command[0]).name in ("ccache", "sccache"):
        command.pop(0)
    kept, skip = [], False
    for word in command:
        if skip or word in ("-c", "-MD"):
            skip = False
        elif word in ("-o", "-MT", "-MF"):
            skip = True
        else:
            kept.append(word)
    done = subprocess.run([*kept, "-E", "-CC", "-dD"], cwd=entry["directory"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout if done.returncode == 0 else None


def checker_identity(checker, root):
    version = subprocess.run([checker[0], "--version"], stdout=subprocess.PIPE, check=True).stdout
    return version + json.dumps(checker).encode() + (root / ".clang-tidy").read_bytes()


def check(entry, checker, identity, clean, root):
    text = preprocess(entry)
    stamp = None
    if text is not None:
        # The same content in another checkout is the same.
        content = (identity + entry["command"].encode() + text).replace(bytes(root), b"")
        stamp = clean / hashlib.sha256(content).hexdigest()
        if stamp.exists():
            stamp.touch()
            return "known", ""
    done = subprocess.run([*checker, entry["file"]], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if "warnings generated" not in line]
    if done.returncode != 0 or lines:
        return "found" if done.returncode != 0 else "clean", "\n".join(lines)
    if stamp is not None:
        stamp.touch()
    return "clean", ""


def drop_old(clean):
    newest = max((stamp.stat().st_mtime for stamp in clean.iterdir()), default=0)
    for stamp in clean.iterdir():
        if stamp.stat().st_mtime < newest - DAYS_KEPT * 86400:
            stamp.unlink(missing_ok=True)


def main(arguments):
    commands, clean, jobs, checker = (arguments[0], pathlib.Path(arguments[1]), int(arguments[2]),
                                      arguments[3:])
    root = pathlib.Path.cwd()
    clean.mkdir(parents=True, exist_ok=True)
    by_file = {entry["file"]: entry for entry in json.loads(pathlib.Path(commands).read_text())}
    entries = [by_file[str(root / line)] for line in sys.stdin.read().splitlines()]
    identity = checker_identity(checker, root)
    counts = {"known": 0, "clean": 0, "found": 0}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for verdict, text in pool.map(
                lambda entry: check(entry, checker, identity, clean, root), entries):
            counts[verdict] += 1
            if text:
                print(text, flush=True)
    drop_old(clean)
    print(f"clang-tidy: {counts['known']} as they were when they were clean, "
          f"{counts['clean']} clean now, {counts['found']} with findings", file=sys.stderr)
    return 1 if counts["found"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
