#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compile-time benches: what the compiler pays per layout, plan, task, operator and include, beside its ceiling.

Each row of ceilings.json is the cost of one translation unit of units.py, mostly net of a base unit, with the compiler's
options that the row names: those of a user who optimises, of compiled mode. Costs are user plus
system time of the compiler and its children, so a busy machine disturbs them little. All units run in turn, round after
round, and medians count. Ceilings scale by the cost of the calibration unit, measured in the same rounds; rows of unit
"regex" are multiples of what <regex> costs in these rounds, and so are their ceilings.

Exit status: 0 when all rows that bind hold (with --quick: when all units compile), 1 otherwise, 2 for a wrong call.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the bench leaves no files in the tree
import units  # noqa: E402

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"
LIMITS = {
    "g++": ["-fconstexpr-ops-limit=4294967296", "-fconstexpr-loop-limit=16777216"],
    "clang++": ["-fconstexpr-steps=2147483647", "-fbracket-depth=1024"],
}
DEFAULT_COMPILERS = ["g++", "clang++-19"]
CALIBRATION = ("calibration", 0, ())
EMPTY = ("empty", 0, ())
REGEX = ("standard_include", "regex", ("-O2",))


class CompileError(Exception):
    pass


def brand_of(compiler):
    """The key of limits and ceilings: which compiler this is, whatever its file is called."""
    text = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    return "clang++" if "clang" in text else "g++"


def compile_once(compiler, brand, source, options=()):
    """Milliseconds of CPU and peak MiB of one compilation, children included."""
    command = [compiler, "-std=c++20", *LIMITS[brand], *options, "-I", str(INCLUDE), "-c", "-o", os.devnull, str(source)]
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(command, stdout=messages, stderr=messages)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            messages.seek(0)
            lines = messages.read().decode(errors="replace").splitlines()
            raise CompileError("\n".join([f"{compiler} does not compile {source.name}:", *lines[:12]]))
    return (used.ru_utime + used.ru_stime) * 1e3, used.ru_maxrss / 1024


def unit_of(row, key):
    """A unit as the table of costs knows it: family, items, options."""
    return (*row[key], tuple(row.get("options", ())))


def units_of(row):
    return [unit_of(row, key) for key in ("of", "less") if key in row]


def measure(compiler, brand, rows, runs, folder):
    """Medians (milliseconds, MiB) of every unit that the rows need, from interleaved runs."""
    yardsticks = [EMPTY, CALIBRATION] + [REGEX] * any(row["unit"] == "regex" for row in rows.values())
    needed = dict.fromkeys([*yardsticks, *(unit for row in rows.values() for unit in units_of(row))])
    samples = {unit: [] for unit in needed}
    sources = {}
    for family, items, options in needed:
        source = folder / f"{family}_{items}.cpp".replace("/", "_")
        source.write_text(units.FAMILIES[family](items))
        sources[family, items, options] = source
    for _ in range(runs):
        for unit in needed:
            samples[unit].append(compile_once(compiler, brand, sources[unit], unit[2]))
    return {unit: tuple(statistics.median(column) for column in zip(*found)) for unit, found in samples.items()}


def judge(name, row, brand, cost, scale):
    """One line of the table as a dictionary; absent figures are None."""
    time, memory = cost[unit_of(row, "of")]
    less_time, less_memory = cost[unit_of(row, "less")] if "less" in row else (0.0, 0.0)
    items = row.get("items", 1)
    is_multiple = row["unit"] == "regex"
    one = cost[REGEX][0] - cost[EMPTY][0] if is_multiple else {"us": 1e-3, "ms": 1}[row["unit"]]
    measured = (time - less_time) / items / one
    kib = (memory - less_memory) * 1024 / items
    line = {"row": name, "text": row["text"], "unit": row["unit"], "measured": measured, "binds": row.get("binds", False)}
    line["in_calibrations"] = (time - less_time) / items / cost["net calibration"]
    line["ceiling"] = row["ceiling"][brand] * (1 if is_multiple else scale) if brand in row.get("ceiling", {}) else None
    line["ratio"] = measured / line["ceiling"] if line["ceiling"] else None
    per_item = "kib" in row
    line["memory"] = kib if per_item else memory
    line["memory_unit"] = "KiB" if per_item else "MiB"
    bound = row.get("kib" if per_item else "mib")
    line["memory_ceiling"] = bound[brand] if bound else None
    line["holds"] = None
    if line["ratio"] is not None:
        line["holds"] = line["ratio"] <= 1 and (bound is None or line["memory"] <= bound[brand])
    return line


