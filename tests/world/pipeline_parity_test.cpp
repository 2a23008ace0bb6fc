// SPDX-License-Identifier: Apache-2.0
// A model trained as a pipeline is the model trained on one device: every schedule that there is, uneven stages, other
// strategies within the stages; the same bits from every schedule and any number of threads.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "models/piped_model.hpp"
#include "support/tries.hpp"
#include "training_courses.hpp"

namespace {

using namespace hyperparallel;

using training::course;
using training::difference;
using training::train;
using training::train_on_one_device;

template <class T = double>
course train_piped(const graph& g, const strategy_value& s, const pipeline_value& pipeline, int steps,
                   int threads = 0) {
  model_run_options options;
  options.program.execution.threads = threads;
  model_run<T> run(g, s, pipeline, options);
  return train(run, g, steps);
}

bool keeps_the_order_of_sums(const named_schedule& s) {
  return copies_of_stages(s.placement) == 1 && std::string(s.name) != "LoopedBFS";
}

TEST(pipeline_parity, every_schedule_is_one_device) {
  const int steps = tested::tries(2, 50);
  const graph g = programs::piped_graph(8, 8, "layers.*", f64);
  const course one = train_on_one_device(g, steps);
  model_run<double> plain(g, strategy_called("single", 1).strategy);
  const course without = train(plain, g, steps);
  int schedules = 0;
  for (const named_schedule& s : schedule_table.item)
    for (int ranks : {2, 4}) {
      const pipeline_shape n{ranks, s.fixed_chunks > 0 ? s.fixed_chunks : ranks == 2 ? 2 : 1, 8};
      if (!s.check(n).ok()) continue;
      const pipeline_value pipeline{
          .schedule = &s, .ranks = ranks, .chunks = n.chunks, .accumulates_in_any_order = true};
      const course c = train_piped(g, strategy_called("single", 1).strategy, pipeline, steps);
      EXPECT_LE(difference(one, c), 1e-9) << s.name;
      EXPECT_TRUE(!keeps_the_order_of_sums(s) || c == without) << s.name << ": the same bits";
      ++schedules;
    }
  EXPECT_GE(schedules, 2 * hyperparallel::detail::published_schedule_count - 4);
}

TEST(pipeline_parity, stages_have_strategies_of_their_own_kind) {
  const int steps = tested::tries(2, 50);
  const graph g = programs::piped_graph(6, 4, nullptr, f64);
  const course one = train_on_one_device(g, steps);
  const pipeline_value even{.schedule = schedule_called("1F1B"), .ranks = 2};
  pipeline_value uneven{.schedule = schedule_called("ZB-H1"), .ranks = 3};
  for (const int n : {3, 1, 2}) uneven.layers.push(n);
  const pipeline_value folded{.schedule = schedule_called("ZB-V"), .ranks = 2, .chunks = 2};
  for (const char* name : {"dp", "tp", "tp-sp", "zero1", "zero2", "zero3", "ep", "dp-tp", "dp-ep", "zero3-tp", "vocab"})
    for (const pipeline_value* pipeline : {&even, static_cast<const pipeline_value*>(&uneven), &folded}) {
      const strategy_value s =
          programs::strategy_of_parts(name, std::string(name).find('-') == std::string::npos ? 2 : 4);
      const course c = train_piped(g, s, *pipeline, steps);
      const double off = difference(one, c);
      EXPECT_LE(off, 1e-9) << name << ", " << pipeline->schedule->name;
    }
}

/// Groups of other sizes, with other strategies: a tower of data parallelism before a head of tensor parallelism.
TEST(pipeline_parity, groups_have_meshes_of_their_own) {
  const int steps = tested::tries(2, 50);
  const graph g = programs::piped_graph(6, 4, nullptr, f64), tied = programs::tied_graph(6, 4);
  const course one = train_on_one_device(g, steps), of_tied = train_on_one_device(tied, steps);
  struct group {
    const char* strategy;
    int ranks;
  };
  const std::vector<group> groups[] = {{{"dp", 4}, {"tp", 2}},
                                       {{"single", 1}, {"zero3-tp", 4}},
                                       {{"tp-sp", 2}, {"ep", 4}},
                                       {{"zero2", 4}, {"tp", 4}},
                                       {{"vocab", 2}, {"tp-sp", 4}}};
  for (const std::vector<group>& all : groups)
    for (const char* schedule : {"1F1B", "ZB-V", "Interleaved1F1B"}) {
      SCOPED_TRACE(std::string(schedule) + ", " + all[0].strategy + ", " + all[1].strategy);
      pipeline_value pipeline{.schedule = schedule_called(schedule), .ranks = 2, .chunks = schedule[0] == '1' ? 1 : 2};
      for (const group& k : all) pipeline.strategy.push(programs::strategy_of_parts(k.strategy, k.ranks));
      if (pipeline.chunks == 1)
        for (const int layers : {4, 2}) pipeline.layers.push(layers);
      const course c = train_piped(g, {}, pipeline, steps, 1);
      EXPECT_LE(difference(one, c), 1e-9);
      EXPECT_EQ(c, train_piped(g, {}, pipeline, steps, 4)) << "the same bits from four threads";
      if (std::string(all[1].strategy) == "ep") continue;  // the tied model has no experts
      EXPECT_LE(difference(of_tied, train_piped(tied, {}, pipeline, steps)), 1e-9);
    }
}

/// One value with several homes: all are first the same, and stay so.
TEST(pipeline_parity, a_tied_table_is_one_table) {
  const graph g = programs::tied_graph(4, 4);
  const course one = train_on_one_device(g, 3);
  const int table = find_tensor(g, "embedding.weight");
  for (const pipeline_value& pipeline : {pipeline_value{.schedule = schedule_called("ZB-H1"), .ranks = 4},
                                         pipeline_value{.schedule = schedule_called("DualPipe"), .ranks = 2}})
    for (const char* name : {"dp", "tp", "vocab", "zero1", "zero2", "zero3"}) {
      model_run<double> run(g, programs::strategy_of_parts(name, 2), pipeline);
      const sharded_program& p = run.world().program();
      ASSERT_GE(table, 0);
      const int other = hyperparallel::detail::other_home_of(p, p.home[table]);
      ASSERT_GE(other, 0) << name;
      EXPECT_NE(hyperparallel::detail::part_of_value(p, p.home[table]), hyperparallel::detail::part_of_value(p, other));
      EXPECT_LE(difference(one, train(run, g, 3)), 1e-9) << name << ", " << pipeline.schedule->name;
    }
}

/// Each stage accumulates what it contributes, and stages are added in their order: a schedule changes no bit.
TEST(pipeline_parity, a_tied_table_has_the_bits_of_every_schedule) {
  const int steps = tested::tries(2, 20);
  for (const int stages : {2, 4}) {
    const graph g = programs::tied_graph(4, 8);
    const course one = train_on_one_device(g, steps);
    course first;
    int schedules = 0;
    for (const named_schedule& s : schedule_table.item)
      for (const int chunks : {1, 2}) {
        const pipeline_shape n{stages / chunks, chunks, 8};
        if (!s.check(n).ok() || (s.fixed_chunks > 0 && s.fixed_chunks != chunks)) continue;
        const pipeline_value pipeline{
            .schedule = &s, .ranks = n.ranks, .chunks = chunks, .accumulates_in_any_order = true};
        const course c = train_piped(g, strategy_called("single", 1).strategy, pipeline, steps);
        EXPECT_LE(difference(one, c), 1e-9) << s.name << ", " << stages << " stages";
        ++schedules;
        if (!keeps_the_order_of_sums(s)) continue;
        if (first.loss.empty()) first = c;
        EXPECT_TRUE(first == c) << s.name << ", " << stages << " stages";
      }
    EXPECT_GE(schedules, 8);
  }
}

/// A matrix that layers of two, three or all four stages read, several of them in one stage.
TEST(pipeline_parity, a_matrix_of_many_stages_is_one_matrix) {
  for (const std::vector<bool>& shares :
       {std::vector<bool>{true, false, true, true, false, false, true, true},
        std::vector<bool>{false, false, true, true, false, true, true, false}, std::vector<bool>(8, true)}) {
    const graph g = programs::shared_matrix_graph(shares, 8);
    const course one = train_on_one_device(g, 2);
    course first;
    for (const char* name : {"1F1B", "GPipe", "ZB-H1", "DualPipe", "Chimera"})
      for (const char* strategy : {"single", "dp", "zero2", "zero3"}) {
        const bool single = std::string(strategy) == "single";
        const pipeline_value pipeline{.schedule = schedule_called(name), .ranks = 4};
        const course c = train_piped(g, programs::strategy_of_parts(strategy, single ? 1 : 2), pipeline, 2);
        EXPECT_LE(difference(one, c), 1e-9) << name << ", " << strategy;
        if (!single || !keeps_the_order_of_sums(*pipeline.schedule)) continue;
        if (first.loss.empty()) first = c;
        EXPECT_TRUE(first == c) << name;
      }
  }
}

TEST(pipeline_parity, bits_do_not_depend_on_threads) {
  const graph g = programs::piped_graph(4, 4, "layers.*", f64);
  for (const char* name : {"1F1B", "ZB-V", "DualPipe", "Interleaved1F1B"}) {
    const named_schedule& s = *schedule_called(name);
    const pipeline_value pipeline{.schedule = &s,
                                  .ranks = 2,
                                  .chunks = s.fixed_chunks > 0            ? s.fixed_chunks
                                            : std::string(name)[0] == 'I' ? 2
                                                                          : 1};
    const strategy_value tp = programs::strategy_of_parts("tp", 2);
    const course first = train_piped(g, tp, pipeline, 2, 1);
    for (const int threads : {2, 4, 8}) EXPECT_EQ(first, train_piped(g, tp, pipeline, 2, threads)) << name;
  }
}

TEST(pipeline_parity, narrow_parameters_with_masters_keep_their_bits) {
  const graph g = programs::piped_graph(4, 4, nullptr, bf16);
  model_run<float> plain(g, strategy_called("single", 1).strategy);
  const course without = train(plain, g, 2);
  for (const char* name : {"GPipe", "1F1B", "ZB-H1", "Eager1F1B"})
    EXPECT_EQ(without, train_piped<float>(g, strategy_called("single", 1).strategy,
                                          {.schedule = schedule_called(name), .ranks = 2}, 2))
        << name;
}

/// Values that are set once are those of every micro-batch, as without a pipeline; each can be fed by itself.
TEST(pipeline_parity, inputs_are_fed_by_micro_batch_or_once) {
  const graph g = programs::piped_graph(2, 4, nullptr, f64);
  const auto losses = [&](auto& run) {
    run.set_random_inputs(7);
    std::vector<double> all{run.train_step([](int) {})};
    all.push_back(run.train_step([&](int micro) {
      if (micro == 2) run.set_random_inputs(9);
    }));
    return all;
  };
  model_run<double> piped(g, strategy_called("single", 1).strategy, {.schedule = schedule_called("1F1B"), .ranks = 2});
  model_run<double> plain(g, strategy_called("single", 1).strategy);
  const std::vector<double> a = losses(piped), b = losses(plain);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_NE(a[1], a[0]);
}

/// Parameters of a model trained under one cut go on under another, or under none.
TEST(pipeline_parity, parameters_go_on_under_another_cut) {
  const graph g = programs::piped_graph(4, 4, nullptr, f64);
  const strategy_value single = strategy_called("single", 1).strategy;
  model_run<double> whole(g, single), first(g, single, {.schedule = schedule_called("ZB-V"), .ranks = 2, .chunks = 2});
  model_run<double> second(g, programs::strategy_of_parts("tp", 2), {.schedule = schedule_called("1F1B"), .ranks = 4});
  const auto step = [&](auto& run, std::uint64_t batch) {
    return run.train_step([&](int micro) { run.set_random_inputs(batch + static_cast<std::uint64_t>(micro)); });
  };
  for (std::uint64_t s = 0; s < 2; ++s) EXPECT_EQ(step(whole, 8 * s), step(first, 8 * s));
  for (int t = 0; t < g.tensor.size; ++t) {
    const bool kept = g.tensor[t].kind == graph_tensor_kind::parameter || g.tensor[t].kind == graph_tensor_kind::state;
    if (kept && g.tensor[t].replaces < 0 && second.world().is_used(t)) second.world().set(t, first.world().get(t));
  }
  second.set_steps(2);
  for (std::uint64_t s = 2; s < 4; ++s) EXPECT_NEAR(step(whole, 8 * s), step(second, 8 * s), 1e-12);
}

}  // namespace
