// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/operator_work.hpp>

#include <models/one_device_program.hpp>
#include <models/stacked_model.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

constexpr int matrix = static_cast<int>(hp::compute_unit::matrix);

/// Elements of the weights that tokens are multiplied by.
hp::extent_t multiplied_parameters(const hp::graph& g) {
  hp::extent_t n = 0;
  for (int t = 0; t < g.tensor.size; ++t) {
    const std::string name = g.name_of_tensor(t);
    const bool is_table = name.find("embedding") == 0 || name.find("norm") != std::string::npos;
    if (g.tensor[t].kind == hp::graph_tensor_kind::parameter && g.tensor[t].replaces < 0 && !is_table)
      n += hp::elements_of(g.tensor[t]) * hp::detail::repeats_of(g, g.tensor[t].segment);
  }
  return n;
}

TEST(operator_work, of_a_dense_model_is_six_times_parameters_and_tokens_and_attention) {
  for (const hp::extent_t layers : {1, 4})
    for (const int micro_batches : {1, 5}) {
      programs::stacked_model model;
      model.dense_layers = layers;
      model.micro_batches = micro_batches;
      const hp::graph g = model.build();
      const hp::work_total work = hp::detail::total_work(programs::one_device_program(g));
      const hp::extent_t tokens = model.batch * model.sequence * micro_batches;
      // Half of the pairs; forward two products, backward five.
      const hp::extent_t attention =
          layers * 2 * tokens * model.sequence / 2 * model.query_heads * model.head_dim * (2 + 5);
      EXPECT_EQ(work.flops[matrix], 6 * multiplied_parameters(g) * tokens + attention);
      EXPECT_GT(work.flops[1 - matrix], 0);
      EXPECT_LT(work.flops[1 - matrix], work.flops[matrix]);
    }
}

TEST(operator_work, of_devices_that_repeat_nothing_adds_up_to_that_of_a_single_one) {
  programs::stacked_model model;
  model.key_heads = 4;
  const hp::work_total alone = hp::detail::total_work(programs::one_device_program(model.build()));
  for (const char* name : {"dp", "tp", "tp-sp", "dp-tp", "zero3", "gathered"}) {
    const hp::sharded_program p = hp::partition(model.build(), hp::strategy_called(name, 4).strategy);
    ASSERT_EQ(p.status.code, hp::strategy_code::ok) << name;
    EXPECT_EQ(4 * hp::detail::total_work(p).flops[matrix], alone.flops[matrix]) << name;
  }
  const hp::sharded_program same = hp::partition(model.build(), hp::strategy_called("single", 4).strategy);
  EXPECT_EQ(hp::detail::total_work(same), alone);
}

TEST(operator_work, of_folded_layers_is_that_of_layers_written_out) {
  programs::stacked_model model;
  model.dense_layers = 7;
  model.expert_layers = 3;
  model.trained = false;
  const hp::work_total folded = hp::detail::total_work(programs::one_device_program(model.build()));
  model.unrolled = true;
  EXPECT_EQ(folded, hp::detail::total_work(programs::one_device_program(model.build())));
}

TEST(operator_work, of_a_causal_ring_adds_up_to_half_of_all_pairs) {
  for (const bool causal : {false, true}) {
    hp::model_builder m;
    const int b = m.dim("batch", 2), s = m.dim("seq", 24), h = m.dim("key_heads", 2), g = m.dim("query_group", 3);
    const int d = m.dim("head_dim", 4), e = m.dim("value_dim", 5);
    const int q = m.input("q", {b, s, h, g, d}), k = m.input("k", {b, s, h, d}), v = m.input("v", {b, s, h, e});
    m.apply<hp::ops::attention>("whole", {q, k, v}, {.integer = {causal ? 1 : 0}});
    const hp::extent_t whole = hp::detail::flops_of(m.graph, m.graph.op[0], {}, {});
    EXPECT_EQ(whole, hp::extent_t{2} * 2 * 24 * 24 * 2 * 3 * (4 + 5) / (causal ? 2 : 1));
    for (const int devices : {2, 3, 4, 6}) {
      hp::graph_operator block = m.graph.op[0];
      block.kind = hp::id_of<hp::ops::attention_block>;
      const hp::mesh_shape mesh{1, {devices}};
      hp::operator_placement p;
      p.add(0, m.graph.rule_of(block).operand[0].term[1]);
      p.turned[0] = static_cast<signed char>(m.graph.rule_of(block).operand[1].term[1]);
      hp::extent_t sum = 0;
      for (block.rotation = 0; block.rotation < devices; ++block.rotation)
        sum += devices * hp::detail::flops_of(m.graph, block, p, mesh);
      EXPECT_EQ(sum, whole) << devices << (causal ? " causal" : "");
    }
  }
}