def print_table(compiler, calibration, scale, lines):
    print(f"{compiler}: calibration unit {calibration:.0f} ms, {scale:.2f} times the reference")
    print(f"  {'item':44} {'measured':>12} {'ceiling':>12} {'ratio':>6} {'memory':>11} {'ceiling':>11}  holds")
    for line in lines:
        measured = f"{line['measured']:.1f} {line['unit']}"
        ceiling = f"{line['ceiling']:.1f} {line['unit']}" if line["ceiling"] else "-"
        ratio = f"{line['ratio']:.2f}" if line["ratio"] is not None else "-"
        memory = f"{line['memory']:.1f} {line['memory_unit']}"
        bound = f"{line['memory_ceiling']} {line['memory_unit']}" if line["memory_ceiling"] else "-"
        holds = {None: "-", True: "yes", False: "NO"}[line["holds"]]
        mark = " (binds)" if line["binds"] else ""
        print(f"  {line['text']:44} {measured:>12} {ceiling:>12} {ratio:>6} {memory:>11} {bound:>11}  {holds}{mark}")


def smaller(row):
    """The row at a twentieth of its items, for a look that judges nothing."""
    def shrink(unit):
        return [unit[0], max(1, unit[1] // 20)] if isinstance(unit[1], int) and unit[1] > 10 else unit

    quick = dict(row, of=shrink(row["of"]))
    if "less" in row:
        quick["less"] = shrink(row["less"])
    return quick


def print_costs(options, rows):
    """One compilation of every unit: what it took, and nothing that would have to be derived from it."""
    with tempfile.TemporaryDirectory(prefix="compile-bench-") as scratch:
        for compiler in options.compiler:
            try:
                cost = measure(compiler, brand_of(compiler), rows, 1, Path(scratch))
            except CompileError as failure:
                print(f"error: {failure}", file=sys.stderr)
                return 1
            print(f"{compiler}: one compilation of each unit, headers included")
            for (family, items, flags), (time, memory) in cost.items():
                print(f"  {' '.join([family, str(items), *flags]):60} {time:9.0f} ms {memory:8.0f} MiB")
    return 0


def parse(arguments, rows):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", action="append", metavar="NAME", help="a compiler to measure; may be repeated")
    parser.add_argument("--row", action="append", metavar="ROW", help="one row; may be repeated. Rows: " + ", ".join(rows))
    parser.add_argument("--runs", type=int, default=5, help="rounds over all units, at least 5 (default: 5)")
    parser.add_argument("--quick", action="store_true", help="one round, few items: prints what each unit took, judges nothing")
    parser.add_argument("--json", metavar="FILE", help="write all figures to FILE")
    options = parser.parse_args(arguments)
    for name in options.row or []:
        if name not in rows:
            parser.error(f"no row '{name}'; rows are: {', '.join(rows)}")
    for name in options.compiler or []:
        if shutil.which(name) is None:
            parser.error(f"no compiler '{name}' on this machine")
    if options.runs < 5 and not options.quick:
        parser.error(f"--runs {options.runs}: medians need at least 5 rounds")
    if options.quick and options.json:
        parser.error("--quick judges nothing, so it has no figures for --json")
    options.compiler = options.compiler or [name for name in DEFAULT_COMPILERS if shutil.which(name)]
    if not options.compiler:
        parser.error("none of the default compilers is on this machine: " + ", ".join(DEFAULT_COMPILERS))
    if options.json and not Path(options.json).resolve().parent.is_dir():
        parser.error(f"no folder for '{options.json}'")
    return options


def main(arguments):
    book = json.loads((HERE / "ceilings.json").read_text())
    options = parse(arguments, book["rows"])
    rows = {name: row for name, row in book["rows"].items() if not options.row or name in options.row}
    if options.quick:
        rows = {name: smaller(row) for name, row in rows.items()}
        return print_costs(options, rows)
    result = {}
    with tempfile.TemporaryDirectory(prefix="compile-bench-") as scratch:
        for compiler in options.compiler:
            brand = brand_of(compiler)
            try:
                cost = measure(compiler, brand, rows, options.runs, Path(scratch))
            except CompileError as failure:
                print(f"error: {failure}", file=sys.stderr)
                return 1
            calibration = cost[CALIBRATION][0] - cost[EMPTY][0]
            cost["net calibration"] = calibration
            scale = calibration / book["calibration"]["milliseconds"][brand]
            lines = [judge(name, row, brand, cost, scale) for name, row in rows.items()]
            print_table(compiler, calibration, scale, lines)
            result[compiler] = {"calibration_ms": calibration, "scale": scale, "rows": lines}
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2) + "\n")
    broken = [(c, line["text"]) for c, r in result.items() for line in r["rows"] if line["binds"] and line["holds"] is False]
    for compiler, text in broken:
        print(f"{compiler}: does not hold: {text}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
