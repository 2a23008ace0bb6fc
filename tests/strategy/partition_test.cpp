// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>
#include <models/bare_model.hpp>
#include <models/program_volumes.hpp>
#include <models/stacked_model.hpp>
#include <models/strategy_on.hpp>
#include <models/trained_models.hpp>

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::strategy_code;
using programs::training;

/// Everything of a program's steps and values that can be told by numbers.
constexpr unsigned long digest(const hp::sharded_program& p) {
  unsigned long sum = 1469598103934665603ul;
  const auto add = [&](hp::extent_t n) { sum = (sum ^ static_cast<unsigned long>(n)) * 1099511628211ul; };
  for (const hp::program_value& v : p.value) {
    add(v.tensor);
    add(v.storage);
    add(v.rotation.by);
    for (int i = 0; i < v.layout.cut_count; ++i) add(v.layout.cut[i].dim * 64 + v.layout.cut[i].axis);
    for (int a = 0; a < v.layout.mesh.axis_count; ++a) add(static_cast<int>(v.layout.partial[a]));
  }
  for (const hp::program_storage& s : p.storage) add(s.bytes * 2 + (s.home ? 1 : 0));
  for (const hp::program_step& s : p.step) {
    add(s.is_move ? p.move[s.index].target : p.compute[s.index].op);
    add(static_cast<int>(s.phase));
  }
  return sum;
}

// ---- every strategy keeps the laws ----

void expect_lawful(const hp::graph& g, const hp::sharded_program& p, const std::string& what) {
  EXPECT_EQ(hp::check_program(p), hp::program_status{}) << what << hp::name_of(hp::check_program(p).code);
  std::set<int> computed;
  for (const hp::program_compute& c : p.compute) EXPECT_TRUE(computed.insert(c.op).second) << what;
  for (int v = 0; v < p.value.size; ++v) {
    const hp::shape& s = p.graph.tensor[p.value[v].tensor].shape;
    EXPECT_EQ(hp::check_shape(p.value[v].layout, s).code, hp::layout_code::ok) << what;
    if (p.value[v].rotation.by == 0) {
      EXPECT_EQ(hp::volume(hp::box_of(p, v, 0)), hp::local_elements(p, v));
    }
  }
  // Nothing is moved twice to one place in one phase and segment.
  std::set<std::tuple<int, hp::graph_phase, int, std::string>> targets;
  for (const hp::program_step& s : p.step) {
    if (!s.is_move) continue;
    const hp::program_value& to = p.value[p.move[s.index].target];
    std::string place = std::to_string(to.rotation.by);
    for (int i = 0; i < to.layout.cut_count; ++i)
      place += " " + std::to_string(to.layout.cut[i].dim) + "," + std::to_string(to.layout.cut[i].axis);
    if (!hp::is_partial(to.layout)) {
      EXPECT_TRUE(targets.insert({to.tensor, s.phase, s.segment, place}).second)
          << what << p.graph.name_of_tensor(to.tensor);
    }
  }
  // Loops are whole where they have to be, and divide.
  for (const hp::program_compute& c : p.compute) {
    const hp::graph_operator& o = p.graph.op[c.op];
    for (int l = 0; l < o.loop_count; ++l) {
      const hp::extent_t pieces = hp::detail::pieces_of_loop(c.placement, p.mesh.shape, l);
      EXPECT_EQ(o.loop[l].extent % pieces, 0) << what;
      if (hp::detail::is_whole(p.graph.rule_of(o), l)) {
        EXPECT_EQ(pieces, 1) << what << p.graph.name_of_op(c.op);
      }
    }
  }
  if (p.graph.op.size == g.op.size) {
    EXPECT_EQ(p.compute.size, g.op.size) << what << ": every operator runs once";
  }
}

