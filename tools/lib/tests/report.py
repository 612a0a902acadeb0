#!/usr/bin/env python3
"""Prints what a run of the tests did: cases, why some were skipped, the slowest ones.

usage: report.py CASES JUNIT

CASES is the folder in which gtest programs wrote the seconds of their cases in this run (tests/CMakeLists.txt),
JUNIT what ctest wrote of the programs. A test of ctest that is no gtest program counts as one case.
"""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

SLOWEST = 20
# The exit code of tests/main.cc where every test was skipped.
ALL_SKIPPED = 77


# How ctest begins to say that a program has ended with that code.
SKIPPED_BY_ITSELF = "SKIP_RETURN_CODE"


class Case:
    """`skipped` is the reason, or None; `left_out` counts specs that the machine has no instructions for."""

    def __init__(self, name, seconds, failed=False, skipped=None, left_out=0):
        self.name, self.seconds, self.failed, self.left_out = name, seconds, failed, left_out
        self.skipped = None if failed else skipped


def reason(text):
    """What a test says of why it was skipped, without the place in the source before it."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    if lines and re.match(r"^\S+:\d+$", lines[0]):
        del lines[0]
    return lines[0] if lines else "no reason given"


def cases_of(path, program):
    """The cases that a gtest program ran, from the XML that it wrote."""
    for case in xml.parse(path).getroot().iter("testcase"):
        if case.get("status") != "run":
            continue
        skipped = case.find("skipped")
        left_out = [int(one.get("value")) for one in case.iter("property") if one.get("name") == "left_out"]
        yield Case(f"{program}: {case.get('classname')}.{case.get('name')}", float(case.get("time")),
                   case.find("failure") is not None,
                   None if skipped is None else reason(skipped.get("message")), sum(left_out))


def every_case(folder, junit):
    """The cases of a run of ctest. A gtest program that chose none of its cases has none."""
    for test in xml.parse(junit).getroot().iter("testcase"):
        name, status = test.get("name"), test.get("status")
        written = folder / f"{name}.xml"
        cases = list(cases_of(written, name)) if written.exists() else []
        yield from cases
        said = test.find("skipped")
        by_itself = said is not None and (said.get("message") or "").startswith(SKIPPED_BY_ITSELF)
        # ctest also calls a test "notrun" whose program is missing, or whose fixture failed.
        failed = status == "fail" or (status == "notrun" and not by_itself)
        if failed and not any(case.failed for case in cases):
            yield Case(name, float(test.get("time") or 0), failed=True)
        elif not failed and not written.exists():
            skipped = "cannot run on this machine" if by_itself or status == "disabled" else None
            yield Case(name, float(test.get("time") or 0), skipped=skipped)


def summarise(cases):
    """Prints the summary, whose last line is `N passed, N failed, N skipped`. Whether cases ran and none failed."""
    skipped = collections.Counter(case.skipped for case in cases if case.skipped)
    print(f"the slowest of {len(cases)} cases, in seconds:")
    for case in sorted(cases, key=lambda case: -case.seconds)[:SLOWEST]:
        print(f"{case.seconds:8.1f}  {case.name}")
    for why, count in skipped.most_common():
        print(f"skipped {count}: {why}")
    left_out = sum(case.left_out for case in cases)
    if left_out:
        print(f"left out {left_out} specs of other cases: this GPU has no instructions for them")
    failed = [case for case in cases if case.failed]
    for case in failed:
        print(f"failed: {case.name}")
    total_skipped = sum(skipped.values())
    print(f"{len(cases) - len(failed) - total_skipped} passed, {len(failed)} failed, {total_skipped} skipped",
          flush=True)
    if not cases:
        print("no case ran")
    return bool(cases) and not failed


if __name__ == "__main__":
    sys.exit(0 if summarise(list(every_case(pathlib.Path(sys.argv[1]), sys.argv[2]))) else 1)
