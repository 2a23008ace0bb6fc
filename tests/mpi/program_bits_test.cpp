// SPDX-License-Identifier: Apache-2.0
// processes: 8 4 3
// The bits of training over processes are those of threads: in every type, under every strategy, whatever MPI buffers and
// however late messages are.
#include "mpi/compared_courses.hpp"
#include "mpi/posted_messages.hpp"
#include "support/small_links.hpp"
#include "support/tries.hpp"

namespace hp = hyperparallel;

namespace {

using namespace mpi_worlds;

constexpr const char* four[] = {"zero3", "tp-sp", "ring", "dp-tp-ep-cp"};

/// Of a few steps under the strategies that differ most, or all with --exhaustive.
template <class T>
std::vector<compared<T>> under_strategies(const hp::graph& g, int steps, int some = 4) {
  std::vector<compared<T>> all;
  for (int i = 0; i < (tested::exhaustive() ? hp::named_strategy_count : some); ++i)
    all.push_back({tested::exhaustive() ? hp::named_strategy_at(i).name : four[i], &g, steps});
  return all;
}

TEST(mpi_program_bits, are_those_of_threads_in_double_precision) {
  const hp::graph g = training::tiny_step(hp::f64);
  ASSERT_EQ(g.status.code, hp::graph_code::ok);
  expect_same(eight_ranks(), under_strategies<double>(g, 3));
}

TEST(mpi_program_bits, are_those_of_threads_in_single_precision) {
  const hp::graph g = training::tiny_step(hp::f32);
  expect_same(eight_ranks(), under_strategies<float>(g, 3, 1));
}

TEST(mpi_program_bits, are_those_of_threads_in_brain_floats_with_masters) {
  const hp::graph g = training::tiny_step(hp::bf16);
  ASSERT_GE(hp::find_tensor(g, "master(embedding.weight)"), 0);
  expect_same(eight_ranks(), under_strategies<float>(g, 3, 1));
}

TEST(mpi_program_bits, need_no_buffers_and_one_open_move) {
  const hp::graph g = training::tiny_step(hp::f64);
  std::vector<compared<double>> some = under_strategies<double>(g, 2);
  for (const int ahead : {4, 100}) some.push_back({"zero3", &g, 1, ahead});
  some.push_back({"tp-sp", &g, 2, 0, 0, tested::node_links()});
  expect_same(strict_world(), some);
}

/// Each step of training is a run with delays of its own. Two hundred runs, with --exhaustive ten thousand, and of them
/// one thousand without buffers.
TEST(mpi_program_bits_on_8_processes, late_messages_change_none_and_hang_nobody) {
  const hp::graph g = training::tiny_step(hp::f64);
  tested::posted_messages::random.seed(static_cast<unsigned>(eight_ranks().process()));
  tested::posted_messages::late = true;
  constexpr int steps = 5;
  for (const bool strict : {false, true}) {
    std::vector<compared<double>> some;
    for (const char* const name : four)
      some.push_back({.strategy = name,
                      .model = &g,
                      .steps = steps,
                      .times = strict ? tested::tries(5, 50) : tested::tries(5, 450)});
    expect_same(strict ? strict_world() : eight_ranks(), some);
  }
  tested::posted_messages::late = false;
  EXPECT_GT(tested::posted_messages::delays, tested::tries(2'000, 100'000));
}

/// A model of two layers that is less small.
TEST(mpi_program_bits, are_those_of_threads_where_layers_follow_each_other) {
  const hp::graph g = training::small_step(1, 2);
  expect_same<float>(eight_ranks(), {{"hsdp3", &g, 2}, {"summa", &g, 2}, {"ep-tp", &g, 2}});
}

/// Tiles are messages of their own: fewer bytes each, as many together.
TEST(mpi_program_bits, are_those_of_threads_where_steps_are_tiled) {
  const hp::graph g = training::small_step(1, 2, hp::f64);
  std::vector<compared<double>> some;
  for (const char* const name : {"ep", "ep-tp"})
    some.push_back({.strategy = name, .model = &g, .steps = 2, .tiles = {"*.experts.*"}});
  for (const char* const name : {"zero3", "tp-sp"})
    some.push_back({.strategy = name, .model = &g, .steps = 2, .tiles = {"*"}});
  expect_same(eight_ranks(), some);
  for (const char* const name : {"ep", "zero3"}) {
    const compared<double> whole{.strategy = name, .model = &g, .steps = 2};
    const compared<double> tiled{.strategy = name, .model = &g, .steps = 2, .tiles = {"*"}};
    const auto course_of = [&](const compared<double>& c) {
      threaded_run<double> run(g, hp::strategy_called(name, 8).strategy, options_for(c));
      return train<double>(run, g, 2);
    };
    const course<double> one = course_of(whole), other = course_of(tiled);
    EXPECT_EQ(one.loss, other.loss);
    EXPECT_TRUE(one.values == other.values);
    EXPECT_EQ(one.received, other.received);
  }
}

/// By levels of nodes of two and four ranks, and on a full mesh of four by two.
TEST(mpi_program_bits, are_those_of_threads_where_links_choose_the_moves) {
  const hp::graph g = training::small_step(1, 2);
  std::vector<compared<float>> some;
  for (const char* const name : {"zero3", "tp-sp", "ep", "dp-tp"})
    for (const hp::interconnect& links : {tested::node_links(), tested::mesh_links({2, {4, 2}})})
      some.push_back({name, &g, 2, 0, 0, links});
  expect_same<float>(eight_ranks(), some);
}

TEST(mpi_program_bits, are_those_of_threads_where_micro_batches_add_up) {
  const hp::graph g = training::small_step(2, 2, hp::f64);
  expect_same<double>(eight_ranks(), {{"zero2", &g, 2, 0}, {"ring", &g, 2, 0}});
}

TEST(mpi_program_bits, are_those_of_moves_that_run_ahead) {
  const hp::graph g = training::small_step(1, 2);
  expect_same<float>(eight_ranks(), {{"zero3", &g, 1, 4}, {"zero3", &g, 1, 100}});
}

TEST(mpi_program_bits, are_those_of_a_budget_of_memory) {
  const hp::graph g = training::small_step(1, 2);
  const hp::strategy_value s = hp::strategy_called("zero3", 8).strategy;
  compared<float> within{"zero3", &g, 2, 0};
  threaded_run<float> without(g, s, options_for(within));
  within.budget = without.world().planned_bytes() * 17 / 20;
  expect_same<float>(eight_ranks(), {within});
  threaded_run<float> with(g, s, options_for(within));
  EXPECT_LE(with.world().planned_bytes(), within.budget);
  EXPECT_EQ(train<float>(with, g, 2).values, train<float>(without, g, 2).values);
}

}  // namespace
