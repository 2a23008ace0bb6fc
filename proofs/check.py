#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proofs, and holds the C++ against the rule that is proved.

  check.py theorems        coqc accepts each file; no file has an unfinished proof or an axiom; each theorem of the
                           list below is printed as closed under the global context
  check.py compare         the rules and the exact checker, extracted as a program, give the verdicts of the C++ on 20 000
                           plans and 120 tables of programs; with HYPERPARALLEL_EXHAUSTIVE on 400 000 and 2 000
  check.py broken NAME     the comparison notices a C++ rule with one change: `--list` names them
  check.py --list          the changed rules

Works in build/proofs. `compare` and `broken` need `theorems` first. Needs coqc, ocamlfind ocamlopt and g++.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE, BUILD = ROOT / "proofs", ROOT / "build" / "proofs"
# What is compared: program, plans or tables, and so many with HYPERPARALLEL_EXHAUSTIVE.
COMPARED = {"plans": (20_000, 400_000), "tables": (120, 2_000)}
# So many are looked through for one that a changed rule judges otherwise.
FOR_BROKEN = {"plans": 100_000, "tables": 1_000}

# The files in the order of their imports, with the theorems that have to be closed.
THEOREMS = {
    "model": ["follows_by_threshold", "completion"],
    "exact": ["follows_exact", "completion_exact", "check_exactly_exact"],
    "verify": ["verify_sound"],
    "addresses": ["check_slots_exact", "verify_sound_in_memory", "check_exactly_exact_in_memory", "verify_sound_in_bytes"],
    "messages": ["no_deadlock", "runs_end"],
    "plan_messages": ["order_extends_needs", "needs_exact", "verified_plans_do_not_deadlock", "runs_by_messages_are_runs",
                      "verified_plans_order_conflicts"],
    "generations": ["shared_runs_are_runs", "wrap_law_sound", "verify_wrap_sound"],
    "program_proof": ["prove_program_sound", "reads_find_their_places", "homes_are_whole", "waits_are_words"],
}
# What a proof that is not one would be written with.
UNFINISHED = re.compile(r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Abort|bypass_check|"
                        r"Unset\s+(?:Guard|Universe|Positivity)\s+Checking)\b")
COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)

# Name: header in its folder, text, what stands in its place, and what the comparison says of it.
CPP, MODEL = "C++ alone accepts", "the model alone accepts"
BROKEN = {
    "covered-is-never-cleared": (
        "taskflow/verify_groups.hpp", "    state &= ~covered;\n", "", CPP),
    "a-reader-ends-the-way-back": (
        "taskflow/verify_pairs.hpp", "if (wrote && v.begin <= u.begin", "if (v.begin <= u.begin", CPP),
    "partial-threshold-over-several-queues": (
        "taskflow/verify_order.hpp", "if (f.wait[w].threshold < count[e] && x.signal_queue[e] < 0)", "if (false)", CPP),
    "readers-before-are-ignored": (
        "taskflow/verify_groups.hpp", "grouped = after(has_before_readers, x.before_readers[slot]) && after(", "grouped = after(", CPP),
    "witnesses-are-looked-for-less-far": (
        "taskflow/verify_pairs.hpp", "witness_depth = 3;", "witness_depth = 2;", MODEL),
    "sorted-slots-may-overlap": (
        "taskflow/flow_check.hpp", "s.offset < last.offset + last.bytes)", "s.offset < last.offset)", CPP),
    "writers-pass-readers": (
        "lowering/program_proof.hpp", "behind = behind && is_behind(memory_.use(n));", "behind = true;", CPP),
}


def fail(text):
    sys.exit(f"check.py: {text}")


