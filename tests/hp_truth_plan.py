#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hp truth says of a row what hp plan --fix says of its plan and stack: time, bound and memory, to the last digit.

    hp_truth_plan.py HP ROWS CONFIG ID …

The rows are of the model of CONFIG on 8 H100 with 16 sequences of 4096 tokens; their plan is what hp truth names as `fix`.
"""
import json
import subprocess
import sys


def document(*command):
    """What a command prints; a plan that does not fit is an answer."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    hp, rows, config, *ids = sys.argv[1:]
    said = {row["id"]: row for row in document(hp, "truth", "--rows", "--json", rows)["row_list"]}
    for one in ids:
        row = said[one]
        stack = "megatron" if "stack=megatron" in row["open"] else "fsdp2"
        plan = document(hp, "plan", config, "--devices", "8", "--hardware", "h100", "--fix", row["fix"], "--batch", "16",
                        "--sequence", "4096", "--stack", stack, "--json")
        if row["class"] == "C":
            pairs = [(row["predicted"], plan["memory"]["reserved_bytes"])]
        else:
            pairs = [(row["predicted"], plan["step"]["seconds"]), (row["bound"], plan["step"]["lower_bound_seconds"])]
        for ours, theirs in pairs:
            if ours != theirs:
                sys.exit(f"{one}: {ours}, of hp plan {theirs}")


main()
