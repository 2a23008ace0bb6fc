#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/explanation/pipeline-schedules.md and docs/pictures/pipeline/*.svg from what hp sched prints, or with --check
compares.

    tools/paste_pipeline_pictures.py build/release/bin/hp [--check]
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "pipeline-schedules.md"
PICTURES = ROOT / "docs" / "pictures" / "pipeline"
RANKS, MICRO_BATCHES, WIDTH = 4, 8, 128
# Schedules that take any number of chunks are drawn with one, those of interleaved stages with two.
INTERLEAVED = re.compile("Interleaved|Looped")

HEAD = f"""# Pictures of pipeline schedules

Printed by `tools/paste_pipeline_pictures.py`; do not edit. Each [published schedule](../reference/pipeline.md#schedules) on {RANKS} ranks with
{MICRO_BATCHES} micro-batches. F, I (the gradient of the input) and W (that of the weights) of a stage take one unit of time each and B two; a
hop between ranks takes none. With two chunks on each rank a stage is half as much of the model, in time and in activations:
compare shares of the makespan, and two chunks with one. Two bubbles are given, that of the makespan and that of the longest
rank. Activations are counted in chunks of one micro-batch, each held until its W or B.

A line of a text is a rank, from left to right in time. An action begins with its letter and its micro-batch and is as wide
as its time. Drawings have a colour for each micro-batch, and below the lanes what each rank holds.
"""


def run(program, arguments):
    return subprocess.run([program, "sched", *arguments], capture_output=True, text=True, check=True).stdout


def made(program):
    """Path to text, of the page and of all pictures."""
    files, rows, sections = {}, [], []
    with tempfile.TemporaryDirectory() as folder:
        for schedule in json.loads(run(program, ["list", "--json"]))["schedules"]:
            name = schedule["name"]
            chunks = schedule["chunks"] or (2 if INTERLEAVED.match(name) else 1)
            command = ["draw", name, "--ranks", str(RANKS), "--micro-batches", str(MICRO_BATCHES), "--chunks", str(chunks),
                       "--width", str(WIDTH)]
            text = run(program, command)
            drawing = Path(folder) / f"{name}.svg"
            run(program, [*command, "--svg", str(drawing)])
            picture = PICTURES / f"{name.lower()}.svg"
            files[picture] = drawing.read_text()
            makespan, bubble, of_span, peak = re.search(
                r"^makespan (\d+), bubble (.*), of the longest rank (.*); at most (\d+) ", text, re.MULTILINE).groups()
            rows.append(f"| [{name}](#{re.sub(r'[^a-z0-9-]', '', name.lower())}) | {chunks} | {makespan} | {bubble} | {of_span} | "
                        f"{peak} |")
            sections.append(f"## {name}\n\n```text\n$ hp sched {' '.join(command)}\n{text}```\n\n"
                            f"![{name}, drawn](../pictures/pipeline/{picture.name})\n")
    table = ("| schedule | chunks | makespan | bubble | of the longest rank | most activations on a rank |\n"
             "|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n")
    files[PAGE] = "\n".join([HEAD, table, *sections])
    return files


def main(arguments):
    if not arguments or len(arguments) > 2 or arguments[1:] not in ([], ["--check"]):
        print("expected: paste_pipeline_pictures.py PROGRAM [--check]", file=sys.stderr)
        return 2
    files = made(arguments[0])
    stale = [path for path in PICTURES.glob("*.svg") if path not in files]
    if len(arguments) == 1:
        PICTURES.mkdir(parents=True, exist_ok=True)
        for path in stale:
            path.unlink()
        for path, text in files.items():
            path.write_text(text)
        return 0
    differing = stale + [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    for path in differing:
        print(f"{path.name} is not what hp sched draws; run tools/paste_pipeline_pictures.py {arguments[0]}", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