/// A refusal is right: the sizes that it names do not divide, the rule's dim is in no operator.
void expect_truthful(const hp::graph& g, const hp::strategy_value& s, const hp::strategy_status& status,
                     const std::string& what) {
  switch (status.code) {
    case strategy_code::dim_does_not_divide:
      EXPECT_NE(status.extent % status.pieces, 0) << what;
      EXPECT_EQ(g.dim[status.dim].extent, status.extent) << what;
      EXPECT_STREQ(s.mesh.label[status.axis].text, s.rule[status.rule].axis.text) << what;
      EXPECT_FALSE(s.rule[status.rule].optional) << what;
      break;
    case strategy_code::rule_matches_nothing:
      EXPECT_LT(hp::detail::find_dim(g, s.rule[status.rule].dim.text), 0) << what;
      EXPECT_FALSE(s.rule[status.rule].if_present) << what;
      break;
    case strategy_code::ring_axis_does_not_shard_the_sequence:
      EXPECT_STRNE(g.name_of_dim(status.dim), "seq") << what;
      break;
    default:
      ADD_FAILURE() << what << hp::name_of(status.code);
  }
}

/// Lists of degrees whose product is `ranks`.
std::vector<std::vector<int>> degrees_of(int ranks, int axes) {
  if (axes == 1) return {{ranks}};
  std::vector<std::vector<int>> all;
  for (int first = 1; first <= ranks; ++first) {
    if (ranks % first != 0) continue;
    for (std::vector<int> rest : degrees_of(ranks / first, axes - 1)) {
      rest.insert(rest.begin(), first);
      all.push_back(rest);
    }
  }
  return all;
}

/// Returns how many were accepted.
int expect_all_lawful(const hp::graph& g, const std::string& model, bool every_one_fits) {
  EXPECT_STREQ(hp::name_of(g.status.code), "ok") << model;
  int accepted = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int ranks : {1, 2, 4, 6, 8})
      for (const std::vector<int>& degrees : degrees_of(ranks, hp::named_strategy_at(i).axis_count)) {
        const hp::strategy_result r =
            hp::strategy_called(hp::named_strategy_at(i).name, ranks, degrees.data(), static_cast<int>(degrees.size()));
        EXPECT_EQ(r.status, hp::strategy_status{});
        std::string what = model + " " + hp::named_strategy_at(i).name;
        for (const int d : degrees) what += " " + std::to_string(d);
        what += ": ";
        const hp::sharded_program p = hp::partition(g, r.strategy);
        if (p.status.code != strategy_code::ok) {
          EXPECT_FALSE(every_one_fits) << what << hp::name_of(p.status.code);
          expect_truthful(g, r.strategy, p.status, what);
          continue;
        }
        expect_lawful(g, p, what);
        ++accepted;
      }
  return accepted;
}

TEST(partition, every_strategy_of_the_small_mixture_keeps_the_laws) {
  expect_all_lawful(programs::moe_graph({}), "folded", true);
  expect_all_lawful(programs::moe_graph({.unrolled = true}), "unrolled", true);
}
TEST(partition, with_recomputation) {
  expect_all_lawful(programs::moe_graph({.recomputed = "layers.*"}), "recomputed", true);
}
TEST(partition, with_micro_batches) { expect_all_lawful(programs::moe_graph({.micro_batches = 2}), "micro", true); }
TEST(partition, with_muon) {
  expect_all_lawful(programs::moe_graph({.optimizer = hp::optimizer_kind::muon}), "muon", true);
}
TEST(partition, with_sigmoid_routers_shared_experts_and_joint_slots) {
  models::small_moe_config config = programs::divisible_moe;
  config.scores = hp::expert_scores::sigmoid;
  config.shared_width = 96;
  expect_all_lawful(programs::moe_graph({.micro_batches = 2}, config), "sigmoid", true);
  config.slots = hp::expert_slots::joint;
  expect_all_lawful(programs::moe_graph({}, config), "joint", false);
}
TEST(partition, masked_diffusion) {
  const hp::graph g = programs::graph_of<models::masked_diffusion<24, 48>>({});
  EXPECT_GT(expect_all_lawful(g, "masked diffusion", false), 60);
}
TEST(partition, captioner) {
  const hp::graph g =
      programs::graph_of<models::captioner<models::captioner_sizes{24, 48, 24, 48}>>({.unrolled = true});
  EXPECT_GT(expect_all_lawful(g, "captioner", false), 60);
}

