# SPDX-License-Identifier: Apache-2.0
"""Translation units of the compile-time benches: one function per family, from a number of items to C++ text.

Law: a family at the items of a row and at the items of its base differ only in what the row counts, so the difference
of their costs is the cost of the items. Units are deterministic: the same arguments give the same text.
"""

import itertools
import random
import re

NAMESPACE = "namespace hp = hyperparallel;\n"

FOUR_AXES = [("dp", 2), ("cp", 2), ("ep", 4), ("tp", 4)]
SIX_AXES = [("dp", 2), ("pp", 2), ("cp", 2), ("sp", 2), ("ep", 2), ("tp", 2)]
UNEVEN_AXES = [("a", 8), ("b", 9), ("c", 7)]  # 504 ranks; cuts by 8 and by 9 have no common refinement


def calibration(_):
    """The unit that ceilings scale by: 100 000 iterations over raw arrays in one evaluation."""
    return """constexpr long run() {
  long a[100] = {};
  long s = 0;
  for (int k = 0; k < 1000; ++k)
    for (int i = 0; i < 100; ++i) {
      a[i] += k;
      s += a[i];
    }
  return s;
}
constexpr long result = run();
"""


def empty(_):
    return "\n"


def include(header):
    return f"#include <hyperparallel/{header}>\n"


def mesh(name, axes):
    listed = ", ".join(f'hp::axis{{"{axis}", {size}}}' for axis, size in axes)
    return f"struct {name} : hp::device_matrix<{listed}> {{}};\n"


def all_maps(axes, dims):
    """Every tensor map: each axis on no dim or on one, and every order of the axes of a dim."""
    names = [name for name, _ in axes]
    for used in range(len(names) + 1):
        for order in itertools.permutations(names, used):
            for bounds in itertools.combinations_with_replacement(range(used + 1), dims - 1):
                ends = [0, *bounds, used]
                yield tuple(order[ends[d] : ends[d + 1]] for d in range(dims))


def some_maps(axes, dims, count):
    """`count` different maps, the same ones in every run."""
    maps = list(dict.fromkeys(all_maps(axes, dims)))
    random.Random(7).shuffle(maps)
    if count > len(maps):
        raise ValueError(f"{count} layouts asked for, {len(maps)} exist")
    return maps[:count]


def spell(entry):
    if not entry:
        return "hp::none"
    if len(entry) == 1:
        return f'"{entry[0]}"'
    return "hp::axes(" + ", ".join(f'"{name}"' for name in entry) + ")"


def spell_layout(tensor_map):
    return "hp::layout<mesh, " + ", ".join(spell(entry) for entry in tensor_map) + ">"


def layouts(count):
    """`count` different layouts of one tensor on four axes, each resolved, checked against the shape and sliced."""
    text = include("shard.hpp") + NAMESPACE + mesh("mesh", FOUR_AXES) + "using tensor = hp::tensor<hp::bf16, 128, 4096, 7168>;\n"
    for tensor_map in some_maps(FOUR_AXES, 3, count):
        text += f"static_assert(hp::local_shape_of<{spell_layout(tensor_map)}, tensor>.rank == 3);\n"
    return text


def plans(axes, count):
    """`count` different moves among 25 layouts; with 0 the layouts alone."""
    text = include("shard.hpp") + NAMESPACE + mesh("mesh", axes) + "using tensor = hp::tensor<hp::bf16, 128, 4096, 7168>;\n"
    maps = some_maps(axes, 3, 25)
    for i, tensor_map in enumerate(maps):
        text += f"using l{i} = {spell_layout(tensor_map)};\nstatic_assert(l{i}::value.rank == 3 && tensor::elements > 0);\n"
    pairs = [(i, j) for i in range(len(maps)) for j in range(len(maps)) if i != j]
    random.Random(7).shuffle(pairs)
    if count > len(pairs):
        raise ValueError(f"{count} plans asked for, {len(pairs)} exist")
    for n, (i, j) in enumerate(pairs[:count]):
        text += (
            f"using m{n} = hp::redistribution<l{i}, l{j}, tensor>;\nstatic_assert(m{n}::bytes_received == m{n}::lower_bound);\n"
        )
    return text


