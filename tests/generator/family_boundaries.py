"""Nothing outside of a family of kernels includes what is in its folders.

A family is known through generator/families/family.h and gemm_family.h alone. What may include more is
listed here, with the reason.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ["generator", "runtime", "cache", "checkpoint", "tools", "include"]

# Of which families' folders a room may include headers.
ALLOWED = {
    # Puts the gather of X before the kernels of a GEMM with act-order; asks the families of GEMMs through
    # generator/families/gemm_family.h alone.
    "generator/planner": {"gather"},
    # Fills the one struct that these kernels take as their argument, and checks what it points to.
    "runtime": {"kv_append", "decode_attention"},
    # Says how many bytes a launch of attention reads.
    "tools": {"decode_attention"},
}


# The same of files of generator/families that belong to no family.
ALLOWED_IN_FAMILIES = {
    # Says where scales go for any GEMM's tile: the columns between two scales of a tile of mma.sync, and the
    # warpgroups of one of wgmma, are what their families' structs say.
    "scale_mode.cc": {"tiles", "warpgroup"},
}


def families():
    folder = ROOT / "generator" / "families"
    return {path.name for path in folder.iterdir() if path.is_dir() and path.name != "host"}


def allowed_for(path):
    return next((names for room, names in ALLOWED.items()
                 if path.is_relative_to(room)), set())


def included_families(text, names):
    words = re.findall(r'#include "(?:generator/families/|templates/)?(\w+)/', text)
    return {word for word in words if word in names}


def violations(names):
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*")):
            path = file.relative_to(ROOT)
            if file.suffix not in {".cc", ".h"} or path.is_relative_to("generator/families"):
                continue
            for name in sorted(included_families(file.read_text(), names) - allowed_for(path)):
                yield f"{path} includes a header of the family {name}"


def family_violations(names):
    """Families do not know each other."""
    for name in sorted(names):
        for file in sorted((ROOT / "generator" / "families" / name).glob("*.[ch]*")):
            for other in sorted(included_families(file.read_text(), names) - {name}):
                yield f"{file.relative_to(ROOT)} includes a header of the family {other}"


def shared_violations(names):
    """What families share knows none of them."""
    for file in sorted((ROOT / "generator" / "families").glob("*.[ch]*")):
        allowed = ALLOWED_IN_FAMILIES.get(file.name, set())
        included = included_families(file.read_text(), names)
        for name in sorted(included - allowed):
            yield f"{file.relative_to(ROOT)} includes a header of the family {name}"
        for name in sorted(allowed - included):
            yield f"{file.relative_to(ROOT)} no longer includes a header of the family {name}"


def main():
    names = families()
    templates = {path.name for path in (ROOT / "templates").iterdir() if path.is_dir()}
    problems = [f"templates/ has no folder {name}" for name in sorted(names - templates)]
    problems += violations(names)
    problems += family_violations(names)
    problems += shared_violations(names)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems or len(names) < 9 else 0


if __name__ == "__main__":
    sys.exit(main())