// ---- what the program is ----

TEST(partition, one_device_moves_nothing) {
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int micro_batches : {1, 2}) {
      const hp::sharded_program p = hp::partition(programs::moe_graph({.micro_batches = micro_batches}),
                                                  hp::strategy_called(hp::named_strategy_at(i).name, 1).strategy);
      EXPECT_EQ(p.move.size, 0) << hp::named_strategy_at(i).name;
      for (const hp::program_value& v : p.value) EXPECT_EQ(v.layout.cut_count, 0);
    }
}

TEST(partition, no_rule_is_every_device_for_itself) {
  const hp::sharded_program p = hp::partition(programs::moe_graph({}), hp::strategy_called("single", 8).strategy);
  EXPECT_EQ(p.move.size, 0);
  EXPECT_EQ(p.compute.size, p.graph.op.size);
}

/// Bytes received, by phase and what travels.
std::vector<hp::extent_t> volumes_of(const hp::sharded_program& p) {
  std::vector<hp::extent_t> v;
  for (int phase = 0; phase < hp::graph_phase_count; ++phase)
    for (const programs::traffic what : {programs::traffic::activations, programs::traffic::weights})
      v.push_back(
          programs::received_bytes(p, static_cast<hp::graph_phase>(phase), static_cast<hp::graph_phase>(phase), what));
  return v;
}

// A period stored once stands for each of its repetitions. The first one may be spared what comes whole to it.
TEST(partition, folded_layers_move_what_layers_written_out_move) {
  int equal = 0, compared = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int micro_batches : {1, 2})
      for (const char* recomputed : {static_cast<const char*>(nullptr), "layers.*"}) {
        const hp::strategy_value s = hp::strategy_called(hp::named_strategy_at(i).name, 4).strategy;
        std::vector<hp::extent_t> volume[2][2];  // folded, unrolled; 3 and 5 layers
        for (const bool unrolled : {false, true})
          for (const int more : {0, 1}) {
            models::small_moe_config config = programs::divisible_moe;
            config.layers = 3 + 2 * more;
            volume[unrolled][more] =
                volumes_of(hp::partition(programs::moe_graph({unrolled, micro_batches, recomputed}, config), s));
          }
        for (std::size_t k = 0; k < volume[0][0].size(); ++k) {
          EXPECT_EQ(volume[0][1][k] - volume[0][0][k], volume[1][1][k] - volume[1][0][k]) << s.name.text << " " << k;
          EXPECT_GE(volume[0][0][k], volume[1][0][k]) << s.name.text << " " << k;
        }
        equal += volume[0][0] == volume[1][0];
        ++compared;
      }
  EXPECT_GE(equal, compared - 8);  // 2d and 3d gather the sharded input of a norm again, but the first layer's
}

TEST(partition, the_compiler_makes_the_program_that_run_time_makes) {
  static constexpr unsigned long compiled[] = {
      digest(hp::partition(programs::one_matrix(), hp::strategy_called("dp", 4).strategy)),
      digest(hp::partition(programs::moe_graph({}), hp::strategy_called("zero3-tp", 8).strategy)),
      digest(hp::partition(programs::moe_graph({.micro_batches = 2}), hp::strategy_called("ring", 4).strategy)),
      digest(hp::partition(programs::moe_graph({}), hp::strategy_called("2d", 4).strategy)),
      digest(hp::partition(programs::moe_graph({}), hp::strategy_called("dp-tp-ep-cp", 8).strategy)),
  };
  const char* const names[] = {"dp", "zero3-tp", "ring", "2d", "dp-tp-ep-cp"};
  const int ranks[] = {4, 8, 4, 4, 8};
  for (int i = 0; i < 5; ++i) {
    const hp::graph g = i == 0 ? programs::one_matrix() : programs::moe_graph({.micro_batches = i == 2 ? 2 : 1});
    EXPECT_EQ(digest(hp::partition(g, hp::strategy_called(names[i], ranks[i]).strategy)), compiled[i]) << names[i];
  }
}

