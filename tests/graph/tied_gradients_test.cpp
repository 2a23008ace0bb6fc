// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/tied_gradients.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/graph/check_training.hpp>
#include <hyperparallel/world/single_device.hpp>

#include "models/piped_model.hpp"

namespace {

using namespace hyperparallel;

std::vector<bool> in_all(int layers) { return std::vector<bool>(static_cast<std::size_t>(layers), true); }

/// Losses of some steps and parameters behind them, of the plain loop over operators.
std::vector<double> train(const graph& g, int steps) {
  single_device<double> device(g);
  std::vector<double> all;
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].kind == graph_tensor_kind::parameter && g.tensor[t].replaces < 0)
      for (std::size_t i = 0; i < device.values(t).size(); ++i)
        device.values(t)[i] = std::sin(static_cast<double>(t) + 0.7 * static_cast<double>(i));
  for (int s = 0; s < steps; ++s)
    device.train_step([&](single_device<double>& d, int micro) {
      if (micro > 0) all.push_back(d.values(g.loss)[0]);
      std::vector<double>& x = d.values("x");
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(5.0 * s + micro + 0.3 * static_cast<double>(i));
    });
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].kind == graph_tensor_kind::parameter && g.tensor[t].replaces < 0)
      all.insert(all.end(), device.values(t).begin(), device.values(t).end());
  return all;
}

/// Every contribution of the whole gradient, by the stage that accumulates it. Each is reached once.
std::map<int, std::set<int>> contributions_of(const graph& g, const stage_cut& c, int parameter) {
  std::map<int, std::set<int>> all;
  std::vector<std::pair<int, int>> open{{g.tensor[parameter].gradient, -1}};
  while (!open.empty()) {
    const auto [t, stage] = open.back();
    open.pop_back();
    const graph_operator& o = g.op[g.tensor[t].producer];
    if (g.value_of(o).accumulates) {
      open.push_back({o.operand[1], c.of_op[g.tensor[t].producer]});
    } else if (o.kind == id_of<ops::sum> && o.forward < 0) {
      for (int i = 0; i < o.operand_count; ++i) open.push_back({o.operand[i], stage});
    } else {
      EXPECT_TRUE(all[stage].insert(t).second) << g.name_of_tensor(t) << " is added twice";
    }
  }
  return all;
}

/// Laws of a graph that was rewritten and of its cut.
void expect_laws(const graph& g, const stage_cut& c) {
  EXPECT_EQ(check_graph(g), graph_status{});
  EXPECT_EQ(check_training(g), graph_status{});
  ASSERT_EQ(c.of_op.size, g.op.size);
  ASSERT_EQ(c.of_tensor.size, g.tensor.size);
  std::set<std::string> states;
  for (int t = 0; t < g.tensor.size; ++t) {
    if (g.tensor[t].producer >= 0) {
      EXPECT_EQ(c.of_tensor[t], c.of_op[g.tensor[t].producer]);
    }
    if (g.tensor[t].kind == graph_tensor_kind::state && g.tensor[t].replaces < 0) {
      EXPECT_TRUE(states.insert(g.name_of_tensor(t)).second) << g.name_of_tensor(t);
    }
  }
  for (int o = 0; o < g.op.size; ++o) {
    if (!g.value_of(g.op[o]).accumulates) continue;
    EXPECT_EQ(c.of_tensor[g.op[o].operand[0]], c.of_op[o]);
    EXPECT_EQ(c.of_tensor[g.op[o].operand[1]], c.of_op[o]) << "crosses once a micro-batch";
  }
}

TEST(tied_gradients, each_stage_accumulates_what_it_contributes) {
  graph g = programs::tied_graph(4, 3);
  stage_cut c = cut_evenly(g, 4);
  const int before = g.op.size, table = find_tensor(g, "embedding.weight");
  accumulate_by_stage(g, c);
  expect_laws(g, c);
  EXPECT_EQ(g.op.size, before + 1);
  const std::map<int, std::set<int>> by_stage = contributions_of(g, c, table);
  ASSERT_EQ(by_stage.size(), 2u);
  EXPECT_EQ(by_stage.at(0).size(), 1u);
  EXPECT_EQ(by_stage.at(3).size(), 1u);
  const int total = find_tensor(g, "accumulated(embedding.weight)"),
            second = find_tensor(g, "accumulated(embedding.weight) in stage 3");
  ASSERT_GE(total, 0);
  ASSERT_GE(second, 0);
  EXPECT_EQ(g.tensor[second].source, total);
  EXPECT_EQ(c.of_tensor[second], 3);
  const int whole = g.tensor[table].gradient;
  EXPECT_EQ(g.op[g.tensor[whole].producer].phase, graph_phase::norm);
  EXPECT_EQ(c.of_tensor[whole], 0);
  int readers = 0;
  for (const graph_operator& o : g.op)
    for (int i = 0; i < o.operand_count; ++i) readers += o.operand[i] == whole;
  EXPECT_EQ(readers, 2);  // its norm and the update
}

