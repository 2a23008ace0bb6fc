#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/operator-table.md from the output of the operator_table program, or with --check compares.

    tools/paste_operators.py build/release/bin/operator_table [--check]
"""
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "operator-table.md"


def main(arguments):
    if not arguments or len(arguments) > 2 or arguments[1:] not in ([], ["--check"]):
        print("expected: paste_operators.py PROGRAM [--check]", file=sys.stderr)
        return 2
    table = subprocess.run([arguments[0]], capture_output=True, text=True, check=True).stdout
    if len(arguments) == 1:
        PAGE.write_text(table)
        return 0
    if PAGE.exists() and PAGE.read_text() == table:
        return 0
    print(f"{PAGE.name} is not what the rules print; run tools/paste_operators.py {arguments[0]}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
