# SPDX-License-Identifier: Apache-2.0
"""Translation units of the compile-time benches: one function per family, from a number of items to C++ text.

Law: a family at the items of a row and at the items of its base differ only in what the row counts, so the difference
of their costs is the cost of the items. Units are deterministic: the same arguments give the same text.
"""

import itertools
import random
import re
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
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


def standard_include(header):
    """What the costs of fronts are multiples of: a standard header that everybody has waited for."""
    return f"#include <{header}>\n"


def example(name):
    """A program of examples/, as it is."""
    return f'#include "{EXAMPLES / name}"\n'


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
constexpr factor_rule add = rule_of<ops::sum, 3, 3>;

/// A graph under construction: tensors by number, one operator a call.
template <int Tensors>
struct graph {
  placed_value tensor[Tensors] = {};
  int tensors = 0, refused = 0;
  derivation_status status{};

  constexpr int apply(const factor_rule& rule, int a) {
    const placed_value* const operand[1] = {&tensor[a]};
    if (!derive_into(rule, operand, 1, tensor[tensors], status)) ++refused;
    return tensors++;
  }
  constexpr int apply(const factor_rule& rule, int a, int b) {
    const placed_value* const operand[2] = {&tensor[a], &tensor[b]};
    if (!derive_into(rule, operand, 2, tensor[tensors], status)) ++refused;
    return tensors++;
  }
  constexpr int input(const placed_value& t) {
    tensor[tensors] = t;
    return tensors++;
  }
  constexpr int reduced(int a) {
    tensor[tensors] = tensor[a];
    for (int x = 0; x < tensor[a].layout.mesh.axis_count; ++x) tensor[tensors].layout.partial[x] = reduce_op::none;
    return tensors++;
  }
};

struct outcome {
  int tensors, refused;
};

template <int Layers>
constexpr outcome build() {
  graph<17 * Layers + 5> g;
  int x = g.input({layout<mesh, "dp", none, none>::value, shape{8, 4096, 7168}});
  const int wa = g.input({layout<mesh, none, "tp", none>::value, shape{7168, 64, 128}});
  const int wo = g.input({layout<mesh, "tp", none, none>::value, shape{64, 128, 7168}});
  const int w1 = g.input({layout<mesh, none, "tp">::value, shape{7168, 2048}});
  const int w2 = g.input({layout<mesh, "tp", none>::value, shape{2048, 7168}});
  for (int l = 0; l < Layers; ++l) {
    const int n = g.apply(normalize, x);
    const int q = g.apply(project, n, wa), k = g.apply(project, n, wa), v = g.apply(project, n, wa);
    const int p = g.apply(softmax, g.apply(scores, q, k));
    const int o = g.apply(join_heads, g.apply(context, p, v), wo);
    const int y = g.apply(add, x, g.reduced(o));
    const int m = g.apply(normalize, y);
    const int e = g.apply(expand, m, w1), u = g.apply(expand, m, w1);
    x = g.apply(add, y, g.reduced(g.apply(contract, g.apply(multiply, e, u), w2)));
  }
  return {g.tensors, g.refused};
}
""" + f"constexpr outcome built = build<{layers}>();\nstatic_assert(built.tensors == {17 * layers + 5} && built.refused == 0);\n"


def operators_as_types(layers):
    """The same transformer as a pure type-list metaprogram: layouts, shapes and rules are MP11 lists, for the record."""
    text = "#include <boost/mp11.hpp>\nusing namespace boost::mp11;\n"
    text += """
template <int N> using number = mp_int<N>;
template <class Name, class Size> struct axis {};
using dp = axis<number<0>, number<4>>;
using tp = axis<number<1>, number<4>>;
using none = mp_list<>;

template <class Dims, class Extents, class Partial = mp_list<>> struct tensor;      // axes of each dim, extents
template <class Result, class... Operands> struct rule;                             // factors of each dim

template <class Axis> struct size_of;
template <class Name, class Size> struct size_of<axis<Name, Size>> { using type = Size; };
template <class Total, class Axis> using times = number<Total::value * size_of<Axis>::type::value>;
template <class Axes> using shards = mp_fold<Axes, number<1>, times>;