// ---- segments are walked one after the other ----

constexpr auto& on_axes = programs::strategy_on;

/// Rules that operators of a scope may have on an axis.
constexpr void (*families[])(hp::strategy_value&) = {
    [](hp::strategy_value& s) { hp::add_tensor_parallel(s, "tp"); },
    [](hp::strategy_value& s) {
      hp::add_tensor_parallel(s, "tp");
      hp::detail::add_sequence_parallel(s, "tp");
    },
    [](hp::strategy_value& s) { hp::add_data_parallel(s, "tp"); },
    [](hp::strategy_value& s) { hp::detail::add_sequence_parallel(s, "tp"); },
};
constexpr int family_count = 4;

void add_family(hp::strategy_value& s, int family, const char* scope) {
  hp::strategy_value rules;
  families[family](rules);
  for (hp::strategy_rule r : rules.rule) {
    if (std::string_view(r.dim.text).starts_with("state_"))
      continue;  // of linear attention, which the model has none of
    r.where = scope;
    r.if_present = true;
    s.add(r);
  }
}

std::string text_of(const hp::sharded_program& p, int value) {
  const hp::program_value& v = p.value[value];
  std::string text = std::string(" ") + p.graph.name_of_tensor(v.tensor) + ":";
  for (int i = 0; i < v.layout.cut_count; ++i)
    text += std::to_string(v.layout.cut[i].dim) + "@" + std::to_string(v.layout.cut[i].axis) + ",";
  return text + (hp::is_partial(v.layout) ? "terms" : "");
}

/// Stretches of a program of two stacks: up to the end of the first one, of the second one, and back.
constexpr int stretch_count = 4;
struct walked_stretches {
  std::string steps[stretch_count];  ///< as text
  std::string comes[stretch_count];  ///< what is carried across the beginning, as it lies until then
};

walked_stretches stretches_of(const hp::sharded_program& p) {
  constexpr int segment[] = {0, 1, 1, 0};
  int last[stretch_count] = {};
  for (int i = 0; i < p.step.size; ++i)
    for (int k = 0; k < stretch_count; ++k)
      if (p.step[i].segment == segment[k] &&
          p.step[i].phase == (k < 2 ? hp::graph_phase::forward : hp::graph_phase::backward))
        last[k] = i;
  walked_stretches w;
  const auto note = [&](int v, int stretch) {
    for (int k = stretch + 1; k < stretch_count; ++k) {
      const hp::graph_segment& s = p.graph.segment[segment[k]];
      if (p.value[v].tensor == (k < 2 ? s.carried_in : s.gradient_in)) w.comes[k] += text_of(p, v);
    }
  };
  for (int i = 0, k = 0; i <= last[stretch_count - 1]; ++i) {
    if (i > last[k]) ++k;
    const hp::program_step& s = p.step[i];
    if (s.is_move) {
      w.steps[k] += "move" + text_of(p, p.move[s.index].source) + text_of(p, p.move[s.index].target) + "\n";
      note(p.move[s.index].target, k);
      continue;
    }
    const hp::program_compute& c = p.compute[s.index];
    const hp::graph_operator& op = p.graph.op[c.op];
    w.steps[k] += hp::name_of(op.kind);
    for (int o = 0; o < op.operand_count; ++o) w.steps[k] += text_of(p, c.operand[o]);
    for (int r = 0; r < op.result_count; ++r) {
      w.steps[k] += text_of(p, c.result[r]);
      note(c.result[r], k);
    }
    w.steps[k] += "\n";
  }
  return w;
}

