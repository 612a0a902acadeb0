#!/usr/bin/env python3
"""Prints what a run of the tests did: cases, why some were skipped, the slowest ones.

usage: report.py CASES JUNIT

CASES is the folder in which gtest programs wrote the seconds of their cases in this run (tests/CMakeLists.txt),
JUNIT what ctest wrote of the programs. A test of ctest that is no gtest program counts as one case.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree as xml

SLOWEST = 20
# The exit code of tests/main.cc where every test was skipped.
ALL_SKIPPED = 77


class Case:
    def __init__(self, name, seconds, failed, skipped):
        self.name, self.seconds, self.failed, self.skipped = name, seconds, failed, skipped


def reason(text):
    """What a test says of why it was skipped, without the place in the source before it."""
    lines = [line.strip() for line in (text or "").splitlines()]
    said = [line for line in lines if line and not line.rpartition(":")[2].isdigit()]
    return said[0] if said else "no reason given"


def cases_of(path, program):
    """The cases that a gtest program ran, from the XML that it wrote."""
    for case in xml.parse(path).getroot().iter("testcase"):
        if case.get("status") != "run":
            continue
        skipped = case.find("skipped")
        yield Case(f"{program}: {case.get('classname')}.{case.get('name')}", float(case.get("time")),
                   case.find("failure") is not None,
                   None if skipped is None else reason(skipped.get("message")))


def every_case(folder, junit):
    for test in xml.parse(junit).getroot().iter("testcase"):
        name, status = test.get("name"), test.get("status")
        written = folder / f"{name}.xml"
        cases = list(cases_of(written, name)) if written.exists() else []
        yield from cases
        # No gtest program, or one that ended before it wrote anything, or with an error behind its last case.
        if not cases or (status == "fail" and not any(case.failed for case in cases)):
            skipped = "cannot run on this machine" if status in ("notrun", "disabled") else None
            yield Case(name, float(test.get("time") or 0), status == "fail", skipped)


def summarise(cases):
    """Prints the summary, its last line in the form that `N passed, N failed, N skipped` has; how many failed."""
    skipped = collections.Counter(case.skipped for case in cases if case.skipped)
    print(f"the slowest of {len(cases)} cases, in seconds:")
    for case in sorted(cases, key=lambda case: -case.seconds)[:SLOWEST]:
        print(f"{case.seconds:8.1f}  {case.name}")
    for why, count in skipped.most_common():
        print(f"skipped {count}: {why}")
    failed = [case for case in cases if case.failed]
    for case in failed:
        print(f"failed: {case.name}")
    total_skipped = sum(skipped.values())
    print(f"{len(cases) - len(failed) - total_skipped} passed, {len(failed)} failed, {total_skipped} skipped",
          flush=True)
    return len(failed)


if __name__ == "__main__":
    summarise(list(every_case(pathlib.Path(sys.argv[1]), sys.argv[2])))