template <class Factors, class Tensor> struct entries;
template <class Factors, class Dims, class Extents, class Partial>
struct entries<Factors, tensor<Dims, Extents, Partial>> { using type = mp_transform<mp_list, Factors, Dims, Extents>; };

template <class Map, class Entry>
struct merge {  // law (1): a factor met before is sharded alike and has one extent
  using known = mp_map_find<Map, mp_first<Entry>>;
  static_assert(std::is_same_v<known, void> || std::is_same_v<known, Entry>);
  using type = mp_map_insert<Map, Entry>;
};
template <class Map, class Entry> using merged = typename merge<Map, Entry>::type;
template <class Entry> using divides = mp_bool<mp_third<Entry>::value % shards<mp_second<Entry>>::value == 0>;

template <class Map> struct second_of { template <class F> using fn = mp_second<mp_map_find<Map, F>>; };
template <class Map> struct third_of { template <class F> using fn = mp_third<mp_map_find<Map, F>>; };
template <class Result> struct is_reduced { template <class Entry> using fn = mp_not<mp_contains<Result, mp_first<Entry>>>; };

template <class Rule, class... Tensors> struct derive;
template <class Result, class... Operands, class... Tensors>
struct derive<rule<Result, Operands...>, Tensors...> {
  using map = mp_fold<mp_append<typename entries<Operands, Tensors>::type...>, mp_list<>, merged>;
  using axes = mp_flatten<mp_transform<mp_second, map>>;
  static_assert(mp_is_set<axes>::value && mp_all_of<map, divides>::value);
  using reduced = mp_flatten<mp_transform<mp_second, mp_copy_if_q<map, is_reduced<Result>>>>;
  using type = tensor<mp_transform_q<second_of<map>, Result>, mp_transform_q<third_of<map>, Result>, reduced>;
};
template <class Rule, class... Tensors> using apply = typename derive<Rule, Tensors...>::type;
template <class Tensor> struct reduce_now;
template <class Dims, class Extents, class Partial>
struct reduce_now<tensor<Dims, Extents, Partial>> { using type = tensor<Dims, Extents>; };
template <class Tensor> using reduced = typename reduce_now<Tensor>::type;