def plans_on_four_axes(count):
    return plans(FOUR_AXES, count)


def plans_on_six_axes(count):
    return plans(SIX_AXES, count)


def interval_certificates(count):
    """Moves between layouts whose cut points do not divide each other, on 504 ranks: figures by enumeration."""
    text = include("shard.hpp") + NAMESPACE + mesh("mesh", UNEVEN_AXES)
    text += 'using x = hp::layout<mesh, "a", "c">;\nusing y = hp::layout<mesh, "b", "c">;\n'
    text += "static_assert(x::value.rank == 2 && y::value.rank == 2);\n"
    for n in range(count):
        text += f"using t{n} = hp::tensor<hp::bf16, {504 * (n + 1)}, 7168>;\nusing m{n} = hp::redistribution<x, y, t{n}>;\n"
        text += f"static_assert(!m{n}::plan.refined && m{n}::bytes_received == m{n}::lower_bound);\n"
    return text


def operators(layers):
    """A transformer of 15 operators a layer: layout, shape and validity of each result, in one evaluation."""
    text = include("layout.hpp") + include("operators.hpp") + NAMESPACE
    return text + """
struct mesh : hp::device_matrix<hp::axis{"dp", 4}, hp::axis{"tp", 4}> {};
using namespace hp;

constexpr factor_rule normalize = rule_from("normalize", "bsH->bsH", {}).rule;
constexpr factor_rule project = rule_from("project", "bsh,had->bsad", contraction).rule;
constexpr factor_rule scores = rule_from("scores", "bsad,bkad->bask", contraction).rule;
constexpr factor_rule softmax = rule_from("softmax", "basK->basK", {}).rule;
constexpr factor_rule context = rule_from("context", "bask,bkad->bsad", contraction).rule;
constexpr factor_rule join_heads = rule_from("join_heads", "bsad,adh->bsh", contraction).rule;
constexpr factor_rule expand = rule_from("expand", "bsh,hf->bsf", contraction).rule;
constexpr factor_rule multiply = rule_from("multiply", "bsf,bsf->bsf", {}).rule;
constexpr factor_rule contract = rule_from("contract", "bsf,fh->bsh", contraction).rule;
constexpr factor_rule add = ops::add<3>::rule;

struct placed {
  layout_value layout;
  hyperparallel::shape shape;
};

struct derivation {
  int derived = 0, refused = 0;

  constexpr placed apply(const factor_rule& rule, const placed& a) {
    const layout_value* const layouts[1] = {&a.layout};
    const shape shapes[1] = {a.shape};
    return join(propagate(rule, layouts, 1), result_shape(rule, shapes, 1));
  }
  constexpr placed apply(const factor_rule& rule, const placed& a, const placed& b) {
    const layout_value* const layouts[2] = {&a.layout, &b.layout};
    const shape shapes[2] = {a.shape, b.shape};
    return join(propagate(rule, layouts, 2), result_shape(rule, shapes, 2));
  }
  constexpr placed join(const propagation_result& p, const result_shape_result& s) {
    ++derived;
    if (p.status.code != propagation_code::ok || s.status.code != extents_code::ok ||
        check_shape(p.layout, s.shape).code != layout_code::ok)
      ++refused;
    return {p.layout, s.shape};
  }
};

constexpr placed reduced(placed p) {
  for (int a = 0; a < p.layout.mesh.axis_count; ++a) p.layout.partial[a] = reduce_op::none;
  return p;
}

constexpr derivation run(int layers) {
  derivation d;
  placed x{layout<mesh, "dp", none, none>::value, shape{8, 4096, 7168}};
  const placed wa{layout<mesh, none, "tp", none>::value, shape{7168, 64, 128}};
  const placed wo{layout<mesh, "tp", none, none>::value, shape{64, 128, 7168}};
  const placed w1{layout<mesh, none, "tp">::value, shape{7168, 2048}};
  const placed w2{layout<mesh, "tp", none>::value, shape{2048, 7168}};
  for (int l = 0; l < layers; ++l) {
    const placed n = d.apply(normalize, x);
    const placed q = d.apply(project, n, wa), k = d.apply(project, n, wa), v = d.apply(project, n, wa);
    const placed p = d.apply(softmax, d.apply(scores, q, k));
    const placed o = d.apply(join_heads, d.apply(context, p, v), wo);
    const placed y = d.apply(add, x, reduced(o));
    const placed m = d.apply(normalize, y);
    const placed g = d.apply(expand, m, w1), u = d.apply(expand, m, w1);
    x = d.apply(add, y, reduced(d.apply(contract, d.apply(multiply, g, u), w2)));
  }
  return d;
}
""" + f"constexpr derivation result = run({layers});\nstatic_assert(result.derived == {15 * layers} && result.refused == 0);\n"