// Two stacks of two blocks, and a head, under all rows of rules. What is walked depends on what was walked before it,
// and of that on how the carried tensor comes: not on rules of what is behind, nor on how the other stack came to rest.
TEST(partition, a_segment_depends_on_its_own_rules_and_on_what_comes_to_it) {
  const hp::graph g = programs::stacked_model{.expert_layers = 2, .trained = false}.build();
  const char* const scopes[] = {"*embedding*",       "*dense.*attention*",   "*dense.*feed_forward*",
                                "*wide.*attention*", "*wide.*feed_forward*", "*head.*"};
  constexpr int scope_count = 6, rows = 4096;
  std::map<std::string, std::string> known[stretch_count];  // of what a stretch may depend on, its steps
  for (int row = 0; row < rows; ++row) {
    hp::strategy_value s = on_axes({{"tp", 2}});
    int family[scope_count] = {};
    for (int i = 0, rest = row; i < scope_count; ++i, rest /= family_count) {
      family[i] = rest % family_count;
      add_family(s, family[i], scopes[i]);
    }
    const hp::sharded_program p = hp::partition(g, s);
    ASSERT_EQ(p.status, hp::strategy_status{}) << hp::name_of(p.status.code);
    const walked_stretches w = stretches_of(p);
    const auto rules = [&](int begin, int end) {
      std::string text;
      for (int i = begin; i < end; ++i) text += std::to_string(family[i]);
      return text;
    };
    const std::string depends[stretch_count] = {rules(0, 3), rules(3, 5) + w.comes[1],
                                                rules(5, 6) + w.comes[2] + w.steps[1], rules(0, 3) + w.comes[3]};
    for (int k = 0; k < stretch_count; ++k)
      EXPECT_EQ(known[k].try_emplace(depends[k], w.steps[k]).first->second, w.steps[k]) << row << " " << depends[k];
  }
  for (int k = 0; k < stretch_count; ++k) EXPECT_LE(known[k].size(), rows / 10);  // most rows are compared with another
}

// ---- pins and the short form ----

hp::strategy_pin pin(const char* pattern, std::initializer_list<const char*> axes) {
  hp::strategy_pin p{pattern, static_cast<int>(axes.size()), {}};
  int d = 0;
  for (const char* a : axes) p.axis[d++] = a;
  return p;
}

/// The program of one matrix pair under column, then row parallel by the operators' names.
TEST(partition, column_and_row_parallel_are_tensor_parallel) {
  const hp::graph g =
      programs::bare_model({2, 8, 32}, [](hp::model_builder& m, int x) { return programs::matrix_pair(m, x, 64); });
  hp::strategy_value by_name = on_axes({{"tp", 4}}), by_dim = by_name;
  hp::detail::add_column_parallel(by_name, "*.up", "tp");
  hp::detail::add_row_parallel(by_name, "*.down", "tp");
  by_name.add(hp::shard_dim("ffn", "tp", "*.activation"));
  hp::add_tensor_parallel(by_dim, "tp");
  const hp::sharded_program a = hp::partition(g, by_name), b = hp::partition(g, by_dim);
  ASSERT_EQ(a.status, hp::strategy_status{});
  EXPECT_EQ(hp::check_program(a), hp::program_status{});
  EXPECT_EQ(digest(a), digest(b));
  const int up = hp::find_tensor(g, "layer.up.weight"), down = hp::find_tensor(g, "layer.down.weight");
  ASSERT_EQ(a.value[a.home[up]].layout.cut_count, 1);
  EXPECT_EQ(a.value[a.home[up]].layout.cut[0], (hp::cut{1, 0, 1, 4}));
  EXPECT_EQ(a.value[a.home[down]].layout.cut[0], (hp::cut{0, 0, 1, 4}));
}

struct own_sum : hp::ops::sum {
  static constexpr const char* name = "own_sum";
};
struct closed_sum : hp::ops::sum {
  static constexpr const char* name = "closed_sum";
  static constexpr bool adds = false;  // says nothing of terms
};

