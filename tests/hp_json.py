#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hp SUBCOMMAND --json prints one JSON document, with these figures.

    hp_json.py STATUS PATH=JSON … -- PROGRAM ARGUMENT …

PATH names members of objects and places in arrays, as in anchors.0.ours; without "=JSON" it only has to be there. STATUS
is the exit status; where it is 0, nothing is on the error stream.
"""
import json
import subprocess
import sys


def member(document, path):
    for name in path.split("."):
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document


def main():
    split = sys.argv.index("--")
    status, expected, command = int(sys.argv[1]), sys.argv[2:split], sys.argv[split + 1:]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"ended with {done.returncode}, not {status}\n{done.stderr}")
    if status == 0 and done.stderr:
        sys.exit(f"said on the error stream: {done.stderr}")
    document = json.loads(done.stdout)
    for one in expected:
        path, equals, value = one.partition("=")
        try:
            found = member(document, path)
        except (KeyError, IndexError, ValueError):
            sys.exit(f"no {path} in\n{done.stdout[:4000]}")
        if equals and found != json.loads(value):
            sys.exit(f"{path} is {json.dumps(found)}, not {value}")


main()