TILES = """
/// dispatch -> 4 x GMM1 -> 2 x SwiGLU -> 2 x GMM2 -> combine for each tile: 10 tasks, 14 edges, ragged durations.
struct moe_tiles {
  int tiles;

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using hp::resource;
    hp::add_event(f, 0, 5 * tiles);
    hp::task_draft dispatch, gate_up, swiglu, down, combine;
    dispatch.task.kind = combine.task.kind = resource::link;
    gate_up.task.kind = down.task.kind = resource::aic;
    swiglu.task.kind = resource::aiv;
    gate_up.task.operation = 1;
    swiglu.task.operation = 2;
    down.task.operation = 3;
    combine.task.operation = 4;
    gate_up.waits = swiglu.waits = down.waits = combine.waits = 1;
    dispatch.signals = gate_up.signals = swiglu.signals = down.signals = 1;
ACCESSES    for (int i = 0; i < tiles; ++i) {
      const int first = 5 * i;  // events: arrived, two halves of gate and up, act, down
      const std::int64_t ragged = i * 7919 % 13 * 1000;
      dispatch.task.duration = combine.task.duration = 5000 + ragged;
      dispatch.task.item = combine.task.item = i;
      dispatch.signal[0] = first;
      DISPATCH
      hp::append(f, dispatch);

      gate_up.task.duration = 300000 + ragged;
      gate_up.wait[0].event = first;
      swiglu.task.duration = 100000 + ragged;
      swiglu.signal[0] = first + 3;
      for (int half = 0; half < 2; ++half) {
        gate_up.task.item = 4 * i + 2 * half;
        gate_up.signal[0] = first + 1 + half;
        GATE_UP
        hp::append(f, gate_up, 2);
      }
      for (int half = 0; half < 2; ++half) {
        swiglu.task.item = 2 * i + half;
        swiglu.wait[0].event = first + 1 + half;
        SWIGLU
        hp::append(f, swiglu);
      }

      down.task.duration = 250000 + ragged;
      down.task.item = 2 * i;
      down.wait[0].event = first + 3;
      down.signal[0] = first + 4;
      DOWN
      hp::append(f, down, 2);

      combine.wait[0].event = first + 4;
      COMBINE
      hp::append(f, combine);
    }
  }
};

constexpr hp::machine_shape machine{1, {24, 48, 1, 0, 0}};
constexpr int queues = hp::queue_count(machine);
"""

