#!/usr/bin/env python3
"""Prints the .cc files that a change can make the linter say something else about.

usage: changed.py BASE

Those that differ from where the branch left BASE, and those that include a header that does,
directly or through others; all of them if the checks themselves differ.
"""

import pathlib
import re
import subprocess
import sys

CHECKS = re.compile(r"\.clang-tidy|tools/lint|tools/lib/lint/.*")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def git(*arguments):
    return subprocess.run(["git", *arguments], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split("\n")[:-1]


def files_of(*patterns):
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns)
    return [path for path in listed if pathlib.Path(path).exists()]


def includers():
    """{a header's name without its folders: the files that include one of that name}"""
    found = {}
    for path in files_of("*.cc", "*.h", "*.hpp"):
        for include in INCLUDE.findall(pathlib.Path(path).read_text()):
            found.setdefault(include.rsplit("/", 1)[-1], set()).add(path)
    return found


def reached(changed):
    """Headers of one name are taken for the same: a file too many costs time only."""
    including = includers()
    known, new = set(changed), set(changed)
    while new:
        new = set().union(*(including.get(path.rsplit("/", 1)[-1], ()) for path in new)) - known
        known |= new
    return known


def main(base):
    changed = git("diff", "--name-only", git("merge-base", "HEAD", base)[0])
    changed += git("ls-files", "--others", "--exclude-standard")
    sources = files_of("*.cc")
    if not any(CHECKS.fullmatch(path) for path in changed):
        sources = sorted(reached(changed).intersection(sources))
    print(*sources, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
