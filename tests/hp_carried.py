#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The statically linked hp says what the ordinary one says, on a machine that has nothing.

    hp_carried.py HP STATIC_HP CONFIGS

STATIC_HP is no program that an interpreter loads, and names no library. It runs without any variable of the environment in a
folder that holds the files it is to read and nothing else; of root, that folder and the program are all there is (chroot).
Exit status, both streams and written pages are those of HP, byte for byte but for the seconds of a search.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = ["llama3_8b.json", "own_hardware.json", "deepseek_v3.json"]
# Exit status, arguments; what is written to page.html is compared, too.
RUNS = [
    (0, ["--help"]),
    (0, ["plan", "--help"]),
    (0, ["plan", "llama3_8b.json", "--devices", "16", "--fix", "tp=8,dp=2,zero=1"]),
    (0, ["plan", "llama3_8b.json", "--devices", "16", "--fix", "tp=8,dp=2,zero=1", "--json", "--html", "page.html"]),
    (0, ["plan", "llama3_8b.json", "--devices", "16"]),
    (0, ["plan", "llama3_8b.json", "--devices", "16", "--fix", "tp=8", "--hardware", "own_hardware.json"]),
    (1, ["plan", "deepseek_v3.json", "--devices", "64", "--fix", "ep=64", "--json"]),
    (1, ["plan", "llama3_8b.json", "--devices", "48", "--fix", "tp=3"]),
    (2, ["plan", "missing.json", "--devices", "16"]),
    (2, ["plan", "broken.json", "--devices", "16"]),
    (2, ["plan", "llama3_8b.json", "--devices", "0"]),
    (2, ["plan", "llama3_8b.json", "--devices", "16", "--html", "no/such/folder/page.html"]),
    (0, ["explain", "--mesh", "x=4,y=4", "--from", "x,None", "--to", "None,(y,x)", "--shape", "64x64", "--dtype", "f32"]),
    (0, ["sched", "draw", "ZB-V", "--ranks", "4", "--micro-batches", "8", "--html", "page.html"]),
    (1, ["sched", "check", "stuck.csv"]),
    (0, ["tables"]),
    (2, ["no_such_command"]),
    (2, []),
]
PT_DYNAMIC, PT_INTERP, DT_NEEDED = 2, 3, 1


def check_static(program):
    """ELF of 64 bits, little-endian: what a loader would be asked for."""
    image = Path(program).read_bytes()
    if image[:6] != b"\x7fELF\x02\x01":
        sys.exit(f"{program} is no ELF program of 64 bits")
    table, = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for at in range(table, table + size * count, size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", image, at)
        if kind == PT_INTERP:
            sys.exit(f"{program} needs {image[offset:offset + length].decode()}")
        if kind == PT_DYNAMIC:
            for entry in range(offset, offset + length, 16):
                if struct.unpack_from("<q", image, entry)[0] == DT_NEEDED:
                    sys.exit(f"{program} needs a shared library")


def prepare(folder, configs):
    for name in FILES:
        shutil.copy(configs / name, folder)
    (folder / "broken.json").write_text('{"model_type": "llama", "hidden_size": ')
    (folder / "stuck.csv").write_text("0F0,0B0\n1B0,1F0\n")


def run(command, folder, **how):
    """Exit status, standard output, error stream, page."""
    page = folder / "page.html"
    page.unlink(missing_ok=True)
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, **how)
    streams = [re.sub(rb"\d+\.\d+ s\b", b"_ s", text) for text in (done.stdout, done.stderr)]
    return done.returncode, *streams, page.read_bytes() if page.exists() else b""


def main():
    ordinary, static, configs = (Path(a).resolve() for a in sys.argv[1:])
    check_static(static)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        here, bare = Path(one), Path(other)
        prepare(here, configs)
        prepare(bare, configs)
        shutil.copy(static, bare / "hp")
        how, program = {"env": {}}, bare / "hp"
        if os.geteuid() == 0:
            how["preexec_fn"], program = lambda: os.chroot("."), "/hp"
        for status, arguments in RUNS:
            expected = run([ordinary, *arguments], here)
            found = run([program, *arguments], bare, **how)
            for name, a, b in zip(("exit status", "standard output", "error stream", "page"), expected, found):
                if a != b:
                    sys.exit(f"hp {' '.join(arguments)}: another {name}\n{a[-2000:] if a else a}\n--- carried:\n{b[-2000:] if b else b}")
            if found[0] != status:
                sys.exit(f"hp {' '.join(arguments)}: ended with {found[0]}, not {status}\n{found[2].decode()}")
            if "page.html" in arguments and not found[3]:
                sys.exit(f"hp {' '.join(arguments)}: wrote no page")
        print(f"{len(RUNS)} runs alike{', with nothing but the program and its files' if 'preexec_fn' in how else ''}")


main()
