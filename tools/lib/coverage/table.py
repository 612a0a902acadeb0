#!/usr/bin/env python3
"""Prints how many lines of some folders were run, from what gcov says of a build.

usage: table.py SOURCES BUILD [--lines] FOLDER...

A line counts as run if any object that holds it, a header's lines are in many, has run it. Closing
braces and the heads of classes do not count: what the compiler makes by itself is put down to them,
such as the destructors that run while an exception passes.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

NO_CODE = re.compile(r"\s*(?:[\]})]*[;,)]*|(?:struct|class)\b.*\{)\s*(?://.*)?")
PROMISED = {"cache": 100.0, "generator": 95.0}  # percent


def reports(build):
    for data in sorted(build.rglob("*.gcda")):
        done = subprocess.run(["gcov", "--json-format", "--stdout", data], cwd=data.parent,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        for line in done.stdout.splitlines():
            yield json.loads(line)


def count_runs(root, build):
    """{path from the root: {line: how often it was run}}"""
    runs = collections.defaultdict(lambda: collections.defaultdict(int))
    for report in reports(build):
        for file in report["files"]:
            path = pathlib.Path(report["current_working_directory"], file["file"]).resolve()
            if not path.is_relative_to(root):
                continue
            of_file = runs[str(path.relative_to(root))]
            for line in file["lines"]:
                of_file[line["line_number"]] += line["count"]
    for path, of_file in runs.items():
        for line, text in enumerate((root / path).read_text().splitlines(), 1):
            if NO_CODE.fullmatch(text):
                of_file.pop(line, None)
    return runs


def print_missed(root, path, missed):
    text = (root / path).read_text().splitlines()
    for line in missed:
        print(f"{path}:{line}: {text[line - 1].strip()}")


def main(arguments):
    show_lines = "--lines" in arguments
    root, build, *folders = [word for word in arguments if word != "--lines"]
    root = pathlib.Path(root).resolve()
    runs = count_runs(root, pathlib.Path(build).resolve())
    failed = False
    rows = []
    for folder in folders:
        total = run = 0
        for path in sorted(runs):
            if not path.startswith(folder + "/"):
                continue
            missed = sorted(line for line, count in runs[path].items() if count == 0)
            total += len(runs[path])
            run += len(runs[path]) - len(missed)
            if show_lines:
                print_missed(root, path, missed)
        percent = 100 * run / total if total else 0
        failed |= percent < PROMISED.get(folder, 0)
        rows.append(f"| {folder}/ | {total} | {run} | {percent:.2f} % |")
    print("| folder | lines | run | |\n| --- | --- | --- | --- |", *rows, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
