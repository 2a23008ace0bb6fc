#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every C++ block of the documentation is compiled: its text stands, up to white space, in one of
docs/snippets/*.cpp or examples/. Between "<!-- figures: NAME -->" and "<!-- end -->" every number with three decimals
stands in docs/snippets/NAME.cpp, which asserts it. Also checks that links between pages lead to a page, and to a
heading of it, that exist. Exits 1 otherwise."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.DOTALL | re.MULTILINE)
FIGURES = re.compile(r"^<!-- figures: (\w+) -->\n(.*?)^<!-- end -->", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"(?<![\d.])\d+\.\d{3}(?!\d)")
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def flat(text):
    """Without white space, so that a block may be a part of a function and the formatter may wrap it elsewhere."""
    return "".join(text.split())


def anchors_of(page):
    """What links may lead to: headings in lower case, without punctuation, blanks as hyphens; equal ones are numbered."""
    found = {}
    for heading in HEADING.findall(FENCED.sub("", page.read_text())):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {slug if n == 0 else f"{slug}-{n}" for slug, last in found.items() for n in range(last + 1)}


def main():
    compiled = [flat(path.read_text()) for folder in ("docs/snippets", "examples") for path in (ROOT / folder).rglob("*.cpp")]
    problems, blocks = [], 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name, text = page.relative_to(ROOT), page.read_text()
        for match in BLOCK.finditer(text):
            blocks += 1
            if not any(flat(match.group(1)) in source for source in compiled):
                line = text[: match.start()].count("\n") + 1
                problems.append(f"{name}:{line}: the block stands in no compiled source")
        for match in FIGURES.finditer(text):
            source = ROOT / "docs/snippets" / f"{match.group(1)}.cpp"
            held = FIGURE.findall(source.read_text()) if source.exists() else []
            stated = FIGURE.findall(match.group(2))
            line = text[: match.start()].count("\n") + 1
            problems += [f"{name}:{line}: {source.name} does not hold {figure}" for figure in stated if figure not in held]
            if not stated:
                problems.append(f"{name}:{line}: no figure stands between the marks")
        for match in LINK.finditer(text):
            target, anchor = match.groups()
            place = page.parent / target if target else page
            where = f"{name}:{text[: match.start()].count(chr(10)) + 1}: leads to"
            if any(f.start() <= match.start() < f.end() for f in FENCED.finditer(text)):
                continue
            if not place.exists():
                problems.append(f"{where} {target}, which does not exist")
            elif anchor and place.suffix == ".md" and anchor not in anchors_of(place):
                problems.append(f"{where} {target}#{anchor}, a heading that does not exist")
    for problem in problems:
        print(problem)
    print(f"{blocks} blocks, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
