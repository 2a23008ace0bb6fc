#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `hp check` says of launch lines whose runs are reported in public: that they ran out of memory, or that they ran.

    hp_reports.py HP TESTS

TESTS/launch/reports.jsonl has a report a line: where it stands, "oom" or "fits", the bytes it gives if any, and config.json,
devices and launch file of TESTS. "fits" and "tight" agree with a run that ran, "does not fit" with one that did not; a line that is
not legal or cannot be read agrees with nothing. Reports were chosen before their verdicts were known; none is left out for its
verdict. Fails where fewer agree than LEAST_AGREE.
"""
import json
import subprocess
import sys
from pathlib import Path

LEAST_AGREE = 11  # of 14
MEANINGS = {"fits": "fits", "tight": "fits", "does not fit": "oom"}


def verdict_of(hp, tests, report):
    """The verdict, and bytes that a device needs; of a line that has none, why."""
    command = [hp, "check", tests / report["model"], "--devices", str(report["devices"]), "--hardware", report["hardware"],
               "--from", tests / report["launch"], "--json"]
    if "memory" in report:
        command += ["--memory", report["memory"]]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 1):
        return done.stderr.strip().splitlines()[-1], None
    answer = json.loads(done.stdout)
    return (answer["verdict"], answer["needed_bytes"]) if answer["legal"] else ("not legal: " + answer["why"], None)


def gib(count):
    return "" if count is None else f"{count / 2**30:.1f}"


def main():
    hp, tests = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    reports = [json.loads(line) for line in (tests / "launch/reports.jsonl").read_text().splitlines()]
    agree = 0
    print(f"{'report':24}{'reported':>9}{'GiB':>7}  {'needed':>7}  hp check")
    for report in reports:
        verdict, needed = verdict_of(hp, tests, report)
        same = MEANINGS.get(verdict) == report["reported"]
        agree += same
        print(f"{report['id']:24}{report['reported']:>9}{gib(report.get('peak_bytes')):>7}  {gib(needed):>7}  {verdict}"
              f"{'' if same else ', which disagrees'}")
    print(f"{agree} of {len(reports)} agree")
    if agree < LEAST_AGREE:
        sys.exit(f"at least {LEAST_AGREE} did")


main()
