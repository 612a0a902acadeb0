"""The tables of a data file, out of the JSON documents that heddle bench and the scripts print."""

import json
import typing

from results.data import UNKNOWN_UNIT, Table, Value

# Columns by their whole name, then by how it ends.
_UNITS = {
    "count": ("n", "k", "m", "larger_m", "spec", "sequences", "length", "shortest", "tokens",
              "batch", "context", "launches", "candidates", "layers", "model_layers", "rows", "seed",
              "kernels", "against_kernels", "cells_drawn", "experts_hit", "stream_words",
              "stream_blocks_per_sm"),
    "ratio": ("times", "bar", "ratio", "cublas_ratio"),
    "TFLOP/s": ("floor_tflops",),
}
_ENDINGS = (("_us", "us"), ("_ms", "ms"), ("tokens_per_s", "tokens/s"), ("tb_per_s", "TB/s"),
            ("gb_per_s", "GB/s"), ("_mhz", "MHz"), ("bytes", "bytes"), ("_s", "s"))


def unit_of(name: str, values: typing.Iterable[Value]) -> str:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return "yes/no"
    if any(isinstance(value, str) for value in known):
        return "text"
    for unit, names in _UNITS.items():
        if name in names:
            return unit
    if name in ("us", "ms", "s"):
        return name
    if name.startswith("times_") or name.endswith("_times_best"):
        return "ratio"
    return next((unit for ending, unit in _ENDINGS if name.endswith(ending)), UNKNOWN_UNIT)


def table_of(records: typing.Sequence[typing.Mapping[str, typing.Any]],
             conditions: dict[str, Value] | None = None) -> Table:
    """Records that lack a column have null there; what is neither number nor text becomes JSON."""
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = [[_plain(record.get(name)) for name in names] for record in records]
    columns = {name: unit_of(name, [row[i] for row in rows]) for i, name in enumerate(names)}
    return Table(columns, rows, conditions or {})


def tables_of(document: typing.Mapping[str, typing.Any], name: str = "") -> dict[str, Table]:
    """A table for each list of objects in the document.

    Its name is the object's that holds the list, with the list's where that is not the first one. Scalars beside the lists are the tables' conditions. Objects that have lists of objects again
    give those a table of their own, whose rows begin with what the outer object is of.
    """
    conditions = {key: _plain(value) for key, value in document.items()
                  if not _is_records(value) and not isinstance(value, dict) and key != "device"}
    tables: dict[str, Table] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            for inner, table in tables_of(value, key).items():
                tables[inner] = Table(table.columns, table.rows, {**conditions, **table.conditions})
        elif _is_records(value) and value:
            first = name and name not in tables
            _add_records(tables, name if first else f"{name} {key}".strip(), value, conditions)
    return tables


def _is_records(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _add_records(tables: dict[str, Table], name: str,
                 records: typing.Sequence[dict[str, typing.Any]],
                 conditions: dict[str, Value]) -> None:
    outer = [{key: value for key, value in record.items() if not _is_records(value) or not value}
             for record in records]
    tables[name] = table_of(outer, conditions)
    nested: dict[str, list[dict[str, typing.Any]]] = {}
    for record in records:
        of = {key: value for key, value in record.items()
              if isinstance(value, (str, int, float)) and unit_of(key, [value]) in ("text", "count")}
        for key, value in record.items():
            if _is_records(value):
                nested.setdefault(key, []).extend({**of, **item} for item in value)
    for key, items in nested.items():
        if items:
            tables[f"{name} {key}"] = table_of(items, conditions)


def _plain(value: object) -> Value:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return json.dumps(value)