"""
    letters = {c: n for n, c in enumerate("bshadkf")}

    def factors(dims):
        return "mp_list<" + ", ".join(f"number<{letters[c]}>" for c in dims) + ">"

    rules = {"normalize": "bsh->bsh", "project": "bsh,had->bsad", "scores": "bsad,bkad->bask", "softmax": "bask->bask",
             "context": "bask,bkad->bsad", "join_heads": "bsad,adh->bsh", "expand": "bsh,hf->bsf",
             "multiply": "bsf,bsf->bsf", "contract": "bsf,fh->bsh", "add": "bsh,bsh->bsh"}
    for name, einsum in rules.items():
        operands, result = einsum.split("->")
        text += f"using {name} = rule<{factors(result)}, {', '.join(factors(o) for o in operands.split(','))}>;\n"

    def tensor(dims, extents):
        return f"tensor<mp_list<{', '.join(dims)}>, mp_list<{', '.join(f'number<{n}>' for n in extents)}>>"

    cut_dp, cut_tp = "mp_list<dp>", "mp_list<tp>"
    for layer in range(layers):  # a sequence length of its own keeps the compiler from memoising whole layers
        n = f"_{layer}"
        s = 4096 + 4 * layer
        steps = [("x", tensor([cut_dp, "none", "none"], [8, s, 7168])),
                 ("wa", tensor(["none", cut_tp, "none"], [7168, 64, 128])),
                 ("wo", tensor([cut_tp, "none", "none"], [64, 128, 7168])),
                 ("w1", tensor(["none", cut_tp], [7168, 2048])),
                 ("w2", tensor([cut_tp, "none"], [2048, 7168])),
                 ("n", "apply<normalize, x>"), ("q", "apply<project, n, wa>"), ("k", "apply<project, n, wa>"),
                 ("v", "apply<project, n, wa>"), ("p", "apply<scores, q, apply_k>"), ("t", "apply<softmax, p>"),
                 ("c", "apply<context, t, apply_k>"), ("o", "apply<join_heads, c, wo>"), ("y", "apply<add, x, reduced<o>>"),
                 ("m", "apply<normalize, y>"), ("e", "apply<expand, m, w1>"), ("u", "apply<expand, m, w1>"),
                 ("g", "apply<multiply, e, u>"), ("d", "apply<contract, g, w2>"), ("z", "apply<add, y, reduced<d>>")]
        names = sorted((name for name, _ in steps), key=len, reverse=True)
        text += f"using key{n} = {tensor([cut_dp, 'none', cut_tp, 'none'], [8, s, 64, 128])};\n"
        for name, body in steps:
            body = body.replace("apply_k", f"key{n}")
            if body.startswith(("apply", "reduced")):
                body = re.sub(r"\b(" + "|".join(names) + r")\b(?=[,>])", lambda m: m[1] + n, body)
            text += f"using {name}{n} = {body};\n"
        text += f"static_assert(std::is_same_v<z{n}, x{n}>);\n"
    return text


TILES = """
/// dispatch -> 4 x GMM1 -> 2 x SwiGLU -> 2 x GMM2 -> combine: 10 tasks, 14 edges.
struct moe_tile {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using hp::resource;
    hp::add_event(f, 0, 5);  // arrived, two halves of gate and up, act, down
    hp::task_draft dispatch, gate_up, swiglu, down, combine;
    dispatch.task.kind = combine.task.kind = resource::link;
    gate_up.task.kind = down.task.kind = resource::aic;
    swiglu.task.kind = resource::aiv;
    dispatch.task.duration = combine.task.duration = 5000;
    gate_up.task.duration = 300000;
    swiglu.task.duration = 100000;
    down.task.duration = 250000;
    gate_up.task.operation = 1;
    swiglu.task.operation = 2;
    down.task.operation = 3;
    combine.task.operation = 4;
    gate_up.waits = swiglu.waits = down.waits = combine.waits = 1;
    dispatch.signals = gate_up.signals = swiglu.signals = down.signals = 1;
    gate_up.wait[0].event = 0;
    swiglu.signal[0] = down.wait[0].event = 3;
    down.signal[0] = combine.wait[0].event = 4;
    ACCESSES
    hp::append(f, dispatch);
    for (int half = 0; half < 2; ++half) {
      gate_up.task.item = 2 * half;
      gate_up.signal[0] = 1 + half;
      GATE_UP
      hp::append(f, gate_up, 2);
    }
    for (int half = 0; half < 2; ++half) {
      swiglu.task.item = half;
      swiglu.wait[0].event = 1 + half;
      SWIGLU
      hp::append(f, swiglu);
    }
    hp::append(f, down, 2);
    hp::append(f, combine);
  }
};
inline constexpr auto tile = hp::build_pattern<hp::measure(moe_tile{})>(moe_tile{});

/// Tiles of ragged duration.
struct moe_tiles {
  int tiles;

  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const auto placed = hp::place(f, tile);
    for (int i = 0; i < tiles; ++i) hp::stamp(f, placed, i, i * 7919 % 13 * 1000);
  }
};