# What the tile graph adds where its tasks also name the slots that they use: six slots and 13 stored accesses a tile.
DRAFTED_ACCESSES = """    const auto read = hp::access_mode::read, write = hp::access_mode::write;
    hp::add_slot(f, 0, 0, 0, 8192, 6 * tiles, 8192);
    dispatch.accesses = 1;
    gate_up.accesses = swiglu.accesses = down.accesses = combine.accesses = 2;
    dispatch.access[0] = {0, 0, 4, write};
    gate_up.access[0] = {0, 0, 4, read};
    gate_up.access[1] = {0, 0, 1, write, 1};
    swiglu.access[0] = {0, 0, 2, read};
    down.access[0] = {0, 0, 2, read};
    down.access[1] = {0, 0, 1, write, 1};
    combine.access[0] = {0, 0, 2, read};
    combine.access[1] = {0, 0, 2, write};
"""
SLOTS = {
    "DISPATCH": "dispatch.access[0].slot = 6 * i;",
    "GATE_UP": "gate_up.access[0].slot = 6 * i;\n        gate_up.access[1].slot = 6 * i + 1 + half;",
    "SWIGLU": "swiglu.access[0].slot = 6 * i + 1 + half;\n        swiglu.access[1] = {6 * i + 3, half, half + 1, write};",
    "DOWN": "down.access[0].slot = 6 * i + 3;\n      down.access[1].slot = 6 * i + 4;",
    "COMBINE": "combine.access[0].slot = 6 * i + 4;\n      combine.access[1].slot = 6 * i + 5;",
}


def tile_graph(with_accesses):
    text = TILES.replace("ACCESSES", DRAFTED_ACCESSES if with_accesses else "")
    for place, statements in SLOTS.items():
        text = re.sub(rf"^ +{place}\n", lambda m: m[0].replace(place, statements) if with_accesses else "", text, flags=re.M)
    return text


def planned_tasks(tasks, with_accesses):
    tiles = max(1, tasks // 10)
    text = include("taskflow/builder.hpp") + include("taskflow/list_schedule.hpp") + include("taskflow/verify.hpp")
    text += NAMESPACE + tile_graph(with_accesses)
    text += f"constexpr moe_tiles build{{{tiles}}};\nconstexpr hp::taskflow_size size = hp::measure(build);\n"
    text += "inline constexpr auto flow = hp::build_fixed<size>(build);\ninline constexpr auto schedule = hp::schedule_fixed<queues>(flow, machine);\n"
    return text + f"static_assert(schedule.task_count == {10 * tiles});\n"


def scheduled_tasks(tasks):
    """A tile graph of `tasks` tasks and their events: sized, built, ranked, scheduled."""
    return planned_tasks(tasks, False)


def accessed_tasks(tasks):
    """The same, with the slots that each task uses."""
    return planned_tasks(tasks, True)


def verified_tasks(tasks):
    """The same, proved by the local rule."""
    return accessed_tasks(tasks) + """constexpr hp::verify_status proof = hp::verify(flow, schedule);
static_assert(proof.code == hp::verify_code::ok);
"""


def moe_program(_):
    """The example's layer at full size: layouts, moves, tile taskflow, proof, timeline, bound."""
    text = include("program/moe_program.hpp") + NAMESPACE
    return text + """struct supernode : hp::device_matrix<hp::axis{"ep", 8}> {};
inline constexpr hp::moe_layer deepseek{
    .hidden = 7168, .intermediate = 2048, .experts = 64, .top_k = 8, .tokens = 8 * 4096};
using program = hp::moe_program<deepseek, supernode, hp::matrix384>;
static_assert(program::verified && program::certificate.bound > 0);
"""


FAMILIES = {
    "calibration": calibration,
    "empty": empty,
    "include": include,
    "layouts": layouts,
    "plans_on_four_axes": plans_on_four_axes,
    "plans_on_six_axes": plans_on_six_axes,
    "interval_certificates": interval_certificates,
    "operators": operators,
    "scheduled_tasks": scheduled_tasks,
    "accessed_tasks": accessed_tasks,
    "verified_tasks": verified_tasks,
    "moe_program": moe_program,
}
