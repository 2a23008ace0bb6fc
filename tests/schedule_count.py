#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README, the table of schedules, their pictures and hp sched list have the same published schedules.

    schedule_count.py HP
"""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBERS = dict(enumerate("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split(), 10))


def names_in(page, pattern):
    return re.findall(pattern, (ROOT / page).read_text(), re.MULTILINE)


listed = json.loads(subprocess.run([sys.argv[1], "sched", "list", "--json"], capture_output=True, check=True).stdout)
names = [s["name"] for s in listed["schedules"]]
table = names_in("docs/reference/pipeline.md", r"^\| `\w+(?:<n>)?` \| ([\w-]+)[^|]*\| (?:in a loop|there and back|both ways)")
pictures = names_in("docs/explanation/pipeline-schedules.md", r"^## ([\w-]+)$")
for what, found in {"the table": table, "the page of pictures": pictures}.items():
    if sorted(found) != sorted(names):
        sys.exit(f"{what} and hp sched list differ in {sorted(set(found) ^ set(names))}")
count = NUMBERS[len(names)]
for page, text in {"README.md": rf"\b{count} published\s+\[pipeline schedules\]", "docs/reference/pipeline.md": rf"the {count} that `hp sched list` names"}.items():
    if not names_in(page, text):
        sys.exit(f"{page} does not speak of {count} schedules")