/// Terms of two products wait alike beside an operand that does not: they are added before they travel.
TEST(partition, terms_are_joined_in_every_operator_that_adds) {
  const hp::graph g = programs::bare_model({2, 8, 32}, [](hp::model_builder& m, int x) {
    const int first = m.scope("first", [&] { return programs::matrix_pair(m, x, 64); });
    const int second = m.scope("second", [&] { return programs::matrix_pair(m, x, 64); });
    return m.apply<hp::ops::sum>("joined", {x, first, second});
  });
  ASSERT_EQ(g.status.code, hp::graph_code::ok);
  hp::strategy_value s = on_axes({{"tp", 4}});
  hp::add_tensor_parallel(s, "tp");
  const auto moved = [&](auto operators, const hp::operator_value& joins) {
    hp::graph own = g;
    own.operators = operators.list;
    for (hp::graph_operator& o : own.op)
      if (own.name_of_tensor(o.result[0]) == std::string_view("layer.joined")) o.kind = own.operators.id_of(joins);
    const hp::sharded_program p = hp::partition(own, s);
    EXPECT_EQ(p.status, hp::strategy_status{});
    EXPECT_EQ(hp::check_program(p), hp::program_status{});
    return p.move.size;
  };
  const int moves = hp::partition(g, s).move.size;
  EXPECT_EQ(moved(hp::operators<hp::builtin, own_sum>{}, hp::operator_value_of<own_sum>), moves);
  EXPECT_EQ(moved(hp::operators<hp::builtin, closed_sum>{}, hp::operator_value_of<closed_sum>), moves + 1);
}

TEST(partition, sequence_parallel_by_name) {
  const hp::graph g =
      programs::bare_model({2, 8, 32}, [](hp::model_builder& m, int x) { return programs::matrix_pair(m, x, 64); });
  hp::strategy_value s = on_axes({{"tp", 4}});
  hp::detail::add_sequence_parallel(s, "e*", "tp");  // entry and exit
  hp::detail::add_sequence_parallel(s, "loss", "tp");
  hp::detail::add_column_parallel(s, "*.up", "tp");
  hp::detail::add_row_parallel(s, "*.down", "tp");
  s.add(hp::shard_dim("ffn", "tp", "*.activation"));
  const hp::sharded_program p = hp::partition(g, s);
  ASSERT_EQ(p.status, hp::strategy_status{});
  EXPECT_EQ(hp::check_program(p), hp::program_status{});
  const hp::strategy_value named = hp::strategy_called("tp-sp", 4).strategy;
  EXPECT_EQ(volumes_of(p), volumes_of(hp::partition(g, named)));
}

TEST(partition, pins_say_where_a_parameter_lives_and_a_result_lies) {
  const hp::graph g = programs::moe_graph({.unrolled = true});
  hp::strategy_value s = hp::strategy_called("dp-tp", 4).strategy;
  s.pin.push(pin("*.logits.weight", {"", ""}));
  s.pin.push(pin("*.query.weight", {"dp", "tp", "", ""}));
  s.pin.push(pin("layers.1.attention.query.weight", {"", "tp", "", ""}));  // the last that matches decides
  s.pin.push(pin("layers.*.moe.combine", {"dp", "", ""}));
  const hp::sharded_program p = hp::partition(g, s);
  ASSERT_EQ(p.status, hp::strategy_status{});
  EXPECT_EQ(hp::check_program(p), hp::program_status{});
  const auto home_of = [&](const char* name) { return p.value[p.home[hp::find_tensor(g, name)]].layout; };
  EXPECT_EQ(home_of("head.logits.weight").cut_count, 0);
  EXPECT_EQ(home_of("layers.0.attention.query.weight").cut_count, 2);
  EXPECT_EQ(home_of("layers.0.attention.query.weight").cut[0], (hp::cut{0, 0, 1, 2}));
  EXPECT_EQ(home_of("layers.0.attention.query.weight").cut[1], (hp::cut{1, 1, 1, 2}));
  EXPECT_EQ(home_of("layers.1.attention.query.weight").cut_count, 1);
  // The pinned result was brought to its place right after it was made, and read from there.
  const int combined = hp::find_tensor(g, "layers.0.moe.combine");
  int whole = -1;
  for (int v = 0; v < p.value.size; ++v)
    if (p.value[v].tensor == combined && p.value[v].layout.cut_count == 1 && !hp::is_partial(p.value[v].layout))
      whole = v;
  ASSERT_GE(whole, 0);
  EXPECT_EQ(p.value[whole].layout.cut[0], (hp::cut{0, 0, 1, 2}));
}

