// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small language model with experts, its step of training under a strategy of a name as a type, and the training that
// both ways to a world give: from the plan that the compiler has made, and from one that is made at the start. The first of
// them also on threads whose kernels are late at random.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/world.hpp>

#include <gtest/gtest.h>

#include "../../examples/models/small_moe.hpp"
#include "../support/tries.hpp"
#include "delayed_kernels.hpp"

namespace world_strategies {

namespace hp = hyperparallel;

/// Two layers, four key heads that eight query heads share, four experts of which a token takes two.
struct sizes {
  static constexpr models::small_moe_config config{.batch = 4,
                                                   .sequence = 8,
                                                   .vocabulary = 32,
                                                   .layers = 2,
                                                   .hidden = 16,
                                                   .query_heads = 8,
                                                   .key_heads = 4,
                                                   .head_dim = 4,
                                                   .experts = 4,
                                                   .top_k = 2,
                                                   .expert_width = 8};
};
using model = models::small_moe<sizes>;

/// All named strategies, those of a row in a test file of their own. The default tier compiles the first rows, whose
/// strategies differ most; `--exhaustive` all of them. None is left out: the plan of each is a constant.
inline constexpr int most_of_row = 3;
inline constexpr const char* names[][most_of_row] = {
    {"zero3", "two-level", "tp-sp"}, {"summa", "ep-tp", "ulysses"}, {"3d", "ring", "tp-ep"},
    {"dp-tp-ep-cp", "2d", "hsdp2"},  {"single", "dp", "zero1"},     {"zero2", "hsdp1", "hsdp3"},
    {"tp", "vocab", "2.5d"},         {"gathered", "ep", "dp-tp"},   {"zero3-tp", "dp-ep"}};

/// Whether every named strategy is in one row, once.
constexpr bool are_all_names() {
  int found = 0;
  for (const auto& row : names)
    for (const char* const name : row) found += name != nullptr;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    int times = 0;
    for (const auto& row : names)
      for (const char* const name : row)
        times += name != nullptr && std::string_view(name) == hp::named_strategy_at(i).name;
    if (times != 1) return false;
  }
  return found == hp::named_strategy_count;
}
static_assert(are_all_names());

/// The strategy of a place in `names`, on four ranks, or on eight where it has three axes.
template <int Row, int Place>
struct named {
  static constexpr hp::strategy_value make() {
    const hp::strategy_value on_eight = hp::strategy_called(names[Row][Place], 8).strategy;
    return on_eight.mesh.shape.axis_count > 2 ? on_eight : hp::strategy_called(names[Row][Place], 4).strategy;
  }
  static constexpr hp::strategy_value value = make();
};

template <int Row, int Place>
using step_under =
    hp::train_step<model, named<Row, Place>, hp::adamw, hp::matrix384, hp::precision<hp::data_type::f32>>;

/// What a training leaves.
struct course {
  std::vector<double> losses;
  std::vector<std::vector<float>> values;  ///< of parameters and states
  friend bool operator==(const course&, const course&) = default;
};

constexpr int steps = 3;

inline std::vector<std::int32_t> numbers(int salt) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(steps * sizes::config.batch * sizes::config.sequence));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::int32_t>((i * i + 3 * i + static_cast<std::size_t>(salt)) % 32);
  return all;
}

template <class World>
std::vector<std::vector<float>> values_of(const World& world) {
  std::vector<std::vector<float>> all;
  const hp::graph& g = world.program().graph;
  for (int t = 0; t < g.tensor.size; ++t)
    if ((g.tensor[t].kind == hp::graph_tensor_kind::parameter || g.tensor[t].kind == hp::graph_tensor_kind::state) &&
        g.tensor[t].replaces < 0)
      all.push_back(world.get(g.name_of_tensor(t)));
  return all;
}

template <class Step>
course planned_by_the_compiler(int threads) {
  hp::world<Step> world({.execution = {.threads = threads}});
  course c;
  c.losses = world.feed("tokens", numbers(0)).feed("labels", numbers(5)).train(steps);
  c.values = values_of(world.run().world());
  return c;
}

/// Trains from the first values on.
template <class Run>
course course_of(Run& run) {
  const std::vector<std::int32_t> tokens = numbers(0), labels = numbers(5);
  const std::size_t batch = tokens.size() / steps;
  run.set_first_values();
  course c;
  for (std::size_t i = 0; i < steps; ++i)
    c.losses.push_back(static_cast<double>(run.train_step([&](int) {
      run.world().set("tokens", std::span(tokens).subspan(i * batch, batch));
      run.world().set("labels", std::span(labels).subspan(i * batch, batch));
    })));
  c.values = values_of(run.world());
  return c;
}

/// The graph of the step's program.
inline hp::graph graph_of(hp::step_settings s) {
  s.build.unrolled = true;
  return hp::training_graph<model>(hp::adamw::value, s);
}
/// The same program, lowered and proved when the run starts.
inline course planned_at_start(const hp::step_settings& s, const hp::strategy_value& strategy,
                               const hp::interconnect& links, int threads) {
  hp::model_run<float> run(graph_of(s), strategy, {.program = {.execution = {.threads = threads}, .topology = links}});
  return course_of(run);
}
template <class Step>
course planned_at_start(int threads) {
  return planned_at_start(Step::evaluated::settings(), Step::strategy::value,
                          hp::interconnect_of(Step::hardware::topology), threads);
}

/// The plan of the step's type on threads whose kernels are late at random, `runs` times.
inline void expect_delays_to_change_nothing(const hp::lowered_program& plan, const course& calm, int runs) {
  for (const int threads : {2, 4}) {
    hp::lowered_program own = plan;
    hp::model_run<float> late(std::move(own),
                              {.program = {.execution = {.threads = threads}, .kernels = &delayed::late_kernel_of}});
    const std::uint64_t before = delayed::calls;
    for (int i = threads / 4; i < runs; i += 2) ASSERT_EQ(course_of(late), calm) << threads << " threads, run " << i;
    EXPECT_GE(delayed::calls - before, static_cast<std::uint64_t>(runs / 2));
  }
}

template <int Row, int Place>
void expect_the_same_bits() {
  if constexpr (names[Row][Place] != nullptr) {
    using step = step_under<Row, Place>;
    SCOPED_TRACE(names[Row][Place]);
    static_assert(step::verified);
    const course by_compiler = planned_by_the_compiler<step>(1);
    ASSERT_EQ(by_compiler.losses.size(), static_cast<std::size_t>(steps));
    EXPECT_NE(by_compiler.losses.back(), by_compiler.losses.front());
    EXPECT_EQ(planned_by_the_compiler<step>(2), by_compiler);
    EXPECT_EQ(planned_at_start<step>(1), by_compiler);
    EXPECT_EQ(planned_at_start<step>(2), by_compiler);
    // In all 12 * 5 runs by default, 26 * 39 with all strategies.
    expect_delays_to_change_nothing(hp::program_of(step::planned::image), by_compiler, tested::tries(5, 39));
  }
}

/// Of every strategy of the row.
template <int Row>
void expect_the_same_bits_in_row() {
  expect_the_same_bits<Row, 0>();
  expect_the_same_bits<Row, 1>();
  expect_the_same_bits<Row, 2>();
}

}  // namespace world_strategies
