#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/operator-table.md, and the numbers of operators and of gradients in README.md, from the output of
the operator_table program, or with --check compares.

    tools/paste_operators.py build/release/bin/operator_table [--check]
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "operator-table.md"
README = ROOT / "README.md"
# What the table counts, and where the README says it, once each.
CLAIMS = [
    (re.compile(r"^(\d+) operators in all", re.MULTILINE), re.compile(r"\d+(?= operators of the\s+\[table\])")),
    (re.compile(r"^(\d+) operators with kernels", re.MULTILINE), re.compile(r"\d+(?= operators\s+with kernels)")),
    (re.compile(r"kernels, (\d+) of them with gradients", re.MULTILINE), re.compile(r"\d+(?= of them\s+with gradients)")),
]


def main(arguments):
    if not arguments or len(arguments) > 2 or arguments[1:] not in ([], ["--check"]):
        print("expected: paste_operators.py PROGRAM [--check]", file=sys.stderr)
        return 2
    table = subprocess.run([arguments[0]], capture_output=True, text=True, check=True).stdout
    readme = README.read_text()
    for count, claim in CLAIMS:
        readme, claims = claim.subn(count.search(table).group(1), readme)
        if claims != 1:
            print(f"{README.name} says {claims} times what the table counts ({claim.pattern}), expected once", file=sys.stderr)
            return 1
    if len(arguments) == 1:
        PAGE.write_text(table)
        README.write_text(readme)
        return 0
    differing = [path.name for path, text in ((PAGE, table), (README, readme))
                 if not path.exists() or path.read_text() != text]
    for name in differing:
        print(f"{name} is not what the rules print; run tools/paste_operators.py {arguments[0]}", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
