"""tools/results and the data files that it reads: the format, the page, and that the page is current."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/lib"))

from results import data, page, record, tables  # noqa: E402

DATA = data.Data("copies", "tools/bench-copy", "a card", "2026-01-02", {"driver": "1.2"}, {
    "main": data.Table({"n": "count", "m": "count", "us": "us", "times": "ratio",
                        "passed": "yes/no"},
                       [[64, 1, 3.456, 1.0, True], [64, 2, 23.45, 1.5, False],
                        [128, 1, 345.6, 1.25, None], [128, 2, None, None, None]],
                       {"read_tb_per_s": 3.0})})
TABLE = {"from": "copies/main", "rows": ["{n} rows"], "columns": "m", "cell": "{us} ({times})",
         "bold_unless": "passed", "titles": {"{n} rows": "rows", "1": "M = 1"}}


class FolderTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "copies.json"
        data.save(self.path, DATA)


class FormatTest(FolderTest):

    def test_what_is_saved_is_loaded(self):
        self.assertEqual(data.load(self.path), DATA)

    def test_a_row_is_a_line(self):
        lines = [line.strip() for line in self.path.read_text().splitlines()]
        self.assertIn("[64, 1, 3.456, 1.0, true],", lines)

    def refused(self, change, message):
        document = json.loads(self.path.read_text())
        change(document)
        self.path.write_text(json.dumps(document))
        with self.assertRaises(data.Problem) as raised:
            data.load(self.path)
        self.assertIn(message, str(raised.exception))
        self.assertIn(str(self.path), str(raised.exception))

    def test_refusals_name_the_place(self):
        def main(document):
            return document["tables"]["main"]

        for change, message in (
                (lambda d: d.update(heddle_results=2), "/heddle_results: expected 1"),
                (lambda d: d.pop("card"), "expected the members"),
                (lambda d: d.update(date=""), "/date: expected text"),
                (lambda d: d.update(more=1), "expected the members"),
                (lambda d: d["versions"].update(nvrtc=13), "/versions/nvrtc: expected text"),
                (lambda d: main(d)["columns"].update(us="miles"), "/columns/us: the unit is \"miles\""),
                (lambda d: main(d)["columns"].update(us=data.UNKNOWN_UNIT), "/columns/us"),
                (lambda d: main(d)["rows"][1].pop(), "/tables/main/rows/1: expected 5 values"),
                (lambda d: main(d)["rows"][0].__setitem__(2, "3"), "/tables/main/rows/0: us is \"3\""),
                (lambda d: main(d)["rows"][0].__setitem__(4, 1), "passed is 1"),
                (lambda d: main(d).pop("rows"), "/tables/main: expected columns, rows")):
            with self.subTest(message):
                data.save(self.path, DATA)
                self.refused(change, message)

    def test_what_is_no_json(self):
        self.path.write_text("{")
        with self.assertRaisesRegex(data.Problem, "no JSON"):
            data.load(self.path)


class PageTest(FolderTest):

    def made(self, text):
        (self.folder / "page.md").write_text(text)
        return page.make(self.folder)

    def table(self, **changed):
        return self.made("```table\n" + json.dumps({**TABLE, **changed}) + "\n```\n")

    def refused(self, text, message):
        with self.assertRaisesRegex(page.Problem, message):
            self.made(text)

    def test_a_column_becomes_the_pages_columns(self):
        self.assertEqual(self.table(), "|rows|M = 1|2|\n|--|--:|--:|\n"
                                       "|64 rows|3.46 (1.00)|**23.4 (1.50)**|\n"
                                       "|128 rows|346 (1.25)||\n")

    def test_rows_of_some_values(self):
        self.assertEqual(self.table(where={"n": 64, "m": [2]}),
                         "|rows|2|\n|--|--:|\n|64 rows|**23.4 (1.50)**|\n")

    def test_a_column_for_each_format(self):
        wanted = {"from": "copies/main", "where": {"n": 64}, "rows": ["{n}", "{m}"],
                  "cell": ["{us}", "{times}"], "titles": {"{us}": "us"}}
        self.assertEqual(self.made("```table\n" + json.dumps(wanted) + "\n```\n"),
                         "|{n}|{m}|us|{times}|\n|--|--|--:|--:|\n|64|1|3.46|1.00|\n"
                         "|64|2|23.4|1.50|\n")

    def test_sources_and_counts(self):
        self.assertEqual(self.made("{{source copies}}; {{passed copies/main}} and "
                                   "{{passed copies/main m=1}}\n"),
                         "a card, 2026-01-02, `tools/bench-copy`, driver 1.2; 1 of 2 and 1 of 1\n")

    def test_numbers(self):
        for value, unit, text in ((3, "us", "3"), (9.0, "us", "9.0"), (0.00021, "ratio", "2.1e-04"),
                                  (1.5, "ratio", "1.50"), (99.96, "us", "100.0"), (12.34, "us", "12.3"),
                                  (1234.5, "us", "1234"), (None, "us", ""), (False, "yes/no", "no")):
            self.assertEqual(page.number(value, unit), text)

    def test_refusals(self):
        source = "{{source copies}}"
        for text, message in (
                ("nothing", "shows nothing of copies.json"),
                (source + "{{source other}}", "there is no results/other.json"),
                ("{{passed copies/some}}", "no table 'some'; it has main"),
                ("{{passed copies/main k=1}}", "no column 'k'"),
                ("{{passed copies/main m=7}}", "no row of copies/main"),
                ("```table\n{\n```\n", "a table is no JSON"),
                ("```table\n" + json.dumps({**TABLE, "colour": 1}) + "\n```\n", "members colour"),
                ("```table\n" + json.dumps({**TABLE, "cell": "{ms}"}) + "\n```\n",
                 "no column 'ms'"),
                ("```table\n" + json.dumps({**TABLE, "rows": ["one"]}) + "\n```\n",
                 "two rows for '1'")):
            with self.subTest(message):
                self.refused(text, message)


class TablesTest(unittest.TestCase):

    def test_groups_have_a_table_each(self):
        found = tables.tables_of({"device": "d", "groups": {
            "main": {"read_tb_per_s": 4.5, "cells": [{"n": 8, "us": 1.5}, {"n": 9, "cublas_us": 2}],
                     "steps": [{"larger_m": 3}]},
            "older": {"cells": [{"us": 1}]}}})
        self.assertEqual(list(found), ["main", "main steps", "older"])
        self.assertEqual(found["main"], data.Table(
            {"n": "count", "us": "us", "cublas_us": "us"}, [[8, 1.5, None], [9, None, 2]],
            {"read_tb_per_s": 4.5}))

    def test_lists_in_rows_have_a_table_that_says_of_which_row(self):
        found = tables.tables_of({"device": "d", "layers": 2, "notes": ["one"], "steps": [
            {"batch": 1, "us": 9.0, "kernels": [{"name": "a", "in_step_us": 2.0}]},
            {"batch": 8, "us": 10.0, "kernels": [{"name": "a", "in_step_us": 3.0}]}]})
        self.assertEqual(found["steps"].rows, [[1, 9.0], [8, 10.0]])
        self.assertEqual(found["steps kernels"].columns,
                         {"batch": "count", "name": "text", "in_step_us": "us"})
        self.assertEqual(found["steps kernels"].rows, [[1, "a", 2.0], [8, "a", 3.0]])
        self.assertEqual(found["steps"].conditions, {"layers": 2, "notes": '["one"]'})

    def test_a_unit_that_is_not_known_is_saved_as_such(self):
        self.assertEqual(tables.table_of([{"furlongs": 3}]).columns,
                         {"furlongs": data.UNKNOWN_UNIT})


class RecordTest(unittest.TestCase):

    def test_the_command_leaves_out_where_it_was_saved(self):
        for arguments in (["--ms", "2", "--save", "a b.json", "--quick"],
                          ["--ms", "2", "--save=a.json", "--quick"]):
            self.assertEqual(record.command_line(["/x/tools/bench-kv", *arguments]),
                             "tools/bench-kv --ms 2 --quick")

    def test_a_machine_that_tells_nothing(self):
        self.assertNotIn("heddle", record.versions(pathlib.Path("/no/such/heddle")))


class CurrentTest(unittest.TestCase):

    def results(self, *arguments):
        return subprocess.run([ROOT / "tools/results", *map(str, arguments)], capture_output=True,
                              text=True, check=False)

    def test_the_page_is_what_the_command_makes(self):
        done = self.results("--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_page_that_is_out_of_date_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            self.assertEqual(self.results("--check", "--to", path).returncode, 1)
            self.assertEqual(self.results("--to", path).returncode, 0)
            self.assertEqual(self.results("--check", "--to", path).returncode, 0)
            path.write_text(path.read_text() + "more\n")
            done = self.results("--check", "--to", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn("is out of date; tools/results makes it again", done.stderr)

    def test_a_folder_that_is_none(self):
        done = self.results("--from", "/no/such")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/no/such/page.md", done.stderr)

    def test_the_page_has_at_most_2700_words(self):
        self.assertLessEqual(len((ROOT / "docs/results.md").read_text().split()), 2700)


if __name__ == "__main__":
    unittest.main()
