"""Compares tests/generator/golden/plans.txt with what print_plans prints, or writes it anew.

usage: compare.py PRINT_PLANS FILE [--remake]

Only lines that differ are printed: "-" what the file has, "+" what is chosen now. A change of the
planner that is wanted is followed by tests/generator/golden/remake, so that a review sees what it chooses.
"""

import pathlib
import subprocess
import sys


def place(line):
    """Target, spec and first M of a line of a difference."""
    spec, _, kernel = line[1:].partition(" M ")
    return spec, int(kernel.partition("-")[0] or 0)


def difference(old, new):
    """Lines that one of the texts lacks, those of the same place side by side."""
    before, after = set(old), set(new)
    lines = ["-" + line for line in old if line not in after]
    lines += ["+" + line for line in new if line not in before]
    return sorted(lines, key=place)


def main(arguments):
    if len(arguments) not in (2, 3) or arguments[2:] not in ([], ["--remake"]):
        print(__doc__, file=sys.stderr)
        return 2
    program, file = arguments[0], pathlib.Path(arguments[1])
    now = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    if arguments[2:]:
        file.write_text(now)
        return 0
    old = file.read_text()
    if old == now:
        return 0
    lines = difference(old.splitlines(), now.splitlines())
    print("\n".join(lines) if lines else "the same lines in another order")
    print(f"{file.name} is not what the planner chooses: tests/generator/golden/remake if it should be")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
