// SPDX-License-Identifier: Apache-2.0
// Bytes of parameters, gradients and optimizer states that a device holds under the stages of ZeRO, against the rows of
// the paper, for Ψ parameters on N devices.
//
// With parameters and gradients of 2 bytes and AdamW in 4 (master, first and second moment) a parameter has
// 2 + 2 + 12 bytes: 16Ψ, 4Ψ + 12Ψ/N, 2Ψ + 14Ψ/N, 16Ψ/N. In 4 bytes throughout, without a master, 4 + 4 + 8.
// The rows are what is held when backward is over and no update has begun: exactly. A reduction reads its terms while
// it writes their sum, so the most that gradients ever take is that and one of them beside its reduced value.
#include <hyperparallel/strategy/memory_account.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>
#include <models/bare_model.hpp>

#include <string>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;

constexpr extent_t hidden = 32, width = 64, layers = 7, matrix = hidden * width, parameters = layers * 2 * matrix;

/// `layers` pairs of matrices of one size.
hp::graph pairs_of_matrices(hp::data_type type, bool unrolled) {
  hp::model_builder m(hp::build_options{type, type, unrolled});
  const int batch = m.dim("batch", 8), model_width = m.dim("hidden", hidden);
  int x = m.input("x", {batch, model_width});
  x = m.repeat("layers", layers, x, [](hp::model_builder& b, int y) { return programs::matrix_pair(b, y, width); });
  m.loss(m.apply<hp::ops::reduce>("loss", {x}, {.text = "*->"}));
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return m.graph;
}

struct held_bytes {
  extent_t parameters = 0, gradients = 0, states = 0;
  extent_t sum() const { return parameters + gradients + states; }
};

/// What is held between backward and norm, from who reads what: homes, and gradients written before and read after.
held_bytes held_before_the_update(const hp::sharded_program& p) {
  const hp::graph& g = p.graph;
  held_bytes held;
  int boundary = 0;
  while (boundary < p.step.size && p.step[boundary].phase < hp::graph_phase::norm) ++boundary;
  for (int s = 0; s < p.storage.size; ++s) {
    const hp::graph_tensor& t = g.tensor[p.storage[s].tensor];
    const extent_t bytes = p.storage[s].bytes * hp::detail::repeats_of(g, t.segment);
    if (p.storage[s].home) {
      if (t.kind == hp::graph_tensor_kind::parameter) held.parameters += bytes;
      if (t.kind == hp::graph_tensor_kind::state) held.states += bytes;
      continue;
    }
    bool written_before = false, read_after = false;
    for (int i = 0; i < p.step.size; ++i) {
      const hp::program_step& step = p.step[i];
      if (step.is_move) {
        const hp::program_move& m = p.move[step.index];
        written_before = written_before || (i < boundary && p.value[m.target].storage == s);
        read_after = read_after || (i >= boundary && p.value[m.source].storage == s);
        continue;
      }
      const hp::program_compute& c = p.compute[step.index];
      const hp::graph_operator& o = g.op[c.op];
      for (int r = 0; r < o.result_count; ++r)
        written_before = written_before || (i < boundary && p.value[c.result[r]].storage == s);
      for (int k = 0; k < o.operand_count; ++k)
        read_after = read_after || (i >= boundary && p.value[c.operand[k]].storage == s);
    }
    if (!written_before || !read_after || t.shape.rank == 0) continue;
    EXPECT_EQ(t.kind, hp::graph_tensor_kind::gradient) << g.text_at(t.name);
    held.gradients += bytes;
  }
  return held;
}

struct row {
  const char* name;
  bool parameters_sharded, gradients_sharded, states_sharded;
  extent_t in_flight_shards;  ///< of N: how much of a gradient stands beside its terms, or its terms beside it
};
// Data parallel: a whole sum beside its terms. Stage 1: a shard beside the terms that waited for the update; stages 2
// and 3: the terms beside the shard.
constexpr row rows[] = {{"dp", false, false, false, 0},
                        {"zero1", false, false, true, 1},
                        {"zero2", false, true, true, 0},
                        {"zero3", true, true, true, 0}};

void expect_rows(hp::data_type type, bool unrolled, extent_t parameter_bytes, extent_t state_bytes) {
  const hp::graph g = pairs_of_matrices(type, unrolled);
  ASSERT_STREQ(hp::name_of(g.status.code), "ok");
  ASSERT_EQ(hp::parameter_count(g), parameters);
  for (const extent_t n : {2, 4, 8})
    for (const row& r : rows) {
      SCOPED_TRACE(r.name + std::string(" on ") + std::to_string(n) + (unrolled ? ", unrolled" : ""));
      const hp::sharded_program p = hp::partition(g, hp::strategy_called(r.name, static_cast<int>(n)).strategy);
      ASSERT_EQ(p.status, hp::strategy_status{});
      const held_bytes held = held_before_the_update(p);
      EXPECT_EQ(held.parameters, parameter_bytes * parameters / (r.parameters_sharded ? n : 1));
      EXPECT_EQ(held.gradients, parameter_bytes * parameters / (r.gradients_sharded ? n : 1));
      EXPECT_EQ(held.states, state_bytes * parameters / (r.states_sharded ? n : 1));

      const hp::memory_account account = hp::detail::memory_account_of(p);
      const auto of = [](const extent_t* bytes, hp::memory_class c) { return bytes[static_cast<int>(c)]; };
      EXPECT_EQ(of(account.resident, hp::memory_class::parameters), held.parameters);
      EXPECT_EQ(of(account.resident, hp::memory_class::states), held.states);
      EXPECT_EQ(of(account.most, hp::memory_class::parameters), held.parameters);
      EXPECT_EQ(of(account.most, hp::memory_class::states), held.states);
      const extent_t in_flight = parameter_bytes * matrix / (r.in_flight_shards > 0 ? n : 1);
      EXPECT_EQ(of(account.most, hp::memory_class::gradients), held.gradients + in_flight);
      EXPECT_GE(account.peak, held.sum());
    }
}

TEST(zero_memory, narrow_parameters_and_gradients_with_a_wide_master) {
  for (const bool unrolled : {false, true}) expect_rows(hp::data_type::bf16, unrolled, 2, 12);
}
TEST(zero_memory, everything_in_four_bytes) {
  for (const bool unrolled : {false, true}) expect_rows(hp::data_type::f32, unrolled, 4, 8);
}

// The four rows as they are printed.
TEST(zero_memory, the_rows_of_the_paper) {
  const hp::graph g = pairs_of_matrices(hp::data_type::bf16, false);
  for (const extent_t n : {2, 4, 8}) {
    const auto sum = [&](const char* name) {
      return held_before_the_update(hp::partition(g, hp::strategy_called(name, static_cast<int>(n)).strategy)).sum();
    };
    EXPECT_EQ(sum("dp"), 16 * parameters);
    EXPECT_EQ(sum("zero1"), 4 * parameters + 12 * parameters / n);
    EXPECT_EQ(sum("zero2"), 2 * parameters + 14 * parameters / n);
    EXPECT_EQ(sum("zero3"), 16 * parameters / n);
  }
}

}  // namespace