constexpr hp::machine_shape machine{1, {24, 48, 1, 0, 0}};
constexpr int queues = hp::queue_count(machine);
"""

# What the tile graph adds where its tasks also name the slots that they use: six slots and 13 stored accesses a tile.
SLOTS = {
    "ACCESSES": """const auto read = hp::access_mode::read, write = hp::access_mode::write;
    hp::add_slot(f, 0, 0, 0, 8192, 6, 8192);
    dispatch.accesses = 1;
    gate_up.accesses = swiglu.accesses = down.accesses = combine.accesses = 2;
    dispatch.access[0] = {0, 0, 4, write};
    gate_up.access[0] = {0, 0, 4, read};
    down.access[0] = {3, 0, 2, read};
    down.access[1] = {4, 0, 1, write, 1};
    combine.access[0] = {4, 0, 2, read};
    combine.access[1] = {5, 0, 2, write};""",
    "GATE_UP": "gate_up.access[1] = {1 + half, 0, 1, write, 1};",
    "SWIGLU": """swiglu.access[0] = {1 + half, 0, 2, read};
      swiglu.access[1] = {3, half, half + 1, write};""",
}


def tile_graph(with_accesses):
    text = TILES
    for place, statements in SLOTS.items():
        text = re.sub(rf"^ +{place}\n", lambda m: m[0].replace(place, statements) if with_accesses else "", text, flags=re.M)
    return text


def planned_tasks(tasks, with_accesses):
    tiles = max(1, tasks // 10)
    text = include("taskflow/pattern.hpp") + include("taskflow/list_schedule.hpp") + include("taskflow/verify.hpp")
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


MACRO_LAYER = """constexpr hp::machine_shape machine{1, {2, 1, 1, 0, 0}};
constexpr int queues = hp::queue_count(machine), row_blocks = 30;
/// 30 row blocks: dispatch, 4 gate-up tiles, 2 SwiGLU, 2 down tiles, combine, from one slot into another.
struct layer {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using enum hp::access_mode;
    using enum hp::resource;
    const int input = hp::add_slot(f, 0, 0, 0, 32), output = hp::add_slot(f, 0, 0, 32, 32);
    const int x = hp::add_slot(f, 0, 0, 64, 8, 4 * row_blocks, 8), e = hp::add_event(f, 0, 4 * row_blocks);
    hp::task_draft d;
    d.accesses = 2;
    const auto stage = [&](hp::resource kind, int operation, std::int64_t duration, int event, hp::access read,
                           hp::access written, int tiles) {
      d.task.kind = kind;
      d.task.operation = operation;
      d.task.duration = duration;
      d.waits = operation == 0 ? 0 : 1;
      d.signals = operation == 4 ? 0 : 1;
      d.wait[0] = {event - 1, hp::all_signals};
      d.signal[0] = event;
      d.access[0] = read;
      d.access[1] = written;
      hp::append(f, d, tiles);
    };
    for (int b = 0; b < row_blocks; ++b) {
      const int v = e + 4 * b, s = x + 4 * b;
      const std::int64_t longer = b * 7919 % 13 * 1000;
      d.task.item = b;
      stage(link, 0, 5000 + longer, v, {input, b, b + 1, read}, {s, 0, 8, write}, 1);
      stage(aic, 1, 300000 + longer, v + 1, {s, 0, 8, read}, {s + 1, 0, 1, write, 1}, 4);
      stage(aiv, 2, 100000 + longer, v + 2, {s + 1, 0, 4, read}, {s + 2, 0, 1, write, 1}, 2);
      stage(aic, 3, 250000 + longer, v + 3, {s + 2, 0, 2, read}, {s + 3, 0, 1, write, 1}, 2);
      stage(link, 4, 5000 + longer, v + 4, {s + 3, 0, 2, read}, {output, b, b + 1, write}, 1);
    }
  }
};
constexpr hp::taskflow_size size = hp::measure(layer{});
inline constexpr auto chain_flow = hp::build_fixed<size>(layer{});
inline constexpr auto chain_schedule = hp::schedule_fixed<queues>(chain_flow, machine);
constexpr std::int64_t bytes[] = {1 << 20};
constexpr hp::tier_capacities tiers{bytes, 1};

/// Input, output, and all that is between.
struct layer_places {
  hp::macro_place of[size.slots];
  constexpr layer_places() : of{} {
    of[1].block = 1;
    for (int s = 2; s < size.slots; ++s) of[s] = {2, 8 * (s - 2), 8 * (s - 1)};
  }
};
inline constexpr layer_places places;

struct described {
  hp::fixed_macro_contract<queues, 3> contract;
  hp::macro_status status;
};
constexpr described describe() {
  described d;
  const hp::macro_chain chain{chain_flow, chain_schedule, places.of, d.contract};
  hp::describe_chain(chain, 3);
  d.status = hp::prove_chain(chain, tiers);
  return d;
}
inline constexpr described layer_of = describe();
static_assert(layer_of.status == hp::macro_status{});

