"""Links of the documents, the files that they name, and the pages that code names."""

import re
import unittest
import urllib.parse

from command import ROOT
from pages import anchors, code_spans, links, pages, read_page

# Whose files name pages; a page that moves must take these along.
FOLDERS = (".ci", "cache", "checkpoint", "cmake", "examples", "generator", "include", "runtime",
           "templates", "tests", "tools", "tuned")
NAMED_PAGE = re.compile(r"(?<![\w/])docs/[\w./-]*?\.(?:md|svg)\b")
# A path of this repository, if it begins with one of these folders.
NAMED_FILE = re.compile(r"(?:docs|examples|tools|tests|tuned|include|results|\.ci)/[\w./*-]+")


class LinkTest(unittest.TestCase):

    def test_links_lead_somewhere(self):
        for page in pages():
            for link in links(page):
                if re.match(r"[a-z]+:", link):
                    continue
                with self.subTest(page=page.path.name, link=link):
                    name, _, anchor = urllib.parse.unquote(link).partition("#")
                    target = (page.path.parent / name).resolve() if name else page.path
                    self.assertTrue(target.exists(), f"{target} does not exist")
                    self.assertTrue(target.is_relative_to(ROOT), f"{target} is not of the repository")
                    if anchor:
                        self.assertIn(anchor, anchors(read_page(target)))

    def test_files_that_are_named_exist(self):
        for page in pages():
            for path in [*code_spans(page), *NAMED_PAGE.findall(page.text)]:
                # A pattern, such as tools/bench-*, names at least one.
                if NAMED_FILE.fullmatch(path):
                    with self.subTest(page=page.path.name, path=path):
                        self.assertTrue(list(ROOT.glob(path.rstrip("/"))), "does not exist")

    def test_pages_that_code_names_exist(self):
        files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
        for path in files:
            if not path.is_file() or path.suffix in (".json", ".safetensors", ".pyc"):
                continue
            for named in set(NAMED_PAGE.findall(path.read_text(errors="replace"))):
                with self.subTest(path=str(path.relative_to(ROOT)), page=named):
                    self.assertTrue((ROOT / named).exists())

    def test_readme_leads_to_every_page(self):
        linked = {(ROOT / link.partition("#")[0]).resolve()
                  for link in links(read_page(ROOT / "README.md"))}
        missing = [page.path.name for page in pages() if page.path not in linked]
        self.assertEqual(missing, ["README.md"])


class PagesTest(unittest.TestCase):
    """That the tests above see what there is to see."""

    def test_anchors_are_those_of_renderers(self):
        page = read_page(ROOT / "README.md")
        page.text = "# A `b_c`, d & e\n## A\n### A\n## [Text](link) - x ##\n"
        self.assertEqual(anchors(page), {"a-b_c-d--e", "a", "a-1", "text---x"})

    def test_links_in_code_are_none(self):
        page = read_page(ROOT / "README.md")
        page.text = "[a](x.md#b) ![c](y.svg) `[d](no.md)` [`e`](<z.md>)"
        self.assertEqual(links(page), ["x.md#b", "y.svg", "z.md"])


if __name__ == "__main__":
    unittest.main()