// ---- refusals ----

TEST(partition, refuses_an_axis_that_is_not_in_the_mesh) {
  hp::strategy_value s = on_axes({{"dp", 2}});
  hp::add_data_parallel(s, "dp");
  s.add(hp::shard_dim("hidden", "tp"));
  EXPECT_EQ(hp::partition(programs::one_matrix(), s).status,
            (hp::strategy_status{strategy_code::axis_is_not_in_the_mesh, 1}));
}

TEST(partition, refuses_a_rule_that_matches_nothing) {
  const hp::graph g = programs::one_matrix();
  for (const hp::strategy_rule& rule : {hp::shard_dim("experts", "tp"), hp::shard_dim("ffn", "tp", "*.nobody"),
                                        hp::shard_dim("output", "tp", "loss")}) {
    hp::strategy_value s = on_axes({{"dp", 2}, {"tp", 2}});
    hp::add_data_parallel(s, "dp");
    s.add(rule);
    EXPECT_EQ(hp::partition(g, s).status, (hp::strategy_status{strategy_code::rule_matches_nothing, 1, 1}));
    s.rule[1].if_present = true;
    EXPECT_EQ(hp::partition(g, s).status, hp::strategy_status{});
  }
  // A second rule of an axis that the first one always decides decides nothing; an axis of size 1 is no question.
  hp::strategy_value s = on_axes({{"dp", 2}});
  hp::add_data_parallel(s, "dp");
  hp::add_data_parallel(s, "dp");
  EXPECT_EQ(hp::partition(g, s).status.code, strategy_code::rule_matches_nothing);
  s = on_axes({{"dp", 1}});
  s.add(hp::shard_dim("experts", "dp"));
  EXPECT_EQ(hp::partition(g, s).status, hp::strategy_status{});
}

TEST(partition, refuses_a_dim_that_does_not_divide) {
  const hp::graph g = programs::one_matrix(8, 16, 30);
  const int ffn = hp::detail::find_dim(g, "ffn"), product = 0;
  hp::strategy_value s = on_axes({{"a", 3}, {"b", 2}, {"c", 4}});
  s.add(hp::shard_dim("ffn", "a")).add(hp::shard_dim("ffn", "c"));
  EXPECT_EQ(hp::partition(g, s).status,
            (hp::strategy_status{strategy_code::dim_does_not_divide, 1, 2, product, -1, ffn, 30, 12}));
  s.rule[1].optional = true;
  EXPECT_EQ(hp::partition(g, s).status, hp::strategy_status{});
  // Of a parameter's stage: the tensor is named.
  s = on_axes({{"a", 4}});
  s.add({"a", "ffn", hp::rule_stage::parameter});
  EXPECT_EQ(hp::partition(g, s).status, (hp::strategy_status{strategy_code::dim_does_not_divide, 0, 0, -1,
                                                             hp::find_tensor(g, "weight"), ffn, 30, 4}));
}

