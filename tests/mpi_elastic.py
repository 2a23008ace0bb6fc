#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi_elastic.py ELASTIC PROGRAM: kills a process of a training at random moments.

Laws: survivors say which process is lost, and all end; the training goes on over one process less within 30 seconds, from a whole set; its
last loss is that of simulated ranks that go on from the same set under the same strategy, bit for bit. Two kills by default, 40 with
HYPERPARALLEL_EXHAUSTIVE in the environment.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

elastic, program = sys.argv[1:3]
seed = random.randrange(10**6)
rng = random.Random(seed)
STEPS = 12
slowest = 0.0


def fail(why, output):
    sys.exit(f"seed {seed}: {why}\n{output}")


for trial in range(40 if os.environ.get("HYPERPARALLEL_EXHAUSTIVE") else 2):
    with tempfile.TemporaryDirectory() as home:
        processes = rng.choice([2, 3, 4])
        lost, step, moment = rng.randrange(processes), rng.randint(2, STEPS), rng.randrange(3000)
        arguments = [f"{home}/runs", str(STEPS), "--keep", "100"]
        lose = ["--lose", f"{lost}/{processes}", str(step), str(moment)]
        job = subprocess.Popen(["bash", elastic, "-n", str(processes), program, *arguments, *lose], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lines, last, gap = [], time.monotonic(), 0.0
        for line in job.stdout:
            if line.startswith(("step", "from")):
                gap, last = max(gap, time.monotonic() - last), time.monotonic()
            lines.append(line)
        output = "".join(lines)
        name = f"process {lost} of {processes} in step {step} after {moment} us"
        if job.wait() != 0 or "done\n" not in output:
            fail(f"{name}: ended with {job.returncode}", output)
        if f"going on over {processes - 1}" not in output:
            # The process outlived the training.
            if step < STEPS:
                fail(f"{name}: nothing was lost", output)
            continue
        blamed = re.findall(r"process (\d+): .*no answer from rank (\d+) within", output)
        # MPICH's launcher ends the job before anybody speaks.
        is_mpich = "mpich" in os.environ.get("MPIEXEC", "") or "EXIT STRING" in output or "process manager" in output
        if not (blamed or is_mpich) or any(int(who) == lost or int(whom) != lost for who, whom in blamed):
            fail(f"{name}: {blamed} blame another one", output)
        if gap > 30:
            fail(f"{name}: {gap:.1f} seconds between two steps", output)
        slowest = max(slowest, gap)
        begun = [int(n) for n in re.findall(r"from step (\d+) on", output)]
        kept = f"{home}/runs/step_{begun[-1]:012d}"
        if begun[-1] > 0:
            shutil.copytree(kept, f"{home}/same/step_{begun[-1]:012d}")
        alone = subprocess.run([program, f"{home}/same", str(STEPS), "--threads", str(processes - 1)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        losses = [re.findall(rf"step {STEPS}: loss (\S+)", text)[-1:] for text in (output, alone.stdout)]
        if not losses[0] or losses[0] != losses[1]:
            fail(f"{name}: the last loss is {losses[0]}, of simulated ranks {losses[1]}", output + alone.stdout)
print(f"every loss is that of a run that was not interrupted; {slowest:.1f} seconds at most between steps")
