#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the architecture that no compiler checks; prints each violation and exits 1 if there is one.

  direction   a header includes only from its own folder and from lower layers: LAYERS names every folder there is, so one
              that it does not name (as program/ and runtime/ were) is refused
  weight      layers 0-4 include nothing but <cstddef>, <cstdint>, <type_traits> and the lists of Boost.MP11; fmt only in
              io/ and report/, threads and atomics only in THREAD_FOLDERS, all else of Boost from layer 5 up
  shape       license line, then #pragma once; at most 400 lines (250 and more are listed, not refused)
  exact       headers of kernels fix the bits of their arithmetic: their code stands between HYPERPARALLEL_EXACT_BEGIN and
              HYPERPARALLEL_EXACT_END, which no #include does
  edg         layers 0-4 and pipeline/ keep to what nvcc and nvc++ parse: no references of a named type among static members
              of templates, no braces with designators behind =, __builtin_*_overflow only where a twin stands beside it
  traits      outside operators/ nothing compares the kind of an operator with one of the library's: an operator of a user has
              traits (operator_value.hpp), and no name that a pass knows
  mirror      include/hyperparallel/<folder>/<name>.hpp has tests/<folder>/<name>_test.cpp, and the other way round; likewise
              tools/hp/<folder>/<name>.hpp for the FOLDERS_OF_HP
  bodies      <name>.ipp belongs to <name>.hpp, which includes it where the bodies are not in the library;
              one unit of src/ has them there
  version     headers, bodies and units of src/ open the inline namespace of the release that version.hpp names
  public      a name that no page, example, tool or bench says is in detail (public_names.py)
  options     every option of the build is in docs/reference/cmake.md
  finished    no marks of unfinished work, no paths of one machine
