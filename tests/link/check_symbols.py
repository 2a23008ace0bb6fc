#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_symbols.py NM PLANNED_BY_THE_COMPILER PLANNED_AT_START: a program whose plan is a constant cannot plan.

None of the functions that make a plan is a symbol of the first program; each part of planning has one in the second.
"""

import re
import subprocess
import sys

# The function, or what it is called here and in the compiled library.
PLANNING = {
    "gradients": r"\bdifferentiate|\bappend_optimizer|\btraining_graph",
    "partition": r"\bpartition(er|ed|_here|_in_library)?\b",
    "moves": r"\bkinds_of_moves|\bpulls_of|\bchoose_move|\bplan_move",
    "addresses": r"\bplan_addresses|\bpack_intervals",
    "lowering": r"\bprogram_lowering|\blower_(class|program|training|memory)",
    "proof": r"\bprogram_prover|\bprove_(class|program)|\bcheck_program",
}


def functions_of(nm, program):
    """Lines of symbols, those of the library alone."""
    text = subprocess.run([nm, "-C", program], capture_output=True, text=True, check=True).stdout
    return [line for line in text.splitlines() if "hyperparallel::" in line]


def main(nm, by_the_compiler, at_start):
    constant, planning = functions_of(nm, by_the_compiler), functions_of(nm, at_start)
    complaints = [] if constant else [f"{by_the_compiler} has no symbols of the library"]
    for part, pattern in PLANNING.items():
        found = [line for line in constant if re.search(pattern, line)]
        complaints += [f"{part}: {by_the_compiler} has {line}" for line in found]
        if not any(re.search(pattern, line) for line in planning):
            complaints.append(f"{part}: {at_start} has no symbol of it, so this test would not notice one")
    print("\n".join(complaints) or f"{len(constant)} symbols, none of planning; {len(planning)} in the program that plans")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