TEST(partition, refuses_pins) {
  const hp::graph g = programs::one_matrix(8, 16, 30);
  const int weight = hp::find_tensor(g, "weight"), ffn = hp::detail::find_dim(g, "ffn");
  hp::strategy_value s = on_axes({{"a", 4}});
  s.pin.push(pin("weight", {"", ""}));
  s.pin.push(pin("*.bias", {""}));
  EXPECT_EQ(hp::partition(g, s).status, (hp::strategy_status{strategy_code::pattern_matches_nothing, 1}));
  s.pin[1] = pin("w*", {"a"});
  EXPECT_EQ(hp::partition(g, s).status,
            (hp::strategy_status{strategy_code::pin_has_wrong_rank, 1, -1, -1, weight, -1, 2, 1}));
  s.pin[1] = pin("w*", {"a", "b"});
  EXPECT_EQ(hp::partition(g, s).status,
            (hp::strategy_status{strategy_code::axis_is_not_in_the_mesh, 1, -1, -1, weight}));
  s.pin[1] = pin("w*", {"", "a"});
  EXPECT_EQ(hp::partition(g, s).status,
            (hp::strategy_status{strategy_code::dim_does_not_divide, 1, 0, -1, weight, ffn, 30, 4}));
  // An axis shards a tensor once.
  s.pin[1] = pin("w*", {"a", "a"});
  EXPECT_EQ(hp::partition(g, s).status,
            (hp::strategy_status{strategy_code::pin_names_an_axis_twice, 1, 0, -1, weight}));
}

TEST(partition, refuses_a_ring_whose_axis_does_not_shard_the_sequence) {
  const hp::graph g = programs::moe_graph({.unrolled = true});
  hp::strategy_value s = on_axes({{"cp", 2}});
  hp::add_data_parallel(s, "cp");
  s.ring_axis = hp::short_text("cp");
  const hp::strategy_status status = hp::partition(g, s).status;
  EXPECT_EQ(status.code, strategy_code::ring_axis_does_not_shard_the_sequence);
  EXPECT_EQ(status.axis, 0);
  EXPECT_STREQ(g.name_of_dim(status.dim), "seq");
}

// The blocks of keys that travel in a ring are cut by the ring alone: another axis leaves the sequence to the queries, or
// leaves it alone where it does not divide, whatever the order of the rules.
TEST(partition, an_axis_beside_the_ring_leaves_the_keys_alone) {
  const auto graph_of = [](hp::extent_t sequence) {
    models::small_moe_config config = programs::divisible_moe;
    config.sequence = sequence;
    return programs::moe_graph({.unrolled = true}, config);
  };
  const auto ring_and = [](int more, bool ring_first, bool optional) {
    hp::strategy_value s = on_axes({{"ring", 2}, {"more", more}});
    const hp::strategy_rule r = optional ? hp::shard_dim_if_divisible("seq", "more") : hp::shard_dim("seq", "more");
    if (!ring_first) s.add(r);
    hp::detail::add_ring(s, "ring");
    if (ring_first) s.add(r);
    return s;
  };
  for (const hp::extent_t sequence : {6, 8, 12, 18})
    for (const int more : {2, 3, 4}) {
      const hp::graph g = graph_of(sequence);
      const bool divides = sequence % (2 * more) == 0;
      for (const bool ring_first : {true, false})
        for (const bool optional : {true, false}) {
          const std::string what = std::to_string(sequence) + " by 2 and " + std::to_string(more);
          const hp::sharded_program p = hp::partition(g, ring_and(more, ring_first, optional));
          // An optional rule that stands before the ring's takes the dim where it divides by itself.
          const bool fits = divides || (optional && (ring_first || sequence % more != 0));
          EXPECT_EQ(p.status.code, fits ? strategy_code::ok : strategy_code::dim_does_not_divide) << what;
          if (fits) expect_lawful(g, p, what);
        }
    }
}

TEST(partition, refuses_a_graph_with_a_mistake) {
  hp::graph g = programs::one_matrix();
  g.fail({hp::graph_code::text_is_malformed});
  const hp::sharded_program p = hp::partition(g, hp::strategy_called("dp", 2).strategy);
  EXPECT_EQ(p.status, hp::strategy_status{strategy_code::graph_is_refused});
  EXPECT_EQ(p.step.size, 0);
}

}  // namespace
