#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the hp explain commands of docs/how-to/explain-a-redistribution.md and writes what they print below them, or with
--check compares.

    tools/paste_explanations.py build/release/bin/hp [--check]

A block of the page begins with "$ hp explain" and the arguments; a command that ends in a backslash goes on in the next
line. The rest of the block is the output, the error stream included.
"""
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "explain-a-redistribution.md"
BLOCK = re.compile(r"^```text\n(\$ hp explain(?:[^\n]*\\\n)*[^\n]*\n)(.*?)^```", re.DOTALL | re.MULTILINE)


def main(arguments):
    if not arguments or len(arguments) > 2 or arguments[1:] not in ([], ["--check"]):
        print("expected: paste_explanations.py PROGRAM [--check]", file=sys.stderr)
        return 2
    blocks = 0

    def run(match):
        nonlocal blocks
        blocks += 1
        words = shlex.split(match.group(1)[2:].replace("\\\n", " "))
        ran = subprocess.run([arguments[0], *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return f"```text\n{match.group(1)}{ran.stdout}```"

    page = PAGE.read_text()
    pasted = BLOCK.sub(run, page)
    if blocks == 0:
        print(f"{PAGE.name} has no command", file=sys.stderr)
        return 1
    if len(arguments) == 1:
        PAGE.write_text(pasted)
        return 0
    if pasted == page:
        return 0
    print(f"{PAGE.name} is not what hp explain prints; run tools/paste_explanations.py {arguments[0]}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
