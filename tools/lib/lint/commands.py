#!/usr/bin/env python3
"""Prints a compile_commands.json that has a command for each file.

usage: commands.py COMMANDS

COMMANDS is that of a build which compiles the files of a folder together (cmake/heddle-unity.cmake): it has commands
for files that CMake wrote, which include those of the project.
"""

import json
import pathlib
import re
import sys


def files_of(source):
    """The project's files that a source of the compiler's stands for: itself, or those that CMake has it include."""
    path = pathlib.Path(source)
    if path.parent.name != "Unity" or not path.exists():
        return [source]
    return re.findall(r'^#include "(.*)"$', path.read_text(), re.MULTILINE)


def one_by_one(entries):
    return [{**entry, "file": file, "command": entry["command"].replace(entry["file"], file)}
            for entry in entries for file in files_of(entry["file"])]


if __name__ == "__main__":
    json.dump(one_by_one(json.loads(pathlib.Path(sys.argv[1]).read_text())), sys.stdout, indent=1)