/// Layers in a row: two slots for what goes in and out in turn, one for what is between.
template <int Layers>
struct stack {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    hp::add_slot(f, 0, 0, 0, 1024, 3, 1024);
    const int done = hp::add_event(f, 0, Layers);
    for (int k = 0; k < Layers; ++k) {
      const hp::macro_block block[] = {{k % 2, 0}, {1 - k % 2, 0}, {2, 0}};
      hp::add_instance(
          f, layer_of.contract, k + 1, 0, block,
          [&](auto& g, int) {
            if (k > 0) hp::add_wait(g, done + k - 1);
          },
          [&](auto& g, int) { hp::add_signal(g, done + k); });
    }
  }
};
template <int Layers>
struct stack_table {
  hp::macro_instance instance[Layers];
  hp::macro_block block[6] = {{0, 0}, {1, 0}, {2, 0}, {1, 0}, {0, 0}, {2, 0}};
  constexpr explicit stack_table(int events) : instance{} {
    for (int k = 0; k < Layers; ++k)
      instance[k] = {0, k * 2 * layer_of.contract.queues, 0, events + k * size.events, k % 2 * 3};
  }
  constexpr hp::macro_table table() const { return {instance, Layers, block}; }
};
"""


def macro_layers(copies):
    """A layer of 300 tasks, proved once, and `copies` instances of it in a row: built, frozen, proved, simulated."""
    text = include("taskflow/list_schedule.hpp") + include("taskflow/macro_proof.hpp")
    text += include("taskflow/macro_schedule.hpp") + include("taskflow/simulate.hpp") + NAMESPACE + MACRO_LAYER
    return text + f"""constexpr int layers = {copies};
inline constexpr auto flow = hp::build_fixed<hp::measure(stack<layers>{{}})>(stack<layers>{{}});
inline constexpr stack_table<layers> instances{{flow.size.events}};
inline constexpr auto schedule = hp::schedule_macro_tasks<queues>(flow, machine, instances.table(), layer_of.contract);
static_assert(hp::prove_macro_tasks(flow, schedule, tiers, instances.table(), layer_of.contract) == hp::macro_status{{}});
static_assert(hp::simulate_fixed(flow, schedule).result.makespan > 0);
"""


def tiled_layer(steps):
    """A step of training of a full-size MoE layer, its experts in tiles: partitioned, ordered, proved and timed."""
    text = include("layers.hpp") + include("hardware/presets.hpp") + include("step/training_step.hpp") + NAMESPACE
    text += mesh("mesh", [("ep", 8)]) + """struct layer {
  static constexpr void build(hp::model_builder& m) {
    const int x = m.input("x", {m.dim("batch", 8), m.dim("seq", 4096), m.dim("hidden", 7168)});
    const hp::mixture_of_experts experts{.experts = 64, .top_k = 8, .width = 2048, .capacity_factor = 1.0};
    m.loss(m.apply<hp::ops::reduce>("loss", {experts(m, x)}, {.text = "bsh->"}));
  }
};
using strategy = hp::strategy<mesh, hp::expert_parallel<"ep">, hp::data_parallel<"ep">>;
"""
    return text + """using step = hp::train_step<layer, strategy, hp::sgd, hp::matrix384, hp::tiled<"*.experts.*">>;
static_assert(step::verified);
""" * steps


def training_step(_):
    """DeepSeek-V3 on half a supernode: built, differentiated, with its optimizer, partitioned and accounted."""
    text = f'#include "{EXAMPLES}/models/deepseek_v3.hpp"\n' + include("step/training_step.hpp") + NAMESPACE
    return text + mesh("mesh", [("dp", 24), ("tp", 16)]) + """using strategy = hp::strategy<mesh, hp::replicated_expert_parallel<"tp">, hp::fully_sharded<"dp", 1>,
                              hp::tensor_parallel<"tp">, hp::sequence_parallel<"tp">>;