TEST(operator_work, of_expert_slots_counts_chosen_rows_and_each_device_its_experts) {
  hp::model_builder m;
  const int b = m.dim("batch", 4), s = m.dim("seq", 8), h = m.dim("hidden", 16), k = m.dim("choices", 2);
  const int e = m.dim("experts", 8), c = m.dim("capacity", 3);
  const int x = m.input("x", {b, s, h}), index = m.index_input("index", {b, s, k}), w = m.input("w", {b, s, k});
  const int slots =
      m.apply<hp::ops::dispatch>("dispatch", {x, index}, {.created = {{'e', e}, {'c', c}}, .created_count = 2});
  m.apply<hp::ops::combine>("combine", {slots, index, w});
  const hp::graph_operator& combine = m.graph.op[1];
  const hp::factor_rule& rule = m.graph.rule_of(combine);
  const hp::mesh_shape mesh{1, {4}};
  const hp::extent_t rows = 4 * 8 * 2 * 16;
  EXPECT_EQ(hp::detail::flops_of(m.graph, m.graph.op[0], {}, mesh), 0);
  EXPECT_EQ(hp::detail::flops_of(m.graph, combine, {}, mesh), 2 * rows);
  for (const int loop : {rule.operand[0].term[0], rule.operand[0].term[1], rule.operand[0].term[3]}) {
    hp::operator_placement p;
    p.add(0, loop);
    EXPECT_EQ(hp::detail::flops_of(m.graph, combine, p, mesh), 2 * rows / 4);
  }
}

TEST(operator_work, of_a_table_reads_the_rows_that_are_taken) {
  programs::stacked_model model;
  model.vocabulary = 1000;
  const hp::sharded_program p = programs::one_device_program(model.build());
  const hp::operator_work w = hp::work_of(p, p.compute[0]);
  const hp::extent_t tokens = model.batch * model.sequence;
  EXPECT_EQ(w.bytes_read, tokens * 4 + tokens * model.hidden * 4);
  EXPECT_EQ(w.bytes_written, tokens * model.hidden * 4);
  EXPECT_EQ(w.flops, 0);
}

TEST(operator_work, of_muon_is_five_iterations_on_whole_matrices) {
  hp::model_builder m;
  m.parameter("matrices", {m.dim("experts", 6), m.dim("rows", 10), m.dim("columns", 4)});
  const int operands[] = {0};
  hp::graph_operator o;
  o.kind = hp::id_of<hp::ops::muon>;
  ASSERT_EQ(hp::bind_loops(m.graph, o, "aYZ->aYZ", operands, 1, nullptr, 0).code, hp::graph_code::ok);
  o.integer[0] = 1;
  o.integer[1] = 2;
  const hp::extent_t one = 5 * (4 * 4 * 4 * 10 + 2 * 4 * 4 * 4) + 6 * 40;
  EXPECT_EQ(hp::detail::flops_of(m.graph, o, {}, {}), 6 * one);
  hp::operator_placement p;
  p.add(0, 0);
  EXPECT_EQ(hp::detail::flops_of(m.graph, o, p, {1, {3}}), 2 * one);
}

}  // namespace