"""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import public_names  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include" / "hyperparallel"
HP = ROOT / "tools" / "hp"

LAYERS = {
    "support": 0,
    "mesh": 1, "hardware": 1,
    "layout": 2, "taskflow": 2,
    "redistribution": 3,
    "operators": 4,
    "graph": 5,
    "layers": 6, "strategy": 6, "kernels": 6,
    "groups": 7, "mpmd": 7, "offload": 7, "pipeline": 7, "tiles": 7,
    "lowering": 8, "exec": 8,
    "price": 9, "transfer": 9,
    "step": 10, "search": 10, "tiers": 10,
    "planner": 11, "world": 11,
    "check": 12, "controller": 12, "dtensor": 12,
    "io": 13, "mpi": 13, "report": 13,
    "checkpoint": 14, "interop": 14,
}
# Front headers that are not named after a folder: they may include everything up to this layer.
FRONTS = {"shard": 4, "model": 6, "program": 11, "train": 11, "train_pipeline": 11, "runtime": 12, "distributed_forms": 12, "hana": 12,
          "hyperparallel": 12}
HIGHEST_CORE_LAYER = 4

CORE_INCLUDES = {"HyperParallel_needs_C++20", "cstddef", "cstdint", "type_traits", "boost/mp11/algorithm.hpp", "boost/mp11/list.hpp"}
THREAD_INCLUDES = {"thread", "mutex", "shared_mutex", "atomic", "condition_variable", "semaphore", "latch", "barrier",
                   "future", "stop_token"}
THREAD_FOLDERS = {"exec", "transfer", "tiers", "world", "controller", "dtensor", "mpi", "checkpoint"}
MOST_LINES, MANY_LINES = 400, 250

# Headers without a test file of their own, with the reason.
WITHOUT_TEST = {
    "support/lazy_reference.hpp": "a macro; compile_fail.twins name classes whose constants refuse, cuda.compile reads it with EDG",
    "support/compiled.hpp": "macros of compiled mode; the consumer of two units and every test against the library use them",
    "report/page_pictures.hpp": "a script that page.hpp writes; the suite pages of scripts/test draws it in a browser",
    "report/page_script.hpp": "likewise",
    "report/page_style.hpp": "a style that page.hpp writes",
    "world/program_error.hpp": "a type alone",
    "world/corruption_checks.hpp": "options and an error; task_checks_test provokes it in every way",
    "world/program_options.hpp": "options alone; program_world_test tries them",
    "exec/run_options.hpp": "options alone; executor_test tries them",
    "support/version.hpp": "numbers only; the consumer projects assert on them",
    "support/refusal_words_of_graphs.hpp": "a part of the table that refusal_words_test reads",
    "support/refusal_words_of_groups.hpp": "a part of the table that refusal_words_test reads",
    "support/refusal_words_of_pipelines.hpp": "a part of the table that refusal_words_test reads",
    "support/refusal_words_of_steps.hpp": "a part of the table that refusal_words_test reads",
    "support/dialect.hpp": "tests/compile_fail.cmake compiles a front header as C++17",
    "support/diagnostic.hpp": "declares what a refusal prints; every case of tests/compile_fail is its test",
    "mpi/main.hpp": "is the frame of tests/mpi/failing_program.cpp, whose ends tests/mpi.cmake tells",
    "planner/plan_searcher.hpp": "the state of plan_search.hpp; plan_search_test holds its laws",
    "groups/program_graph.hpp": "values and their lookup; check_programs_test builds and breaks them in each way",
    "groups/program_status.hpp": "codes and their names; check_programs_test provokes each",
    "graph/graph_status.hpp": "codes and their names; what refuses a graph is tested where it does",
    "graph/build_options.hpp": "options alone; model_builder_test tries them",
    "graph/check_optimizer.hpp": "what optimizer.hpp refuses; optimizer_test tries each",
    "io/dense_families.hpp": "a part of the table that model_families_test reads",
    "lowering/image_types.hpp": "the arrays of image.hpp; image_test fills and reads them",
    "planner/plan_answer.hpp": "what plan_search.hpp answers; plan_search_test reads it",
    "price/period_part.hpp": "a part of what folded_period_test folds",
    "price/row_memory.hpp": "walks rows of action_memory.hpp; action_memory_test holds its laws",
    "redistribution/candidate_loads.hpp": "what fastest_moves.hpp knows of a move; fastest_moves_test holds its laws",
    "redistribution/pattern_maker.hpp": "makes what pull_pattern_test compares with transfers",
    "lowering/class_plan.hpp": "moves plans of lower_program.hpp to every rank; lower_program_test compares them",
    "lowering/planned_parts.hpp": "what offloaded_program.hpp is asked and answers; offloaded_program_test reads it",
    "lowering/row_uses.hpp": "the rows of program_proof.hpp; program_proof_test breaks tables in each way",
    "lowering/schedule_check.hpp": "what unrolled_rows.hpp refuses; unrolled_rows_test tries each code",
    "lowering/task_waits.hpp": "the waits of lower_program.hpp; lower_program_test and program_proof.hpp hold them",
    "offload/clock_state.hpp": "the state of offload_clock.hpp",
    "offload/gap_cover.hpp": "the covers of offload_greedy.hpp; offload_greedy_test holds their laws",
    "report/svg_canvas.hpp": "what pictures_svg.hpp draws with; pictures_svg_test reads the drawings",
    "search/block_variants.hpp": "the variants of segment_costs.hpp; segment_costs_test compares them with programs",
    "step/step_options.hpp": "options alone; training_step_test tries them",
    "step/step_verdict.hpp": "which error line refusal.hpp has; refusal_test and every case of tests/compile_fail/step read them",
    "strategy/operator_writer.hpp": "the operators of partition.hpp; partition_test walks them",
    "pipeline/special_actions.hpp": "actions that replay.hpp leaves to it; replay_test and transport_test hold them",
    "search/group_result.hpp": "what group_search.hpp answers; group_search_test reads it",
    "search/frame_bounds.hpp": "bounds of strategy_search.hpp; strategy_search_test compares it with every plan",
    "pipeline/why_stopped.hpp": "what replay.hpp says of a schedule that does not end; replay_test breaks schedules in each way",
    "pipeline/pipeline_refusal.hpp": "declares what a refused pipeline prints; tests/compile_fail/pipeline holds each",
    "pipeline/replay_state.hpp": "the arrays of replay.hpp",
    "pipeline/transfer_step.hpp": "one step of replay.hpp; transport_test holds it against every interleaving",
    "pipeline/account.hpp": "what replay.hpp returns; replay_test reads it all",
    "controller/edge_plan.hpp": "what tensor_edge carries out; tensor_edge_test holds its laws on every pair of layouts",
    "controller/firing.hpp": "a handle and an error; controller_test reads them",
    "reshard/named_input.hpp": "what options name; reshard_test and tests/hp_reshard.py name all of it",
    "reshard/rank_folders.hpp": "tests/hp_reshard.py reads folders under each name, reshard_test those that are refused",
    "reshard/map_instances.hpp": "a part of target_view.hpp; reshard_test holds it against a naive converter",
    "reshard/journal.hpp": "a part of run.hpp; reshard_test stops runs that go on by it, tests/hp_reshard.py kills them",
    "checkpoint/tensor_slices.hpp": "sliced_source_test damages its lists, run_checkpoints_test reads those of runs",
    "checkpoint/run_slices.hpp": "run_checkpoints_test holds what is written under each strategy against whole values",
    "checkpoint/load_run.hpp": "run_checkpoints_test loads under each strategy and damages what is read",
    "checkpoint/run_place.hpp": "mpi/run_checkpoints_test keeps and loads over processes",
    "reshard/set_view.hpp": "what source_view.hpp and target_view.hpp return; reshard_test holds both against a naive converter",
    "reshard/source_view.hpp": "half of a plan; reshard_test holds plans against a naive converter",
    "reshard/target_view.hpp": "the other half; likewise",
    "reshard/plan.hpp": "reshard_test holds plans against a naive converter, coverage_proof_test their proof",
    "reshard/work.hpp": "how a run is cut; reshard_test runs under random caps",
    "reshard/run.hpp": "reshard_test runs plans under random caps and stops them, tests/hp_reshard.py kills them",
    "reshard/source_files.hpp": "a part of run.hpp; reshard_test damages what it reads",
    "reshard/target_files.hpp": "a part of run.hpp; every test of it reads the checksums that it writes",
    "checkpoint/set_file.hpp": "a type; tensor_set_test reads files",
    "reshard/library.hpp": "names alone",
    "taskflow/verify_order.hpp": "the first pass of verify.hpp; verify_test breaks plans in both passes",
}
# Folders whose headers have no test files of their own, with the reason.
FOLDERS_WITHOUT_TEST = {
    "pipeline/schedules": "schedule_list_test holds each against its laws, for many shapes",
    "operators/ops": "operator_list_test holds their texts, check_operator_test their rules and gradients against kernels",
}
# Test files that mirror no header, with the reason.
WITHOUT_HEADER = {
    "world/step_budget_problem_test.cpp": "one unit with step_budget_test.cpp costs g++ three times what two cost",
    "world/step_budget_types_test.cpp": "the same budgets for two more element types: each step of a type costs g++ ten seconds",
    "launch/megatron_lines_test.cpp": "reads whole launch lines of public models, over reader, shell and writer",
    "groups/program_mutants_test.cpp": "breaks programs beside each other in each way, judged by every order of play",
    "groups/published_programs_test.cpp": "holds periods of programs against steps that verl prints",
    "offload/host_swap_test.cpp": "holds the laws of a baseline that hp tables prints",
    "step/supernode_figures_test.cpp": "holds relations of the figures of supernodes that hp tables prints",
    "layers/all_layers_test.cpp": "holds what every layer of the front header has in common",
    "step/tiled_step_test.cpp": "holds steps with the option tiled against steps without",
    "world/tiled_training_test.cpp": "holds whole steps in tiles against steps without",
    "reshard/converted_runs_test.cpp": "trains a model, converts what is kept, and holds logits before and after",
    "reshard/damaged_sets_test.cpp": "damages whole checkpoints of every kind, over all of reshard/, checkpoint/ and io/",
    "reshard/kept_runs_test.cpp": "converts what checkpoint/run_checkpoints.hpp keeps under each strategy",
    "mpi/run_checkpoints_test.cpp": "holds checkpoint/run_checkpoints.hpp over processes against threads",
    "mpi/padded_shards_test.cpp": "holds ZeRO over numbers that divide nothing against threads, over processes",
    "world/padded_shards_test.cpp": "holds ZeRO over numbers that divide nothing against one device",
    "world/padded_world_test.cpp": "holds a step's type with such shards against the plan that is made at the start",
    "strategy/example_models_test.cpp": "builds the models of examples/models/",
    "strategy/strategy_volumes_test.cpp": "holds what programs under each strategy move against the closed forms",
    "strategy/zero_memory_test.cpp": "holds what programs under the stages of ZeRO keep against the closed forms",
    "kernels/ops/gradient_check_test.cpp": "holds gradients of several operators together against finite differences",
    "world/mixed_precision_test.cpp": "trains in 16-bit storage, over all of graph/, strategy/ and world/",
    "world/model_families_test.cpp": "trains models that are no language models, over all of graph/, strategy/ and world/",
    "world/offloaded_training_test.cpp": "trains under budgets of memory, over all of offload/, lowering/ and world/",
    "world/linked_moves_test.cpp": "holds bytes of a run by link level against the account of the same program",
    "world/same_bits_test.cpp": "holds distributed tensors against models, for every operator of the list",
    "world/plan_run_test.cpp": "runs plans of decoders under their strategies, over planner/ and world/",
    "lowering/offloaded_pipeline_test.cpp": "holds offloaded_program.hpp of several parts against its laws and proofs",
    "world/pipeline_parity_test.cpp": "holds every schedule against one device, over strategy/, lowering/ and world/",
    "mpi/pipeline_test.cpp": "holds pipelines over processes against threads",
    "world/submodel_parity_test.cpp": "holds modules on groups of ranks against one device, over groups/, lowering/ and world/",
    "world/training_parity_test.cpp": "holds every named strategy against one device, over all of graph/, strategy/ and world/",
    **{f"world/world_strategies_{i}_test.cpp": "holds worlds of steps under named strategies against runs that plan at "
                                               "start; world_strategies.hpp says which" for i in range(1, 10)},
    "mpi/program_checks_test.cpp": "holds world/corruption_checks.hpp over processes: flipped bits in tasks, blocks and messages",
    "mpi/program_bits_test.cpp": "holds training over processes against threads, bit for bit, with late messages",
    "mpi/program_traffic_test.cpp": "holds bytes that processes post by link level against the account of the program",
    "mpi/world_strategies_test.cpp": "holds worlds of steps against the same programs over processes",
    "world/moe_layer_test.cpp": "holds a model of one MoE layer against the layer's formula, over layers/, tiles/ and world/",
}
# Folders whose headers fix the bits of their arithmetic, and their headers that have none.
EXACT_FOLDERS = {"kernels", "kernels/ops"}
WITHOUT_ARITHMETIC = {
    "kernels/box_of_call.hpp",
    "kernels/element_type.hpp",
    "kernels/exact.hpp",
    "kernels/gemm.hpp",
    "kernels/keyed_random.hpp",
    "kernels/operator_call.hpp",
    "kernels/operator_kernels.hpp",
    "kernels/ops/builtin_kernels.hpp",
    "kernels/steady_time.hpp",
    "kernels/streaming_copy.hpp",
    "kernels/widened_kernel.hpp",
}
# Folders of hp with tests of their own, which a library of each is built for (tools/hp/CMakeLists.txt).
FOLDERS_OF_HP = ("launch", "reshard")
# Folders of tests that mirror no folder of headers.
FREE_TEST_FOLDERS = {"properties"}

LICENSE = "SPDX-License-Identifier: Apache-2.0"
# Written in pieces so that this file does not find itself.
UNFINISHED = re.compile("|".join([r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bX" + r"XX\b", r"\bHA" + r"CK\b",
                                  r"\bfor " + r"now\b", r"\bplace" + r"holder", r"\bst" + r"ubs?\b"]), re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:ho" + r"me|wo" + r"rk|ro" + r"ot|tm" + r"p)/")
INCLUDE = re.compile(r"^\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", re.MULTILINE)
SOURCE_SUFFIXES = {".hpp", ".ipp", ".cpp", ".h", ".c", ".py", ".cmake", ".sh"}
TEXT_SUFFIXES = SOURCE_SUFFIXES | {".md", ".json", ".txt", ".in", ".yml"}


def project_files():
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if not path.is_file() or parts[0] in (".git", "build") or parts[:2] == ("tests", "vectors"):
            continue
        if path.suffix in TEXT_SUFFIXES or parts[0] in ("scripts", ".ci"):
            yield path


def is_source(path):
    return path.suffix in SOURCE_SUFFIXES or path.name == "CMakeLists.txt" or path.parent.name in ("scripts", ".ci")


def folder_and_layer(header):
    """The folder a path below include/hyperparallel belongs to (None for a front header) and its layer."""
    parts = Path(header).parts
    if len(parts) == 1:
        stem = Path(header).stem
        return None, FRONTS.get(stem, LAYERS.get(stem))
    return parts[0], LAYERS.get(parts[0])


def check_includes(header, text, say):
    folder, layer = folder_and_layer(header)
    if layer is None:
        say("belongs to no layer: LAYERS and FRONTS of tools/check_architecture.py name them all")
        return
    for bracket, name in INCLUDE.findall(text):
        if bracket == '"':
            say(f'#include "{name}": includes are written <hyperparallel/...>')
        elif name.startswith("hyperparallel/"):
            included = name[len("hyperparallel/"):]
            if not (HEADERS / included).is_file():
                say(f"includes <{name}>, which does not exist")
                continue
            other, other_layer = folder_and_layer(included)
            own = folder is not None and other == folder
            reachable = other_layer is not None and (other_layer <= layer if folder is None else other_layer < layer)
            if not own and not reachable:
                say(f"layer {layer} includes <{name}> of layer {other_layer}")
        elif layer <= HIGHEST_CORE_LAYER:
            if name not in CORE_INCLUDES:
                say(f"includes <{name}>; layers 0-4 include only {', '.join(sorted(CORE_INCLUDES))}")
        elif name.startswith("fmt/") and folder not in ("io", "report"):
            say(f"includes <{name}>; fmt is for io/ and report/")
        elif name in THREAD_INCLUDES and folder not in THREAD_FOLDERS:
            say(f"includes <{name}>; threads and atomics are for {', '.join(sorted(THREAD_FOLDERS))}")


def check_exact(header, text, say):
    if str(Path(header).parent) not in EXACT_FOLDERS or header in WITHOUT_ARITHMETIC:
        return
    before, begin, code = text.partition("\nHYPERPARALLEL_EXACT_BEGIN\n")
    code, end, after = code.partition("\nHYPERPARALLEL_EXACT_END\n")
    if not begin or not end or "namespace" in before or after.strip():
        say("its code does not stand between HYPERPARALLEL_EXACT_BEGIN and HYPERPARALLEL_EXACT_END")
    elif INCLUDE.search(code):
        say("includes a header behind HYPERPARALLEL_EXACT_BEGIN")


EDG_FORMS = (
    (re.compile(r"static constexpr const (?!auto\b)[\w:<> ]+& \w+ ="), "a reference among static members: write HYPERPARALLEL_LAZY_REFERENCE(type)"),
    (re.compile(r"^\s*[\w.\[\]]+ = \{\.", re.MULTILINE), "braces with designators behind =: name the type"),
)
WITH_EDG_TWIN = {"support/integer.hpp", "hardware/cost.hpp"}


def check_edg(header, text, say):
    folder, layer = folder_and_layer(header)
    if folder is None or (layer > HIGHEST_CORE_LAYER and folder != "pipeline"):
        return
    for form, why in EDG_FORMS:
        for found in form.finditer(text):
            say(f"line {text[:found.start()].count(chr(10)) + 1}: {why}, for nvcc")
    if re.search(r"__builtin_\w+_overflow", text) and header not in WITH_EDG_TWIN:
        say("__builtin_*_overflow is no constant of nvcc: call multiply_overflows or add_overflows")


COMPARED_KIND = re.compile(r"[=!]=\s*(?:\w+::)*id_of<\s*(?:\w+::)*ops::|id_of<\s*(?:\w+::)*ops::\w+\s*>\s*[=!]=|case\s+(?:\w+::)*id_of<")


def check_traits(path, text, say):
    if path.is_relative_to(HEADERS / "operators"):
        return
    for found in COMPARED_KIND.finditer(text):
        say(f"line {text[:found.start()].count(chr(10)) + 1}: compares with the name of an operator: read a trait of operator_value.hpp")


def check_header(path, say, note):
    header = str(path.relative_to(HEADERS))
    text = path.read_text()
    lines = text.splitlines()
    if len(lines) < 2 or lines[1].strip() != "#pragma once":
        say("the second line is not #pragma once")
    if len(lines) > MOST_LINES:
        say(f"{len(lines)} lines, at most {MOST_LINES}")
    elif len(lines) >= MANY_LINES:
        note(f"{len(lines)} lines")
    check_includes(header, text, say)
    check_exact(header, text, say)
    check_edg(header, text, say)

    folder, _ = folder_and_layer(header)
    # Front headers hold includes only; the self-containment units compile them.
    if folder is None:
        first = INCLUDE.search(text)
        if first is None or first.group(2) != "hyperparallel/support/dialect.hpp":
            say("a front header includes <hyperparallel/support/dialect.hpp> first: a compiler without C++20 is told so in one line")
        return
    if path.name != "fwd.hpp":
        check_mirror(header, say)


def check_mirror(header, say):
    folder, stem = str(Path(header).parent), Path(header).stem
    test = Path("tests") / folder / f"{stem}_test.cpp"
    if (ROOT / test).is_file():
        if header in WITHOUT_TEST:
            say(f"has {test}, yet is listed as a header without test")
    elif header not in WITHOUT_TEST and folder not in FOLDERS_WITHOUT_TEST:
        say(f"has no {test}")


def check_bodies(path, say):
    header = path.with_suffix(".hpp")
    own = f"#include <hyperparallel/{path.relative_to(HEADERS)}>"
    check_includes(str(path.relative_to(HEADERS)), path.read_text(), say)
    if not header.is_file():
        say(f"belongs to no {header.name}")
    elif own not in header.read_text():
        say(f"is not included by {header.name}")
    units = sum(own in unit.read_text() for unit in (ROOT / "src").glob("*.cpp"))
    if units == 0:
        say("is included by no unit of src/: the compiled library does not have its bodies")
    if units > 1 and re.search("HYPERPARALLEL_(JSON_)?BODY", path.read_text()):
        say("is included by several units of src/: the compiled library has its bodies twice")


def version_namespace():
    text = (HEADERS / "support" / "version.hpp").read_text()
    numbers = [re.search(rf"HYPERPARALLEL_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR")]
    return "v" + "_".join(numbers)


def check_version(text, say):
    expected = f"namespace hyperparallel {{ inline namespace {version_namespace()} {{"
    for line in text.splitlines():
        if line.startswith("namespace hyperparallel") and not line.startswith(expected):
            say(f"'{line}', expected '{expected}' first")


def check_options(text, say):
    page = (ROOT / "docs" / "reference" / "cmake.md").read_text()
    for option in re.findall(r"option\((HYPERPARALLEL_\w+)|set\((HYPERPARALLEL_\w+)[^)]*\bCACHE\b", text):
        name = option[0] or option[1]
        if f"`{name}`" not in page:
            say(f"{name} is not in docs/reference/cmake.md")


def check_test(path, say):
    relative = path.relative_to(ROOT / "tests")
    if len(relative.parts) < 2 or relative.parts[0] in FREE_TEST_FOLDERS or str(relative) in WITHOUT_HEADER:
        return
    header = relative.parent / (path.stem[: -len("_test")] + ".hpp")
    headers = HP if relative.parts[0] in FOLDERS_OF_HP else HEADERS
    if not (headers / header).is_file():
        say(f"mirrors no header ({(headers / header).relative_to(ROOT)})")


def check_text(path, say):
    text = path.read_text()
    if is_source(path) and LICENSE not in "\n".join(text.splitlines()[:2]):
        say(f"the first line is not the license line ({LICENSE})")
    for number, line in enumerate(text.splitlines(), 1):
        if mark := UNFINISHED.search(line):
            say(f"line {number}: mark of unfinished work: {mark.group(0)}")
        if not line.startswith("#!") and (mark := MACHINE_PATH.search(line)):
            say(f"line {number}: path of one machine: {mark.group(0)}")


def main():
    violations, notes = [], []
    for path in project_files():
        name = path.relative_to(ROOT)

        def say(what, name=name):
            violations.append(f"{name}: {what}")

        def note(what, name=name):
            notes.append(f"{name}: {what}")

        check_text(path, say)
        if path.suffix == ".cmake" or path.name == "CMakeLists.txt":
            check_options(path.read_text(), say)
        if path.is_relative_to(HEADERS) or path.is_relative_to(ROOT / "src"):
            check_version(path.read_text(), say)
            check_traits(path, path.read_text(), say)
        if path.suffix == ".hpp" and path.is_relative_to(HEADERS):
            check_header(path, say, note)
        if path.suffix == ".hpp" and path.is_relative_to(HP) and path.relative_to(HP).parts[0] in FOLDERS_OF_HP:
            check_mirror(str(path.relative_to(HP)), say)
        if path.suffix == ".ipp":
            check_bodies(path, say)
        if path.name.endswith("_test.cpp"):
            check_test(path, say)
    for header, what in public_names.violations():
        violations.append(f"include/hyperparallel/{header}: {what}")
    for line in notes:
        print(f"note: {line}")
    for line in violations:
        print(line)
    print(f"{len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
