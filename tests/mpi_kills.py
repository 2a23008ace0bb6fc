#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi_kills.py MPIEXEC PROGRAM: SIGKILL at random moments of a training over processes that keeps a set behind each step.

Of a random process, or of all at once. Law: what has the name of a set is whole, and each byte of each tensor in it is that of a run that
nobody stopped, read by struct and json alone; the next job goes on from there. 4 kills by default, 200 with HYPERPARALLEL_EXHAUSTIVE in
the environment.
"""
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

mpiexec, program = sys.argv[1:3]
seed = random.randrange(10**6)
rng = random.Random(seed)
STEPS = 40


def fail(why, output=""):
    sys.exit(f"seed {seed}: {why}\n{output}")


def tensors_of(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    end = max((t["data_offsets"][1] for t in header.values()), default=0)
    if len(content) != 8 + length + end:
        fail(f"{path} has {len(content)} bytes")
    return {name: (t["dtype"], t["shape"], content[8 + length + t["data_offsets"][0]:8 + length + t["data_offsets"][1]])
            for name, t in header.items()}


def set_of(folder):
    manifest = json.loads((folder / "hyperparallel_set.json").read_text())
    return manifest["tensors"], {f: tensors_of(folder / f) for f in manifest["files"]}


def start(processes, folder):
    return subprocess.Popen(["bash", mpiexec, "-n", str(processes), program, str(folder), str(STEPS), "--every", "1", "--keep", "1000"],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def children_of(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
            is_program = os.path.basename(os.readlink(stat.parent / "exe")) == os.path.basename(program)
        except OSError:
            continue
        name, parent = int(text.split(" ", 1)[0]), int(text.rsplit(")", 1)[1].split()[1])
        if parent == pid:
            found += [name] if is_program else children_of(name)
    return sorted(found)


kills, killed, inside, held = 200 if os.environ.get("HYPERPARALLEL_EXHAUSTIVE") else 4, 0, 0, 0
with tempfile.TemporaryDirectory() as home:
    expected, pace = {}, {}
    for processes in (2, 3):
        folder = Path(home) / f"expected{processes}"
        job, begun = start(processes, folder), time.monotonic()
        output, _ = job.communicate()
        if job.returncode != 0 or "done" not in output:
            fail(f"{processes} processes that nobody stops", output)
        pace[processes] = (time.monotonic() - begun) / STEPS
        expected[processes] = {p.name: set_of(p) for p in folder.glob("step_*")}
        if len(expected[processes]) < STEPS - 1:  # a set that is being written when the next step ends is waited for
            fail(f"{len(expected[processes])} sets of {STEPS} steps")
    folder, processes, newest = Path(home) / "runs", 2, 0
    while killed < kills:
        if newest >= STEPS - 2:
            shutil.rmtree(folder, ignore_errors=True)
            newest, processes = 0, rng.choice([2, 3])
        job = start(processes, folder)
        begun_at = None
        wait_for = rng.randint(1, max(1, min(6, STEPS - newest - 2)))
        for line in job.stdout:
            at = re.match(r"from step (\d+) on", line)
            begun_at = int(at.group(1)) if at else begun_at
            wait_for -= line.startswith("step")
            if wait_for <= 0:
                break
        if begun_at != newest:
            fail(f"it goes on from step {begun_at}, the newest set is {newest}")
        time.sleep(rng.uniform(0, 2 * pace[processes]))
        victims = children_of(job.pid)
        if len(victims) > 1 and rng.random() >= 0.4:
            victims = [rng.choice(victims)]
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        job.stdout.read()
        job.stdout.close()
        job.wait()
        killed += len(victims) > 0
        inside += any(p.name.endswith(".partial") for p in folder.glob(".step_*"))
        sets = sorted(folder.glob("step_*"))
        for one in sets:
            if set_of(one) != expected[processes][one.name]:
                fail(f"{one.name} of {processes} processes is another one than that of a run that nobody stopped")
            held += 1
        # The one that the file names; it is written when a set has its name, so that a job killed between them goes on from the one before.
        steps = [int(p.name[5:]) for p in sets]
        named = int((folder / "newest").read_text()) if (folder / "newest").exists() else 0
        newest = named if named in steps else max(steps, default=0)
        if steps and newest < max(steps) - 1:
            fail(f"the newest set is {newest} of {steps}")
print(f"{killed} kills, {inside} of them within a set; {held} sets held, each whole and right")
if inside < killed // 20:
    fail("too few kills within a set")
