#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reshard.py HP [--gib 4] [--folder /dev/shm] [--rounds 5] [--only NAME] [--sync]: `hp reshard` beside `cp` of the same bytes, alternating, medians.

Each row is a conversion at --max-memory 1GiB; the ratio is cp's time over ours, so more than 1 is faster than cp. Peak resident memory is
that of the process. `read once` is what the process read from files by the kernel's count, over the bytes of the source: 1.00 is each byte
once. `hp reshard` ends when all of it is on the disk; with --sync cp does, too. Timings are printed, never asserted.
"""
import argparse
import json
import os
import shutil
import statistics
import struct
import subprocess
import tempfile
import time
from pathlib import Path


def put_model(path, dtype, width, total):
    """Layers of a decoder of hidden size 4096, as many as fill `total` bytes."""
    shapes = {"self_attn.q_proj": (4096, 4096), "self_attn.k_proj": (1024, 4096), "self_attn.v_proj": (1024, 4096), "self_attn.o_proj": (4096, 4096),
              "mlp.gate_proj": (8192, 4096), "mlp.up_proj": (8192, 4096), "mlp.down_proj": (4096, 8192)}
    header, at, layer = {}, 0, 0
    while at < total:
        for name, (rows, columns) in shapes.items():
            size = rows * columns * width
            header[f"model.layers.{layer}.{name}.weight"] = {"dtype": dtype, "shape": [rows, columns], "data_offsets": [at, at + size]}
            at += size
        layer += 1
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    # Numbers of one magnitude, not one number: conversions have work to do.
    block = b"".join(struct.pack("<f", 1 + (i * 7919 % 100003) / 1e5)[4 - width:] for i in range(1 << 20))
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        left = at
        while left > 0:
            left -= out.write(block[:min(left, len(block))])


def apart(work):
    """In a process of its own: what this one has in memory would be counted as that of those it starts."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit("the model was not written")


def timed(command):
    """Seconds, peak resident bytes, bytes that were read."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    seconds = time.monotonic() - begin
    counts = dict(line.split(": ") for line in Path(f"/proc/{child.pid}/io").read_text().splitlines())
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{command} failed")
    return seconds, usage.ru_maxrss * 1024, int(counts["rchar"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hp")
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sync", action="store_true", help="cp ends when its bytes are on the disk")
    parser.add_argument("--only", action="append", help="a conversion's name; may be given more than once")
    a = parser.parse_args()
    rows = [("BF16", 2, "tp=4", ["--to", "tp=4"]), ("BF16", 2, "tp=2,pp=2", ["--to", "tp=2,pp=2"]),
            ("BF16", 2, "megatron, tp=4", ["--to", "tp=4", "--to-map", "megatron", "--sizes", "query_heads=32,key_heads=8,head_dim=128"]),
            ("F32", 4, "f32 -> bf16", ["--dtype", "bf16"]), ("F32", 4, "f32 -> bf16, tp=4", ["--dtype", "bf16", "--to", "tp=4"]),
            ("F32", 4, "f32 -> f8_e4m3", ["--dtype", "f8_e4m3"])]
    print(f"{'conversion':22} {'bytes':>12} {'cp s':>8} {'hp s':>8} {'ratio':>6} {'peak MiB':>9} {'read once':>9}")
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        source, out, written = Path(folder) / "m.safetensors", Path(folder) / "out", None
        for dtype, width, name, options in rows:
            if a.only and name not in a.only:
                continue
            if written != dtype:
                apart(lambda: put_model(source, dtype, width, int(a.gib * 2**30)))
                size, written = source.stat().st_size, dtype
            ours, theirs, peaks = [], [], []
            for _ in range(a.rounds):
                copy = ["cp", str(source), str(out)]
                theirs.append(timed(["sh", "-c", 'cp "$0" "$1" && sync "$1"', *copy[1:]] if a.sync else copy)[0])
                out.unlink()
                seconds, peak, read = timed([a.hp, "reshard", str(source), str(out), "--max-memory", "1GiB", "--quiet", *options])
                shutil.rmtree(out)
                ours.append(seconds)
                peaks.append(peak)
            cp, hp = statistics.median(theirs), statistics.median(ours)
            print(f"{name:22} {size:12} {cp:8.2f} {hp:8.2f} {cp / hp:6.2f} {max(peaks) / 2**20:9.1f} {read / size:9.4f}", flush=True)


if __name__ == "__main__":
    main()
