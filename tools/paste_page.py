#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a page of the documentation from the output of the program that prints it, or with --check compares.

    tools/paste_page.py build/release/bin/clock_table docs/reference/plan-clock.md [--check]
"""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments):
    if len(arguments) not in (2, 3) or arguments[2:] not in ([], ["--check"]):
        print("expected: paste_page.py PROGRAM PAGE [--check]", file=sys.stderr)
        return 2
    program, page = arguments[0], ROOT / arguments[1]
    text = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    if len(arguments) == 2:
        page.write_text(text)
        return 0
    if page.exists() and page.read_text() == text:
        return 0
    print(f"{arguments[1]} is not what {Path(program).name} prints; run tools/paste_page.py {program} {arguments[1]}",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