using step = hp::train_step<models::deepseek_v3<24, 4096>, strategy, hp::adamw, hp::matrix384>;
static_assert(step::parameters == 671'026'404'352 && step::account.times.total.ok());
"""


def unrolled(layers, data_parallel=2):
    """A training step of a small transformer whose layers are not folded, and its strategy."""
    text = include("layers.hpp") + include("step/training_step.hpp") + NAMESPACE
    text += mesh("mesh", [("dp", data_parallel), ("tp", 4)])
    return text + f"""struct language_model {{
  static constexpr void build(hp::model_builder& m) {{
    const int batch = m.dim("batch", 8), seq = m.dim("seq", 32);
    const int tokens = m.index_input("tokens", {{batch, seq}}), labels = m.index_input("labels", {{batch, seq}});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{{
        .attention = {{.query_heads = 8, .key_heads = 4, .head_dim = 8}}, .feed_forward = {{.width = 128}}}};
    int x = hp::token_embedding{{.vocabulary = 256, .hidden = 64}}(m, tokens);
    x = m.repeat("layers", {layers}, x, block);
    hp::language_head{{.vocabulary = 256}}(m, x, labels);
  }}
}};
using strategy = hp::strategy<mesh, hp::fully_sharded<"dp", 1>, hp::tensor_parallel<"tp">, hp::sequence_parallel<"tp">>;
constexpr hp::graph step_graph() {{
  return hp::training_graph<language_model>(hp::adamw::value, {{.build = {{.unrolled = true}}}});
}}
"""


def unrolled_graph(layers):
    """A transformer of separate layers: built, differentiated, with its optimizer."""
    return unrolled(layers) + f"static_assert(step_graph().op.size > 40 * {layers});\n"


def unrolled_program(layers):
    """The same, partitioned over 2 × 4 devices under ZeRO-1, tensor and sequence parallelism."""
    return unrolled(layers) + f"static_assert(hp::partition(step_graph(), strategy::value).step.size > 40 * {layers});\n"


def class_plan(data_parallel):
    """The same of four layers on that many times 4 ranks: moves chosen, placed in memory, lowered, proved, and kept as a constant."""
    return unrolled(4, data_parallel) + """struct planned {
  static constexpr hp::lowered_program lowered() {
    return hp::lower_training(hp::partition(step_graph(), strategy::value),
                              {.topology = hp::interconnect_of(hp::matrix384::topology)});
  }
};
static_assert(hp::detail::planned_step<planned>::verified);
"""


def piped_plan(planned):
    """A transformer of two separate layers on 4 ranks: two stages of two devices, 4 micro-batches under 1F1B, lowered, proved and kept
    as a constant; with 0 the graph alone."""
    text = unrolled(2, 1).replace("{.build = {.unrolled = true}}", "{.build = {.unrolled = true}, .micro_batches = 4}")
    text = include("lowering/pipelined_program.hpp") + include("pipeline/schedules/one_forward_one_backward.hpp") + text
    if planned == 0:
        return text + "static_assert(step_graph().op.size > 80);\n"
    return text + """struct two_devices : hp::device_matrix<hp::axis{"tp", 2}> {};
struct planned {
  static constexpr hp::lowered_program lowered() {
    constexpr hp::pipeline_value pipeline{.schedule = &hp::schedule_value<hp::one_forward_one_backward>, .ranks = 2};
    return hp::lower_training(
        hp::partition(step_graph(), hp::strategy<two_devices, hp::tensor_parallel<"tp">>::value, pipeline).program,
        {.topology = hp::interconnect_of(hp::matrix384::topology)});
  }
};
static_assert(hp::detail::planned_step<planned>::verified);
"""


def offloaded_steps(_):
    """Three models on their strategies, all in one unit, each planned within the 64 GiB of a die beside host memory."""
    text = "".join(f'#include "{EXAMPLES}/models/{name}.hpp"\n' for name in ["deepseek_v3", "llama3_8b", "qwen3_30b_a3b"])
    text += include("step/training_step.hpp") + NAMESPACE
    text += mesh("dies", [("dp", 8)]) + mesh("supernode", [("dp", 64), ("tp", 4)])
    return text + """struct machine : hp::matrix384 {
  static constexpr hp::device_value device = hp::with_bandwidth(hp::matrix384::device, hp::dram, contended_dram_highest);
};
template <class Model, class Strategy>
using step = hp::train_step<Model, Strategy, hp::adamw, machine, hp::offloaded_within<64 * hp::GiB>>;
using sharded = hp::strategy<dies, hp::fully_sharded<"dp", 3>>;
using hybrid = hp::strategy<supernode, hp::fully_sharded<"dp", 3>, hp::tensor_parallel<"tp">>;
using llama = step<models::llama3_8b<64, 4096>, sharded>;
using qwen = step<models::qwen3_30b_a3b<64, 4096>, sharded>;
using deepseek = step<models::deepseek_v3<256, 4096>, hybrid>;
static_assert(hp::fits_alive<llama>() && hp::fits_alive<qwen>() && hp::fits_alive<deepseek>());
static_assert(llama::account.memory.peak > 64 * hp::GiB && llama::offload.bytes_out > 0);
"""


def pipeline_schedules(micro_batches):
    """ZB-V on 16 ranks as a type, with equal times: 96 actions a micro-batch generated, replayed and proved."""
    text = include("pipeline/pipeline.hpp") + include("pipeline/schedules/zero_bubble_v.hpp") + NAMESPACE
    if micro_batches == 0:
        return text
    return text + f"""using plan = hp::pipeline<hp::zero_bubble_v, hp::stages<32>, hp::micro_batches<{micro_batches}>>;
static_assert({micro_batches} < 31 || (plan::makespan == 6 * {micro_batches} + 15 && plan::peak_activations == 32));
static_assert(plan::account.ok());
"""


def many_micro_batches(micro_batches):
    """ZB-V on 64 ranks: a replay of 129 micro-batches, and what each more adds."""
    text = pipeline_schedules(0)
    if micro_batches == 0:
        return text
    return text + f"""using plan = hp::pipeline<hp::zero_bubble_v, hp::stages<128>, hp::micro_batches<{micro_batches}>>;
static_assert({micro_batches} < 127 || (plan::makespan == 6 * {micro_batches} + 63 && plan::peak_activations == 128));
static_assert(plan::account.ok());
"""


def pipelines_with_transfers(micro_batches):
    """The same with sends and receives in ordered queues: 216 entries a micro-batch."""
    return pipeline_schedules(micro_batches).replace(
        f"hp::micro_batches<{micro_batches}>>", f"hp::micro_batches<{micro_batches}>, hp::over<hp::ordered_queues>>")


def pipelines_as_taskflows(micro_batches, links=""):
    """The same schedule lowered to a taskflow: built, verified and simulated."""
    return pipeline_schedules(micro_batches).replace("pipeline/pipeline.hpp", "pipeline/lower_pipeline.hpp") + f"""
using flow = hp::pipeline_taskflow<plan{links}>;
static_assert(flow::safety.code == hp::verify_code::ok && flow::makespan == plan::makespan);
"""


def pipelines_with_link_tasks(micro_batches):
    """Likewise, each message a task of its sender's link."""
    return pipelines_as_taskflows(micro_batches, ", true")


FAMILIES = {
    "calibration": calibration,
    "empty": empty,
    "include": include,
    "standard_include": standard_include,
    "example": example,
    "layouts": layouts,
    "plans_on_four_axes": plans_on_four_axes,
    "plans_on_six_axes": plans_on_six_axes,
    "interval_certificates": interval_certificates,
    "operators": operators,
    "operators_as_types": operators_as_types,
    "scheduled_tasks": scheduled_tasks,
    "accessed_tasks": accessed_tasks,
    "verified_tasks": verified_tasks,
    "macro_layers": macro_layers,
    "pipeline_schedules": pipeline_schedules,
    "many_micro_batches": many_micro_batches,
    "pipelines_with_transfers": pipelines_with_transfers,
    "pipelines_as_taskflows": pipelines_as_taskflows,
    "pipelines_with_link_tasks": pipelines_with_link_tasks,
    "tiled_layer": tiled_layer,
    "training_step": training_step,
    "unrolled_graph": unrolled_graph,
    "unrolled_program": unrolled_program,
    "class_plan": class_plan,
    "piped_plan": piped_plan,
    "offloaded_steps": offloaded_steps,
}
