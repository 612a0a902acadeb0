"""docs/results.md out of results/page.md and the data files beside it.

The page is Markdown with three additions, which results/README.md describes:

    {{source FILE}}                      card, date, command and versions of a data file
    {{passed FILE/TABLE COLUMN=TEXT}}    "45 of 54": rows that reach their bars, of those with one
    a fenced block `table` of JSON       a table of rows of a data file
"""

import json
import pathlib
import re
import typing

from results import data

Record = dict[str, str]  # the texts of a row's values

YES, NO = "yes", "no"
_TABLE_MEMBERS = {"from", "where", "rows", "columns", "cell", "titles", "bold_unless"}


class Problem(Exception):
    """A page that cannot be made; the message names the line or the table."""


def make(folder: pathlib.Path) -> str:
    """The page that `folder` (results/) describes."""
    return Page(folder).text()


class Page:

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.files = {path.stem: data.load(path) for path in sorted(folder.glob("*.json"))}
        self.used: set[str] = set()

    def text(self) -> str:
        source = (self.folder / "page.md").read_text()
        source = re.sub(r"^```table\n(.*?)^```\n", self._table_block, source, flags=re.MULTILINE | re.DOTALL)
        source = re.sub(r"\{\{source ([^\s}]+)\}\}", self._source, source)
        source = re.sub(r"\{\{passed ([^\s}]+)(.*?)\}\}", self._passed, source)
        unused = sorted(set(self.files) - self.used)
        if unused:
            raise Problem(f"results/page.md shows nothing of {', '.join(unused)}.json")
        return source

    def _file(self, name: str) -> data.Data:
        if name not in self.files:
            raise Problem(f"results/page.md: there is no results/{name}.json")
        self.used.add(name)
        return self.files[name]

    def _records(self, place: str, where: typing.Mapping[str, typing.Any]) -> list[Record]:
        """The rows of FILE/TABLE whose columns have the values of `where`, or one of a list."""
        name, _, table = place.partition("/")
        tables = self._file(name).tables
        if table not in tables:
            raise Problem(f"results/page.md: results/{name}.json has no table {table!r}; it has "
                          f"{', '.join(tables)}")
        for column in where:
            if column not in tables[table].columns:
                raise Problem(f"results/page.md: {place} has no column {column!r}")
        units = tables[table].columns
        allowed = {column: [number(one, units[column]) for one in
                            (value if isinstance(value, list) else [value])]
                   for column, value in where.items()}
        texts = [{column: number(value, units[column]) for column, value in record.items()}
                 for record in tables[table].records()]
        records = [record for record in texts
                   if all(record[column] in values for column, values in allowed.items())]
        if not records:
            raise Problem(f"results/page.md: no row of {place} is {json.dumps(dict(where))}")
        return records

    def _source(self, match: typing.Match[str]) -> str:
        found = self._file(match[1])
        versions = "".join(f", {name} {version}" for name, version in found.versions.items())
        return f"{found.card}, {found.date}, `{found.command}`{versions}"

    def _passed(self, match: typing.Match[str]) -> str:
        where = dict(part.split("=", 1) for part in re.findall(r'\w+=[^=]+(?=\s\w+=|$)', match[2]))
        judged = [record["passed"] for record in self._records(match[1], where)
                  if record.get("passed")]
        return f"{judged.count(YES)} of {len(judged)}"

    def _table_block(self, match: typing.Match[str]) -> str:
        try:
            wanted = json.loads(match[1])
        except ValueError as error:
            raise Problem(f"results/page.md: a table is no JSON: {error}: {match[1]}") from None
        extra = set(wanted) - _TABLE_MEMBERS
        if extra:
            raise Problem(f"results/page.md: a table has the members {', '.join(sorted(extra))}; "
                          f"allowed: {', '.join(sorted(_TABLE_MEMBERS))}")
        places = wanted["from"] if isinstance(wanted["from"], list) else [wanted["from"]]
        return table([record for place in places
                      for record in self._records(place, wanted.get("where", {}))], wanted)


def table(records: typing.Sequence[Record], wanted: typing.Mapping[str, typing.Any]) -> str:
    """`rows`: format strings of the columns that name a row. Without `columns` each format string of
    `cell` is a column; with it the values of that column are, and `cell` is one format string."""
    titles = wanted.get("titles", {})
    rows, bold_unless = wanted["rows"], wanted.get("bold_unless")
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    heads: dict[str, None] = {}
    for record in records:
        cells = lines.setdefault(tuple(fill(part, record) for part in rows), {})
        if "columns" in wanted:
            filled = {record[wanted["columns"]]: wanted["cell"]}
        else:
            filled = {part: part for part in wanted["cell"]}
        for head, form in filled.items():
            heads[head] = None
            if head in cells:
                raise Problem(f"results/page.md: {wanted['from']} has two rows for {head!r} where "
                              f"a row is {', '.join(rows)}")
            text = fill(form, record)
            missed = bold_unless is not None and record[bold_unless] == NO
            cells[head] = f"**{text}**" if missed and text else text
    head_texts = [titles.get(part, part) for part in [*rows, *heads]]
    body = [list(key) + [cells.get(head, "") for head in heads] for key, cells in lines.items()]
    rule = ["--"] * len(rows) + ["--:"] * len(heads)
    return "".join(f"|{'|'.join(line)}|\n" for line in [head_texts, rule, *body])


def fill(form: str, record: Record) -> str:
    """The format string with each {column} in place; empty where one of them is null."""
    names = re.findall(r"\{(\w+)\}", form)
    for name in names:
        if name not in record:
            raise Problem(f"results/page.md: there is no column {name!r} for {form!r}")
    if any(record[name] == "" for name in names):
        return ""
    return re.sub(r"\{(\w+)\}", lambda match: record[match[1]], form)


def number(value: data.Value, unit: str) -> str:
    """Three digits where a measured number has as many; ratios have two decimals."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return YES if value else NO
    if not isinstance(value, float):
        return str(value)
    if 0 < abs(value) < 0.01:
        return f"{value:.1e}"
    if unit == "ratio":
        return f"{value:.2f}"
    return str(round(value, 2) if abs(value) < 10 else
               round(value, 1) if abs(value) < 100 else round(value))