def run(*command):
    done = subprocess.run([str(c) for c in command], cwd=BUILD, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(done.stdout)
        fail(f"{command[0]} failed")
    return done.stdout


def coqc(path):
    shutil.copy(path, BUILD / path.name)
    return run("coqc", "-q", "-Q", ".", "hyperparallel", path.name)


def check_text(path):
    text = COMMENT.sub("", path.read_text())
    for found in UNFINISHED.finditer(text):
        fail(f"{path.name} says {found.group(0)}")
    return text


def theorems():
    BUILD.mkdir(parents=True, exist_ok=True)
    for old in BUILD.glob("*.vo"):
        old.unlink()
    written = {path.stem for path in SOURCE.glob("*.v")}
    if written != set(THEOREMS):
        fail(f"the files {sorted(written)} are not those of the list, {sorted(THEOREMS)}")
    for name, closed in THEOREMS.items():
        text = check_text(SOURCE / f"{name}.v")
        asked = re.findall(r"^Print Assumptions (\w+)\.", text, re.MULTILINE)
        if asked != closed:
            fail(f"{name}.v asks for the assumptions of {asked}, not of {closed}")
        for theorem in closed:
            if not re.search(rf"^(?:Theorem|Lemma) {theorem}\b", text, re.MULTILINE):
                fail(f"{name}.v has no theorem {theorem}")
        answers = coqc(SOURCE / f"{name}.v")
        if answers.count("Closed under the global context") != len(closed) or "Axioms:" in answers:
            print(answers)
            fail(f"a theorem of {name}.v rests on assumptions")
        for theorem in closed:
            print(f"{name}.v: {theorem} is closed under the global context")


def build_compare():
    """Unless it is there and newer than all that it is made of."""
    theories = [BUILD / f"{theory}.vo" for theory in THEOREMS]
    if not all(theory.exists() for theory in theories):
        fail("`theorems` comes first")
    program, sources = BUILD / "compare", [SOURCE / "compare" / "extract.v", SOURCE / "compare" / "compare.ml"]
    if program.exists() and all(program.stat().st_mtime > made_of.stat().st_mtime for made_of in theories + sources):
        return
    coqc(sources[0])
    shutil.copy(sources[1], BUILD)
    run("ocamlfind", "ocamlopt", "-w", "-a", "checker.mli", "checker.ml", "compare.ml", "-o", "compare")


def build(program, kind, *include):
    folders = [f"-I{folder}" for folder in (*include, ROOT / "include", ROOT / "tests")]
    run("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", *folders, SOURCE / "compare" / f"{kind}.cpp", "-o", program)


def compare(program, count, *arguments):
    """Exit status and text of the comparison of so many plans or tables."""
    with subprocess.Popen([BUILD / program, str(count)], stdout=subprocess.PIPE) as writer:
        done = subprocess.run([BUILD / "compare", *arguments], stdin=writer.stdout, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        writer.stdout.close()
    if writer.returncode != 0 and arguments[0] != "--difference":  # it may have been stopped at a difference
        fail(f"{program} could not be written")
    return done.returncode, done.stdout


def compare_all():
    build_compare()
    differ = False
    for kind, (few, many) in COMPARED.items():
        build(kind, kind)
        count = many if os.environ.get("HYPERPARALLEL_EXHAUSTIVE") else few
        status, text = compare(kind, count, str(count))
        print(text)
        differ = differ or status != 0
    if differ:
        fail("the C++ and the rules that are proved differ")


def broken(name):
    header, text, instead, expected = BROKEN[name]
    kind = "tables" if header.startswith("lowering/") else "plans"
    build_compare()
    folder = BUILD / "broken" / name
    copy = folder / "hyperparallel" / header
    copy.parent.mkdir(parents=True, exist_ok=True)
    source = (ROOT / "include" / "hyperparallel" / header).read_text()
    if source.count(text) != 1:
        fail(f"{header} has {source.count(text)} places with: {text.strip()}")
    copy.write_text(source.replace(text, instead))
    build(f"{kind}-{name}", kind, folder)
    status, said = compare(f"{kind}-{name}", FOR_BROKEN[kind], "--difference")
    print(said)
    if status != 0 or not said.startswith(expected):
        fail(f"the comparison does not notice: {name}")


def main():
    arguments = sys.argv[1:]
    if arguments == ["theorems"]:
        theorems()
    elif arguments == ["compare"]:
        compare_all()
    elif len(arguments) == 2 and arguments[0] == "broken" and arguments[1] in BROKEN:
        broken(arguments[1])
    elif arguments == ["--list"]:
        print("\n".join(BROKEN))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
