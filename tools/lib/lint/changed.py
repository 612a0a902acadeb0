#!/usr/bin/env python3
"""Prints the .cc files to check for a change.

usage: changed.py BASE

Those whose code differs from where the branch left BASE, and for each header whose code does one
that includes it, directly or through others: what the linter says of a header it says in any of
them. Comments count only where they tell the linter something. All files if the checks differ.
"""

import pathlib
import re
import subprocess
import sys

CHECKS = ".clang-tidy"
# Literals as they are, comments by themselves; raw strings hold neither here.
COMMENT = re.compile(
    r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*|/\*.*?\*/""", re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def git(*arguments):
    return subprocess.run(["git", *arguments], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split("\n")[:-1]


def files_of(*patterns):
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns)
    return [path for path in listed if pathlib.Path(path).exists()]


def code_of(text):
    """The text without comments that the linter passes over, and without blanks."""
    def kept(match):
        return match[0] if match[1] or "NOLINT" in match[0] or "/*" in match[0] else ""
    if 'R"' in text:
        return text
    return "".join(COMMENT.sub(kept, text).split())


def has_other_code(path, base):
    before = subprocess.run(["git", "show", f"{base}:{path}"], capture_output=True, text=True,
                            check=False)
    if before.returncode != 0 or not pathlib.Path(path).exists():
        return True
    return code_of(before.stdout) != code_of(pathlib.Path(path).read_text())


def includers():
    """{a header's name without its folders: the files that include one of that name}"""
    found = {}
    for path in files_of("*.cc", "*.h", "*.hpp"):
        for include in INCLUDE.findall(pathlib.Path(path).read_text()):
            found.setdefault(include.rsplit("/", 1)[-1], set()).add(path)
    return found


def reached(header, including):
    """The .cc files that include a header. Headers of one name are taken for the same."""
    known, new = {header}, {header}
    while new:
        new = set().union(*(including.get(path.rsplit("/", 1)[-1], ()) for path in new)) - known
        known |= new
    return {path for path in known if path.endswith(".cc")}


def with_headers(sources, headers):
    """`sources`, and for each header that none of these includes the .cc file of its own name, or
    another that does."""
    including = includers()
    chosen = set(sources)
    for header in headers:
        users = reached(header, including)
        if not users or users & chosen:
            continue
        own = re.sub(r"\.[a-z]+$", ".cc", header)
        chosen.add(own if own in users else min(users))
    return chosen


def main(base):
    left = git("merge-base", "HEAD", base)[0]
    changed = [path for path in git("diff", "--name-only", left)
               if not path.endswith((".cc", ".h", ".hpp")) or has_other_code(path, left)]
    changed += git("ls-files", "--others", "--exclude-standard")
    sources = files_of("*.cc")
    if CHECKS not in changed:
        headers = [path for path in changed if path.endswith((".h", ".hpp"))]
        sources = sorted(with_headers(set(changed).intersection(sources), headers))
    print(*sources, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
