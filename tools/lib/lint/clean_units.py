#!/usr/bin/env python3
"""Runs clang-tidy on translation units, but for those that it has found clean before.

usage: clean_units.py COMMANDS CLEAN JOBS CHECKER... < paths

COMMANDS is a compile_commands.json; CLEAN a folder that remembers clean units: empty files, named
after all that the checker sees, which is the preprocessed text with its comments and macros, the
checker's version and arguments, and .clang-tidy. Only what was clean is remembered, so that every
finding is reported each time. CLEAN may be "" for a machine that will not be asked again.

What groups.py puts together is first checked as one unit, one text behind the other, in a fraction
of the time; where that is not clean, for whatever reason, its halves are, down to single members.
"""

import concurrent.futures
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

import groups

DAYS_KEPT = 30


def without_precompiled(entry):
    """The entry with the headers that its file includes, and not those that GCC precompiled."""
    words = shlex.split(entry["command"])
    kept = []
    for word in words:
        if kept and kept[-1] == "-include" and word.endswith("/cmake_pch.hxx"):
            kept.pop()
        elif word != "-Winvalid-pch":
            kept.append(word)
    return {**entry, "command": shlex.join(kept)}


def compiler_words(entry):
    """The command without launchers, and without what names files."""
    command = shlex.split(entry["command"])
    while pathlib.Path(command[0]).name in ("ccache", "sccache"):
        command.pop(0)
    kept, skip = [], False
    for word in command:
        if skip or word in ("-c", "-MD", entry["file"]):
            skip = False
        elif word in ("-o", "-MT", "-MF"):
            skip = True
        else:
            kept.append(word)
    return kept


def preprocess(entry):
    """The unit's text; None if the compiler has an error to tell, which the checker will."""
    done = subprocess.run([*compiler_words(entry), entry["file"], "-E", "-CC", "-dD"],
                          cwd=entry["directory"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return done.stdout if done.returncode == 0 else None


def checker_identity(checker, root):
    # The folders of units inherit what the root's says.
    version = subprocess.run([checker[0], "--version"], stdout=subprocess.PIPE, check=True).stdout
    return version + json.dumps(checker).encode() + (root / ".clang-tidy").read_bytes()


def run(checker, path, commands):
    """Whether it is clean by the compile_commands.json of that folder, and what is said of it."""
    done = subprocess.run([*checker, "-p", str(commands), path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if "warnings generated" not in line]
    return done.returncode == 0, "\n".join(lines)


def config_folder(entry):
    """Where its .clang-tidy is."""
    folder = pathlib.Path(entry["file"]).parent
    while not (folder / ".clang-tidy").exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def is_path(word):
    """Whether it defines one of the paths that the build tells a program, each by another name."""
    return word.startswith("-DHEDDLE_") and "/" in word


def words_together(entries):
    """The compiler's for the text of units of one kind in another folder."""
    folder = groups.folder_it_needs(pathlib.Path(entries[0]["file"]), pathlib.Path.cwd())
    common = [word for word in compiler_words(entries[0]) if not is_path(word)]
    paths = {word for entry in entries for word in compiler_words(entry) if is_path(word)}
    return common + sorted(paths) + (["-iquote", str(folder)] if folder else [])


def kind_of(entry):
    words = [word for word in words_together([entry]) if not is_path(word)]
    return words, entry["directory"], config_folder(entry)


def is_clean_together(entries, checker):
    """Whether they are without findings as one unit."""
    config = subprocess.run([checker[0], "--dump-config", entries[0]["file"], "--"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            check=False)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/units{pathlib.Path(entries[0]['file']).suffix}"
        text = "".join(pathlib.Path(entry["file"]).read_text() for entry in entries)
        pathlib.Path(path).write_text(text)
        command = {"directory": entries[0]["directory"], "file": path,
                   "command": shlex.join([*words_together(entries), "-c", path])}
        pathlib.Path(f"{folder}/compile_commands.json").write_text(json.dumps([command]))
        clean, text = run([*checker, "--config=" + config.stdout], path, folder)
    return clean and not text


class Clean:
    """What is remembered."""

    def __init__(self, folder, checker, root):
        self.folder = pathlib.Path(folder) if folder else None
        self.root = root
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.identity = checker_identity(checker, root)

    def stamp(self, entry):
        """The file that is there if the unit is known; None if it cannot be."""
        text = preprocess(entry) if self.folder else None
        if text is None:
            return None
        # Content that another checkout has is known there, too.
        content = self.identity + " ".join(compiler_words(entry)).encode()
        content += (config_folder(entry) / ".clang-tidy").read_bytes() + text
        content = content.replace(bytes(self.root), b"")
        return self.folder / hashlib.sha256(content).hexdigest()

    def drop_old(self):
        if self.folder:
            drop_old(self.folder)


def check(entries, stamps, checker, commands):
    """[(verdict, what is said)] of units that may be one."""
    if len(entries) > 1:
        if not is_clean_together(entries, checker):
            half = len(entries) // 2
            return (check(entries[:half], stamps, checker, commands)
                    + check(entries[half:], stamps, checker, commands))
        results = [("clean", "")] * len(entries)
    else:
        clean, text = run(checker, entries[0]["file"], commands)
        results = [("clean" if clean else "found", text)]
    for entry, result in zip(entries, results):
        stamp = stamps[entry["file"]]
        if stamp is not None and result == ("clean", ""):
            stamp.touch()
    return results


def drop_old(clean):
    newest = max((stamp.stat().st_mtime for stamp in clean.iterdir()), default=0)
    for stamp in clean.iterdir():
        if stamp.stat().st_mtime < newest - DAYS_KEPT * 86400:
            stamp.unlink(missing_ok=True)


def main(arguments):
    commands, folder, jobs, checker = (arguments[0], arguments[1], int(arguments[2]), arguments[3:])
    root = pathlib.Path.cwd()
    read = [without_precompiled(entry)
            for entry in json.loads(pathlib.Path(commands).read_text())]
    by_file = {entry["file"]: entry for entry in read}
    entries = [by_file[str(root / line)] for line in sys.stdin.read().splitlines()]
    clean = Clean(folder, checker, root)
    counts = {"known": 0, "clean": 0, "found": 0}
    with tempfile.TemporaryDirectory() as commands_folder, \
            concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        pathlib.Path(commands_folder, "compile_commands.json").write_text(json.dumps(read))
        stamps = dict(zip((entry["file"] for entry in entries), pool.map(clean.stamp, entries)))
        new = []
        for entry in entries:
            stamp = stamps[entry["file"]]
            if stamp is not None and stamp.exists():
                stamp.touch()
                counts["known"] += 1
            else:
                new.append(entry)
        together = groups.grouped(new, kind_of, root)
        for results in pool.map(
                lambda group: check(group, stamps, checker, commands_folder), together):
            for verdict, text in results:
                counts[verdict] += 1
                if text:
                    print(text, flush=True)
    clean.drop_old()
    print(f"clang-tidy: {counts['known']} as they were when they were clean, "
          f"{counts['clean']} clean now, {counts['found']} with findings", file=sys.stderr)
    return 1 if counts["found"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
