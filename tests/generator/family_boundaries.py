"""Nothing outside of a family of kernels knows what is in its folders.

A family is known through generator/families/family.h and gemm_family.h alone. What may know more is
listed here, with the reason.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ["generator", "runtime", "cache", "checkpoint", "tools", "include"]

# Which families a room may know.
ALLOWED = {
    # Says how many bytes this struct has, and which sizes a launch of attention may have.
    "generator/operations/kv_append": {"kv_append"},
    "generator/operations/row_transform": {"row_transform"},
    "generator/operations/moe": {"experts"},
    # Fills the one struct that these kernels take as their argument, and checks what it points to.
    "runtime": {"kv_append", "decode_attention", "row_transform", "experts"},
    # Says how many bytes a launch of attention reads; makes norms of heads with the bits of an append, which
    # depend on the elements that its lanes have.
    "tools": {"decode_attention", "kv_append"},
}

# Families whose kernels are made of those of another one.
MADE_OF = {
    # The products of experts are tiles of a GEMM, with their configuration and their candidates.
    "experts": {"tiles"},
    "warpgroup_experts": {"experts", "warpgroup"},
    "few_experts": {"experts", "stream"},
    "stream_experts": {"experts", "stream"},
}

# A family in the folder of another, of which it has the template.
SECOND = {"byte_stream": "stream"}


def families():
    folder = ROOT / "generator" / "families"
    return {path.name for path in folder.iterdir() if path.is_dir() and path.name != "host"}


def allowed_for(path):
    return next((names for room, names in ALLOWED.items()
                 if path.is_relative_to(room)), set())


def known_families(text, names):
    """Families of which the text includes a header, or names the struct or the function."""
    included = re.findall(r'#include "(?:generator/families/|templates/)?(\w+)/', text)
    words = set(re.findall(r"\w+", text))
    seconds = {SECOND[name] for name in SECOND if f"{name}_family" in words}
    return seconds & names | {name for name in names
                              if name in included or words & {struct_of(name), f"{name}_family"}}


def struct_of(name):
    return "".join(word.capitalize() for word in name.split("_")) + "Config"


def violations(names):
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*")):
            path = file.relative_to(ROOT)
            if file.suffix not in {".cc", ".h"} or path.is_relative_to("generator/families"):
                continue
            for name in sorted(known_families(file.read_text(), names) - allowed_for(path)):
                yield f"{path} knows the family {name}"


def family_violations(names):
    """Families do not know each other, but where one is made of another."""
    for name in sorted(names):
        for file in sorted((ROOT / "generator" / "families" / name).glob("*.[ch]*")):
            for other in sorted(known_families(file.read_text(), names) - {name} - MADE_OF.get(name, set())):
                yield f"{file.relative_to(ROOT)} knows the family {other}"


def shared_violations(names):
    """What families share knows none of them."""
    for file in sorted((ROOT / "generator" / "families").glob("*.[ch]*")):
        for name in sorted(known_families(file.read_text(), names)):
            yield f"{file.relative_to(ROOT)} knows the family {name}"


def reasoning_violations():
    """A family says why it does not serve, never what another one does: the planner joins what all say."""
    folder = ROOT / "generator" / "families"
    for file in sorted(folder.rglob("*.[ch]*")):
        if file.parent.name != "warpgroup" and "has_wgmma" in file.read_text():
            yield f"{file.relative_to(ROOT)} asks whether wgmma serves"


def registry_violations(names):
    """The line of an operation registers each of its families: each folder, and each second family."""
    file = ROOT / "generator" / "spec" / "operation_list.h"
    registered = re.findall(r"\b(?:FAMILY|BEFORE)\((\w+)\)", file.read_text())
    if sorted(registered) != sorted(names | SECOND.keys()) or not names >= set(SECOND.values()):
        yield f"{file.relative_to(ROOT)} does not register each folder of generator/families once"


def main():
    names = families()
    templates = {path.name for path in (ROOT / "templates").iterdir() if path.is_dir()}
    problems = [f"templates/ has no folder {name}" for name in sorted(names - templates)]
    problems += violations(names)
    problems += family_violations(names)
    problems += shared_violations(names)
    problems += reasoning_violations()
    problems += registry_violations(names)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems or len(names) < 9 else 0


if __name__ == "__main__":
    sys.exit(main())
