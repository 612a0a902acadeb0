"""No circles: no files that include each other, and no two folders whose files do."""

import ast
import collections
import functools
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = {".c", ".cc", ".h", ".hpp", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
# Where the compiler looks for headers, from the root; a file's own folder comes first.
INCLUDE_FOLDERS = ("", "include", "templates", "generator/families/host", "tests", "tools")


def tracked(root):
    """The repository's files, those too that will be added to it."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True,
                           stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return sorted(pathlib.PurePosixPath(name) for name in names if (root / name).is_file())


def is_python(root, path):
    if path.suffix:
        return path.suffix == ".py"
    with (root / path).open("rb") as file:
        return re.match(rb"#!.*python", file.readline()) is not None


def unit(path):
    """A header and its source are one unit; so is a Python module."""
    return str(path.with_suffix(""))


def included(root, path, files):
    for name in INCLUDE.findall((root / path).read_text(errors="replace")):
        for folder in (path.parent, *map(pathlib.PurePosixPath, INCLUDE_FOLDERS)):
            parts = [part for part in (folder / name).parts if part != "."]
            while ".." in parts[1:]:
                at = parts.index("..", 1)
                del parts[at - 1:at + 1]
            found = pathlib.PurePosixPath(*parts) if parts else None
            if found in files:
                yield found
                break


def statements(node):
    """All nodes but those of TYPE_CHECKING alone, which no program imports."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"):
            yield from statements(child)


def imported(root, path, files):
    """Modules of this repository: beside the file, in tools/lib, or of the package around it."""
    for node in statements(ast.parse((root / path).read_text())):
        if isinstance(node, ast.Import):
            names = [(path.parent, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = path.parent
            for _ in range(node.level - 1):
                folder = folder.parent
            names = [(folder, node.module or ".")]
            names += [(folder, ".".join(filter(None, (node.module, alias.name))))
                      for alias in node.names]
        else:
            continue
        for folder, name in names:
            inner = "/".join(filter(None, name.split(".")))
            for place in (folder, pathlib.PurePosixPath("tools/lib")):
                for found in (place / f"{inner}.py", place / inner / "__init__.py"):
                    if found in files:
                        yield found


@functools.cache
def arrows(root):
    """Which units each unit includes or imports."""
    files = tracked(root)
    graph = {}
    for kind, arrows_of in ((lambda path: path.suffix in CPP, included),
                            (lambda path: is_python(root, path), imported)):
        some = {path for path in files if kind(path)}
        for path in some:
            into = graph.setdefault(unit(path), set())
            into.update(unit(found) for found in arrows_of(root, path, some))
            into.discard(unit(path))
    return graph


def circles(graph):
    """Sets of nodes that each can be reached from each other one, sorted (Tarjan)."""
    order, low, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(found)


def room(name):
    """A folder of the top, or one in it: "generator/spec". What lies deeper is part of that room."""
    return "/".join(name.split("/")[:-1][:2])


def folder_pairs(graph):
    """Rooms that include each other. A room in a folder is part of it."""
    rooms = collections.defaultdict(set)
    for one, others in graph.items():
        rooms[room(one)].update(map(room, others))
    return sorted((a, b) for a in rooms for b in rooms[a]
                  if a < b and a in rooms.get(b, ()) and not b.startswith(a + "/"))


class CirclesTest(unittest.TestCase):

    def test_no_files_include_each_other(self):
        self.assertEqual(circles(arrows(ROOT)), [])

    def test_no_two_folders_include_each_other(self):
        self.assertEqual(folder_pairs(arrows(ROOT)), [])

    def test_circles_are_found(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-test-")
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        for name, text in {"a/one.h": "", "a/one.cc": '#include "a/two.h"\n',
                           "a/two.h": '#include "three.h"\n', "a/three.h": '#include "a/one.h"\n',
                           "a/alone.cc": '#include "b/there.h"\n', "b/there.h": "",
                           "b/back.cc": '#include "../a/two.h"\n',
                           "p/x.py": "from . import y\n", "p/y.py": "def f():\n    import x\n",
                           "p/z.py": "import y\n", "p/__init__.py": ""}.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        graph = arrows(root)
        self.assertEqual(circles(graph), [["a/one", "a/three", "a/two"], ["p/x", "p/y"]])
        self.assertEqual(folder_pairs(graph), [("a", "b")])


if __name__ == "__main__":
    unittest.main()
