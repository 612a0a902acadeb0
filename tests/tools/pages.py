"""What the documents hold: headings, links and fenced blocks of README.md and docs/**/*.md.

The info string of a shell block says what it needs, after the language:

  sh        nothing but the repository, a built command and NVRTC: the tests run it
  sh gpu    a GPU
  sh model  files that are not in the repository, such as a checkpoint that has to be downloaded
  sh setup  installs or builds something, here or in a program of the reader's own
"""

import dataclasses
import pathlib
import re

from command import ROOT

SHELL = ("sh", "console", "bash", "shell")
NEEDS = ("gpu", "model", "setup")
# An item of a list may hold a block, which is indented as the item's text is.
FENCE = re.compile(r"^( *)(```+|~~~+)[ \t]*(.*)$")


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int          # of the opening fence, from 1
    language: str
    words: list        # of the info string behind the language
    text: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclasses.dataclass
class Page:
    path: pathlib.Path
    text: str          # without the blocks
    blocks: list


def read_page(path):
    """Splits a page into its text and its fenced blocks."""
    outside, blocks, fence, block, indent = [], [], None, None, 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = FENCE.match(line)
        if fence is None and found:
            language, *words = found[3].split() or [""]
            indent, fence = len(found[1]), found[2]
            block = Block(path, number, language, words, "")
        elif fence is not None and line.strip() == fence:
            blocks.append(block)
            fence = None
        elif fence is not None:
            block.text += line[min(indent, len(line) - len(line.lstrip())):] + "\n"
        else:
            outside.append(line)
    if fence is not None:
        raise AssertionError(f"{block} is not closed")
    return Page(path, "\n".join(outside), blocks)


def pages():
    return [read_page(path) for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]]


def anchors(page):
    """Of its headings, as GitHub and most renderers make them."""
    seen, found = {}, set()
    for heading in re.findall(r"^#{1,6} +(.*?) *#* *$", page.text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def links(page):
    """Targets of its links and images, but not those that are code."""
    text = re.sub(r"`[^`\n]*`", lambda code: "x" * len(code[0]), page.text)
    return re.findall(r"\]\(\s*<?([^)\s>]+)", text)


def code_spans(page):
    return re.findall(r"`([^`\n]+)`", page.text)
