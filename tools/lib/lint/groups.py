"""Translation units that a checker can take for one: most of its time goes into their headers."""

import pathlib
import re

MOST_UNITS = 16

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
TEST = re.compile(r"(?:TEST(?:_F|_P)?|INSTANTIATE_TEST_SUITE_P)\((\w+), (\w+)")
TYPE = re.compile(r"(?:template <.*>\s*)?(?:class|struct|union|enum class|enum|using)\s+(\w+)")
# For a name that is declared elsewhere.
USING = re.compile(r"using [\w:]+;")
# The last word before parameters, a value or the end of the line.
OTHER = re.compile(r"(\w+)(?:\[[^\]]*\])*\s*(?:[({=;]|$)")


def parameters_of(line):
    """The types of a function's that are on its first line; None of what is no function."""
    name, bracket, rest = line.partition("(")
    if not bracket or "=" in name:
        return None
    parameters = rest.split(")")[0].split(",")
    return tuple(re.sub(r"\s*\w+(\s*=.*)?$", "", parameter.strip()) for parameter in parameters)


def names_of(text):
    """{name: the parameters of each of that name} of what is declared in no class and no function,
    of code as clang-format lays it out; and the same of what is the text's own: in unnamed
    namespaces, macros, tests, main()."""
    names, own, unnamed = {}, {}, False
    for line in text.splitlines():
        if line.startswith("namespace {"):
            unnamed = True
        elif line == "}  // namespace":
            unnamed = False
        elif line.startswith("#define "):
            own[re.findall(r"\w+", line)[1]] = {None}
        elif test := TEST.match(line):
            own["_".join(test.groups())] = {None}
        elif re.match(r"[A-Za-z[]", line) and not USING.match(line):
            found = TYPE.match(line) or OTHER.search(line)
            if found:
                of_its_own = unnamed or line.startswith(("static ", "int main("))
                parameters = parameters_of(line)
                for known in (names, own) if of_its_own else (names,):
                    known.setdefault(found.group(1), set()).add(parameters)
    return {**names, **own}, own


def clash(own, names):
    """Whether any of the names means two things. Functions of other parameters may share one."""
    return any(None in own[name] | names[name] or own[name] & names[name]
               for name in own.keys() & names.keys())


class Unit:
    def __init__(self, entry, headers):
        self.entry = entry
        path = pathlib.Path(entry["file"])
        self.names, self.own = names_of(path.read_text())
        self.headers = headers.of(path)

    def goes_with(self, other, headers):
        return not (clash(self.own, other.names) or clash(other.own, self.names)
                    or self.own.keys() & headers.names(other.headers - self.headers)
                    or other.own.keys() & headers.names(self.headers - other.headers))


class Headers:
    """The project's."""

    def __init__(self, root):
        self.root = root
        self.names_of = {}

    def of(self, path):
        """Those that a file includes, directly or through others."""
        found, new = set(), [path]
        while new:
            path = new.pop()
            for name in INCLUDE.findall(path.read_text()):
                for folder in (path.parent, self.root, self.root / "include"):
                    if (folder / name).exists() and folder / name not in found:
                        found.add(folder / name)
                        new.append(folder / name)
        return found

    def names(self, paths):
        for path in paths - self.names_of.keys():
            self.names_of[path] = names_of(path.read_text())[0].keys()
        return set().union(*(self.names_of[path] for path in paths))


def folder_it_needs(path, root):
    """The file's folder if it includes headers as being beside it; else None."""
    for name in INCLUDE.findall(path.read_text()):
        if (path.parent / name).exists() and not (root / name).exists():
            return path.parent
    return None


def grouped(entries, kind_of, root):
    """Lists of entries of one kind that declare nothing of their own that another of the list, or a
    header of it, declares as well."""
    headers = Headers(root)
    groups = []
    for entry in entries:
        unit, kind = Unit(entry, headers), kind_of(entry)
        for group_kind, units in groups:
            if (group_kind == kind and len(units) < MOST_UNITS
                    and all(unit.goes_with(other, headers) for other in units)):
                units.append(unit)
                break
        else:
            groups.append((kind, [unit]))
    return [[unit.entry for unit in units] for _, units in groups]
