#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every C++ block of the documentation is compiled: its text stands, up to white space, in one of
docs/snippets/*.cpp or examples/. Between "<!-- figures: NAME -->" and "<!-- end -->" every number with three decimals
stands in docs/snippets/NAME.cpp, which asserts it. Also checks that links between pages lead somewhere. Exits 1
otherwise."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.DOTALL | re.MULTILINE)
FIGURES = re.compile(r"^<!-- figures: (\w+) -->\n(.*?)^<!-- end -->", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"(?<![\d.])\d+\.\d{3}(?!\d)")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def flat(text):
    """Without white space, so that a block may be a part of a function and the formatter may wrap it elsewhere."""
    return "".join(text.split())


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
        for target in LINK.findall(BLOCK.sub("", text)):
            if not (page.parent / target).exists():
                problems.append(f"{name}: leads to {target}, which does not exist")
    for problem in problems:
        print(problem)
    print(f"{blocks} blocks, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
