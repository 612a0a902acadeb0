"""Data files of measurements: one run of one command. results/README.md describes the format.

save() is the only writer of the format and load() its only reader.
"""

import dataclasses
import json
import pathlib

FORMAT = 1
UNITS = ("text", "yes/no", "count", "ratio", "us", "ms", "s", "MHz", "bytes", "KB", "MB", "GB/s",
         "TB/s", "TFLOP/s", "tokens/s")
# A column whose unit the writer does not know: it can be saved, but not put on a page.
UNKNOWN_UNIT = "?"

Value = bool | int | float | str | None


class Problem(Exception):
    """A data file that cannot be read; the message names the file and the place in it."""


@dataclasses.dataclass
class Table:
    columns: dict[str, str]  # the unit of each, in order
    rows: list[list[Value]]
    conditions: dict[str, Value] = dataclasses.field(default_factory=dict)

    def records(self) -> list[dict[str, Value]]:
        return [dict(zip(self.columns, row)) for row in self.rows]


@dataclasses.dataclass
class Data:
    what: str
    command: str
    card: str
    date: str  # YYYY-MM-DD
    versions: dict[str, str]  # of programs and libraries; one that is not known is not named
    tables: dict[str, Table]


def save(path: pathlib.Path, data: Data) -> None:
    """Writes one row a line, so that a changed number is a changed line."""
    head = {"heddle_results": FORMAT, "what": data.what, "command": data.command,
            "card": data.card, "date": data.date, "versions": data.versions}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines.append('  "tables": {\n' + ",\n".join(
        f"    {json.dumps(name)}: {_table_text(table)}" for name, table in data.tables.items()) +
        "\n  }")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _table_text(table: Table) -> str:
    lines = [f'      "columns": {json.dumps(table.columns)}']
    if table.conditions:
        lines.append(f'      "conditions": {json.dumps(table.conditions)}')
    rows = ",\n".join(f"        {json.dumps(row)}" for row in table.rows)
    lines.append(f'      "rows": [\n{rows}\n      ]')
    return "{\n" + ",\n".join(lines) + "\n    }"


def load(path: pathlib.Path) -> Data:
    """Reads and checks a data file; raises Problem."""
    def expect(good: bool, where: str, what: str) -> None:
        if not good:
            raise Problem(f"{path}: {where or '/'}: {what}")

    def text(value: object, where: str) -> str:
        expect(isinstance(value, str) and value != "", where, "expected text that is not empty")
        return str(value)

    try:
        document = json.loads(path.read_text())
    except ValueError as error:
        raise Problem(f"{path}: no JSON: {error}") from None
    names = ["heddle_results", "what", "command", "card", "date", "versions", "tables"]
    expect(isinstance(document, dict), "", "expected an object")
    expect(set(document) == set(names), "", f"expected the members {', '.join(names)}")
    expect(document["heddle_results"] == FORMAT, "/heddle_results", f"expected {FORMAT}")
    for member in ("versions", "tables"):
        expect(isinstance(document[member], dict), f"/{member}", "expected an object")
    tables = {}
    for name, table in document["tables"].items():
        where = f"/tables/{name}"
        expect(isinstance(table, dict) and {"columns", "rows"} <= set(table) <=
               {"columns", "rows", "conditions"}, where,
               "expected columns, rows and, if any, conditions")
        for column, unit in table["columns"].items():
            expect(unit in UNITS, f"{where}/columns/{column}",
                   f"the unit is {json.dumps(unit)}; allowed: {', '.join(UNITS)}")
        for i, row in enumerate(table["rows"]):
            expect(isinstance(row, list) and len(row) == len(table["columns"]),
                   f"{where}/rows/{i}", f"expected {len(table['columns'])} values")
            for value, (column, unit) in zip(row, table["columns"].items()):
                expect(_has_unit(value, unit), f"{where}/rows/{i}",
                       f"{column} is {json.dumps(value)}; its unit is {unit}")
        tables[name] = Table(table["columns"], table["rows"], table.get("conditions", {}))
    what, command, card, date = (text(document[name], f"/{name}")
                                 for name in ("what", "command", "card", "date"))
    versions = {name: text(value, f"/versions/{name}")
                for name, value in document["versions"].items()}
    return Data(what, command, card, date, versions, tables)


def _has_unit(value: object, unit: str) -> bool:
    if value is None:
        return True
    if unit == "text":
        return isinstance(value, str)
    if unit == "yes/no":
        return isinstance(value, bool)
    return isinstance(value, (int, float)) and not isinstance(value, bool)