TEST(tied_gradients, any_number_of_readers_in_any_stages_trains_as_before) {
  struct shared_case {
    std::vector<bool> shares;
    int stages;
    int contributing;
  };
  std::vector<shared_case> cases{{{true, false, false, true}, 4, 2},
                                 {{true, false, true, true}, 2, 2},
                                 {{false, false, true, true}, 2, 1},
                                 {{false, true, true, false, false, true}, 3, 3},
                                 {in_all(4), 4, 4},
                                 {in_all(9), 9, 9},
                                 {in_all(12), 3, 3},
                                 {in_all(20), 2, 2},
                                 {in_all(17), 1, 1}};
  for (const shared_case& one : cases)
    for (const optimizer_kind optimizer : {optimizer_kind::adamw, optimizer_kind::sgd}) {
      SCOPED_TRACE(std::to_string(one.shares.size()) + " layers, " + std::to_string(one.stages) + " stages");
      const graph before = programs::shared_matrix_graph(one.shares, 3, optimizer);
      graph g = before;
      stage_cut c = cut_evenly(g, one.stages);
      ASSERT_TRUE(c.status.ok());
      const stage_cut cut_before = c;
      accumulate_by_stage(g, c);
      expect_laws(g, c);
      for (int t = 0; t < before.tensor.size; ++t) EXPECT_EQ(g.tensor[t].kind, before.tensor[t].kind);
      const std::map<int, std::set<int>> by_stage = contributions_of(g, c, find_tensor(g, "shared"));
      std::size_t readers = 0, contributions = 0;
      for (const bool reads : one.shares) readers += reads;
      for (const auto& [stage, those] : by_stage) {
        contributions += those.size();
        for (const int t : those)
          if (one.contributing > 1) {
            EXPECT_EQ(c.of_tensor[t], stage);
          }
      }
      EXPECT_EQ(contributions, readers);
      EXPECT_EQ(static_cast<int>(by_stage.size()), one.contributing);
      if (one.contributing == 1) {
        EXPECT_EQ(g.op.size, before.op.size);
        for (int o = 0; o < g.op.size; ++o) EXPECT_EQ(c.of_op[o], cut_before.of_op[o]);
      }
      const std::vector<double> a = train(before, 3), b = train(g, 3);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9 * std::max(1.0, std::abs(a[i])));
    }
}

/// A parameter that its own stage only reads where no gradient goes: what another one contributes stays there.
TEST(tied_gradients, without_a_contribution_of_its_own_stage_a_parameter_is_accumulated_elsewhere) {
  graph g = programs::shared_matrix_graph({true, false, false, true}, 2, optimizer_kind::adamw);
  stage_cut c = cut_evenly(g, 4);
  const int shared = find_tensor(g, "shared"), whole = g.tensor[shared].gradient;
  graph_operator& sum = g.op[g.tensor[whole].producer];
  ASSERT_EQ(sum.operand_count, 2);
  int contribution = -1;
  for (int i = 0; i < 2; ++i)
    if (c.of_tensor[sum.operand[i]] == 3) contribution = sum.operand[i];
  ASSERT_GE(contribution, 0);
  for (graph_operator& o : g.op)
    if (g.value_of(o).accumulates && o.operand[1] == whole) o.operand[1] = contribution;
  const int operators = g.op.size;
  accumulate_by_stage(g, c);
  EXPECT_EQ(g.op.size, operators);
  EXPECT_EQ(c.of_tensor[find_tensor(g, "accumulated(shared)")], 3);
  EXPECT_EQ(c.of_tensor[shared], 0);
}

TEST(tied_gradients, leaves_alone_what_does_not_cross) {
  for (const auto& [g, stages] : {std::pair{programs::tied_graph(4, 1), 4}, std::pair{programs::tied_graph(4, 3), 1},
                                  std::pair{programs::piped_graph(4, 4), 4}}) {
    graph same = g;
    stage_cut c = cut_evenly(g, stages);
    const stage_cut before = c;
    accumulate_by_stage(same, c);
    ASSERT_EQ(same.op.size, g.op.size);
    ASSERT_EQ(same.tensor.size, g.tensor.size);
    for (int o = 0; o < g.op.size; ++o) {
      EXPECT_EQ(same.op[o].kind, g.op[o].kind);
      EXPECT_EQ(same.op[o].result[0], g.op[o].result[0]);
      for (int i = 0; i < g.op[o].operand_count; ++i) EXPECT_EQ(same.op[o].operand[i], g.op[o].operand[i]);
      EXPECT_EQ(c.of_op[o], before.of_op[o]);
    }
    for (int t = 0; t < g.tensor.size; ++t) EXPECT_EQ(c.of_tensor[t], before.of_tensor[t]);
  }
}

constexpr bool rewrites_at_compile_time() {
  model_builder m({.unrolled = true});
  const int batch = m.dim("batch", 2), hidden = m.dim("hidden", 2), other = m.dim("other", 2);
  const int x = m.input("x", {batch, hidden}), w = m.parameter("w", {hidden, other});
  const int turned = m.parameter("turned", {other, hidden});
  const int y = m.contract("layers.0.a", "*k,kn->*n", x, w), z = m.contract("layers.0.b", "*k,kn->*n", y, turned);
  m.loss(m.apply<ops::reduce>("loss", {m.contract("layers.1.a", "*k,kn->*n", z, w)}, {.text = "*->"}));
  graph g = programs::trained(m, {.unrolled = true, .micro_batches = 2});
  stage_cut c = cut_evenly(g, 2);
  accumulate_by_stage(g, c);
  return check_graph(g).code == graph_code::ok && find_tensor(g, "accumulated(w) in stage 1") >= 0;
}
static_assert(rewrites_at_compile_time());

}  // namespace
