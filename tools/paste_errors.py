#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps docs/troubleshooting/ true: pastes what each compiler really prints for each case of tests/compile_fail.

  paste_errors.py            rewrite the blocks
  paste_errors.py --check    change nothing, exit 1 if a block differs or a case has none
  paste_errors.py --blocks   the same without a compiler: whether each case has its blocks, and no block is empty

A block stands between the lines
  <!-- output: FOLDER/CASE COMPILER -->     COMPILER is g++-12, clang++-16 or clang++-19
  <!-- end -->
and blocks of a compiler that this machine lacks are left alone, by name. Paths are relative to the repository.

What is pasted: the stack of #includes is left out. Of what remains, a block shows at most LINES lines: errors are
chosen first, then lines that begin with the case's own source, then the others as they come. They stand in the order
they are printed, and each gap reads `[3 lines left out]`.

What is compared: the lines that are pasted, without positions inside the library's headers and without the numbers that
g++ gives to `auto` parameters: an edit above a line changes no message.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "troubleshooting"
CASES = ROOT / "tests" / "compile_fail"
FLAGS = ["-fmessage-length=0", "-fsyntax-only", "-DNEGATIVE", "-Iinclude"]
STYLE = {"g++": ["-fdiagnostics-color=never", "-fno-diagnostics-show-caret"],
         "clang++": ["-fno-color-diagnostics", "-fno-caret-diagnostics"]}
# The last one takes a message of the library's own in static_assert, so it prints the sentences.
DIALECTS = {"g++-12": "c++20", "clang++-16": "c++20", "clang++-19": "c++2c"}
COMPILERS = list(DIALECTS)
LINES = 6
INCLUDE_STACK = re.compile(r"In file included from .*|\s+from \S+:\d+[,:]")
CLANG_COUNT = re.compile(r"\d+ errors? generated\.")
BLOCK = re.compile(r"<!-- output: (\S+) (\S+) -->\n(.*?)<!-- end -->", re.DOTALL)


def output_of(compiler, case):
    source = f"tests/compile_fail/{case}.cpp"
    command = [compiler, f"-std={DIALECTS[compiler]}", *FLAGS, *STYLE[compiler.rsplit("-", 1)[0]], source]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if result.returncode == 0:
        raise SystemExit(f"{compiler} accepts {source} with -DNEGATIVE")
    lines = result.stderr.replace(f"{ROOT}/", "").splitlines()
    return "\n".join(
        shortened([line for line in lines if not INCLUDE_STACK.fullmatch(line) and not CLANG_COUNT.fullmatch(line)], source))


def shortened(lines, source):
    """At most LINES of them, and a line for each gap. The most telling come first: errors, then the user's own lines."""
    def rank(number):
        line = lines[number]
        return (0 if ": error: " in line else 1 if line.startswith(f"{source}:") else 2, number)

    shown, left_out = [], 0
    kept = set(sorted(range(len(lines)), key=rank)[:LINES])
    for number in range(len(lines) + 1):
        if number < len(lines) and number not in kept:
            left_out += 1
            continue
        if left_out > 0:
            shown.append(f"[{left_out} line{'s' if left_out > 1 else ''} left out]")
            left_out = 0
        shown += lines[number : number + 1]
    return shown


def comparable(block):
    block = re.sub(r"(include/hyperparallel/[\w/]+\.hpp):\d+(:\d+)?", r"\1", block)
    return re.sub(r"auto:\d+", "auto", block)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 on a difference")
    parser.add_argument("--blocks", action="store_true", help="compile nothing, exit 1 if a case lacks a block")
    arguments = parser.parse_args()
    check = arguments.check or arguments.blocks

    present = [] if arguments.blocks else [compiler for compiler in COMPILERS if shutil.which(compiler)]
    for compiler in COMPILERS:
        if compiler not in present and not arguments.blocks:
            print(f"skipped: {compiler} is not on this machine")
    cases = {str(path.relative_to(CASES).with_suffix("")) for path in CASES.glob("*/*.cpp")}
    pages = {path: path.read_text() for path in sorted(PAGES.glob("*.md"))}
    shown = [(case, compiler) for text in pages.values() for case, compiler, _ in BLOCK.findall(text)
             if case in cases and compiler in present]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        printed = dict(zip(shown, pool.map(lambda block: output_of(block[1], block[0]), shown)))
    seen, problems = set(), []

    def paste(match):
        case, compiler, old = match.groups()
        seen.add((case, compiler))
        if case not in cases or compiler not in COMPILERS:
            problems.append(f"a page shows {case} {compiler}, which does not exist")
            return match.group(0)
        if arguments.blocks and not re.search(r": (fatal )?error: ", old):
            problems.append(f"the block of {case} {compiler} shows no error")
        if compiler not in present:
            return match.group(0)
        new = f"```text\n{printed[case, compiler]}\n```\n"
        if comparable(new) != comparable(old):
            if check:
                problems.append(f"{case} {compiler}: the page shows\n{old}and the compiler prints\n{new}")
            return f"<!-- output: {case} {compiler} -->\n{new}<!-- end -->"
        return match.group(0)

    updated = {path: BLOCK.sub(paste, text) for path, text in pages.items()}
    for case in sorted(cases):
        for compiler in COMPILERS:
            if (case, compiler) not in seen:
                problems.append(f"no page has a block <!-- output: {case} {compiler} -->")
    for path, text in updated.items():
        if not check and text != pages[path]:
            path.write_text(text)
            print(f"rewrote {path.relative_to(ROOT)}")
    for problem in problems:
        print(problem)
    print(f"{len(seen)} blocks, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
