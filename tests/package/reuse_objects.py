#!/usr/bin/env python3
"""A compiler's launcher that copies what another build has made by the same command.

usage: reuse_objects.py COMPILE_COMMANDS COMPILER ARGUMENT...

COMPILE_COMMANDS is the compile_commands.json of a build that is up to date. The object of a source
that it compiles with the same compiler and arguments is copied. Warnings, dependency files, headers
that were precompiled and the object's own name make no other object, so they are not compared. All
else is compiled. No dependency file is written for what is copied: begin with an empty folder.
"""

import json
import os
import pathlib
import shlex
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/lib/lint"))
from commands import files_of  # noqa: E402  (it lies beside what lints)


def split(command):
    """(the words that decide what the object is, the object, the source)"""
    words, target, source = [], None, None
    rest = iter(command)
    for word in rest:
        if word == "-o":
            target = next(rest)
        elif word == "-c":
            source = next(rest)
        elif word in ("-MT", "-MF"):
            next(rest)
        elif word == "-include":
            header = next(rest)
            if not header.endswith("/cmake_pch.hxx"):
                words += [word, header]
        elif word != "-MD" and not (word.startswith("-W") and word[2:4] not in ("a,", "l,", "p,")):
            words.append(word)
    return words, target, source


def object_of(commands, words, source):
    """The other build's object of the source, if the command is the same and it is not older."""
    sources = files_of(source)
    for entry in json.loads(pathlib.Path(commands).read_text()):
        if files_of(entry["file"]) != sources:
            continue
        other, target, _ = split(shlex.split(entry["command"]))
        path = pathlib.Path(entry["directory"], target)
        if (other == words and path.exists()
                and all(path.stat().st_mtime >= os.stat(one).st_mtime
                        for one in [entry["file"], *sources])):
            return path
    return None


def main(commands, *command):
    words, target, source = split(command)
    if target and source and pathlib.Path(commands).exists():
        made = object_of(commands, words, source)
        if made:
            shutil.copyfile(made, target)
            return
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
