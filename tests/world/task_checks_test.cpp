// SPDX-License-Identifier: Apache-2.0
// One flipped bit in any task of a training step, or in memory between tasks and between steps, is found within the step,
// by name; without one nothing is, and training has the bits of training without checks.
#include <hyperparallel/exec/failure.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/program_tasks.hpp>
#include <hyperparallel/world/task_checks.hpp>

#include <lowering/one_move.hpp>
#include <models/piped_model.hpp>
#include <support/error_of.hpp>
#include <support/tries.hpp>
#include <world/flipping_kernels.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

constexpr hp::corruption_checks all_checks{.tasks = true, .moves = true, .state = true};

struct checked_model {
  const char* strategy;
  bool experts = false;
  std::vector<std::string> tiles{};
};
const std::vector<checked_model>& checked_models() {
  static const std::vector<checked_model> all = {{"dp"},
                                                 {"zero3"},
                                                 {"tp-sp"},
                                                 {"dp-tp"},
                                                 {"ep", true},
                                                 {"ep-tp", true},
                                                 {"ep-tp", true, {"*"}},
                                                 {"zero3", false, {"*"}}};
  return all;
}

/// A model on 4 ranks, and where its blocks lie.
struct checked_run {
  checked_run(const checked_model& m, const hp::corruption_checks& checks, int threads = 1)
      : run(small_models::decoder({.experts = m.experts}), hp::strategy_called(m.strategy, 4).strategy,
            options_of(m, checks, threads)) {
    const hp::sharded_program& p = run.world().program();
    for (int v = 0; v < p.value.size; ++v)
      for (int r = 0; r < 4; ++r)
        if (used(v)) block.push_back({v, r, const_cast<std::byte*>(run.world().block_of(v, r))});
  }
  static hp::model_run_options options_of(const checked_model& m, const hp::corruption_checks& checks, int threads) {
    hp::model_run_options o;
    o.program.tiles = m.tiles;
    o.program.checks = checks;
    o.program.kernels = &flipping::kernel_of;
    o.program.execution.threads = threads;
    return o;
  }
  const hp::sharded_program& program() const { return run.world().program(); }
  bool used(int value) const {
    bool is = false;
    for (const hp::program_step& s : program().step)
      hp::detail::visit_values(program(), s, [&](int v, bool) { is = is || v == value; });
    return is;
  }
  hp::extent_t bytes(int value) const { return hp::local_bytes(program(), value); }
  std::byte* block_of(int value, int rank) const {
    for (const where& w : block)
      if (w.value == value && w.rank == rank) return w.first;
    return nullptr;
  }
  /// The rank that has this memory, or -1.
  int rank_of(const void* at) const {
    for (const where& w : block)
      if (at >= w.first && at < w.first + bytes(w.value)) return w.rank;
    return -1;
  }
  const char* name_of(int value) const { return program().graph.name_of_tensor(program().value[value].tensor); }
  float step(int batch) {
    return run.train_step([&](int m) { run.set_random_inputs(static_cast<std::uint64_t>(8 * batch + m)); });
  }

  struct where {
    int value, rank;
    std::byte* first;
  };
  hp::model_run<float> run;
  std::vector<where> block;
};

/// What one step of training, or whatever `work` is, finds.
struct finding {
  bool is_found = false;
  std::string text{}, tensor{}, operation{};
  int rank = -1, task_rank = -1;
};
template <class Work>
finding found_by(const Work& work) {
  finding f;
  const auto take = [&](const hp::corruption_error& c) {
    f.is_found = true;
    f.tensor = c.tensor;
    f.rank = c.rank;
  };
  try {
    work();
  } catch (const hp::task_error& e) {
    f.text = e.what();
    f.operation = e.operation;
    f.task_rank = e.rank;
    try {
      std::rethrow_if_nested(e);
    } catch (const hp::corruption_error& c) {
      take(c);
    } catch (const std::exception&) {
    }
  } catch (const hp::corruption_error& c) {
    f.text = c.what();
    take(c);
  }
  return f;
}

TEST(TaskChecks, KeepTheBitsOfTrainingAndReportNothing) {
  flipping::begin(-1);
  for (const checked_model& m : checked_models())
    for (const int threads : {1, 2}) {
      checked_run plain(m, {}, threads), checked(m, all_checks, threads);
      for (int k = 0; k < tested::tries(3, 70); ++k)
        ASSERT_EQ(plain.step(k), checked.step(k)) << m.strategy << ", step " << k;
      for (int t = 0; t < plain.run.model().tensor.size; ++t) {
        if (plain.run.model().tensor[t].kind != hp::graph_tensor_kind::parameter || !plain.run.world().is_used(t))
          continue;
        ASSERT_EQ(plain.run.world().get(t), checked.run.world().get(t)) << m.strategy;
      }
    }
}

/// Losses of two steps of a model with the checks and without are the same bits.
template <class Make>
void expect_silence(const std::string& what, const Make& make) {
  hp::program_options plain, checked;
  checked.checks = all_checks;
  checked.execution.threads = 2;
  auto without = make(plain);
  auto with = make(checked);
  for (std::uint64_t k = 0; k < 2; ++k) {
    const auto feed = [&](auto& run) {
      return run.train_step([&](int m) { run.set_random_inputs(8 * k + static_cast<std::uint64_t>(m)); });
    };
    ASSERT_EQ(feed(without), feed(with)) << what << ", step " << k;
  }
}

// Every strategy, sums and numbers of 16 bits, micro-batches, a budget of memory, stages of a pipeline.
TEST(TaskChecks, ReportNothingUnderAnyStrategy) {
  int strategies = 0;
  for (const auto& named : hp::detail::named_strategy_table)
    for (const hp::data_type type : {hp::f32, hp::data_type::bf16}) {
      const hp::strategy_result s = hp::strategy_called(named.name, type == hp::f32 ? 4 : 3);  // 3: shards are padded
      const hp::graph g = small_models::decoder({.micro_batches = 2, .experts = true, .type = type});
      if (!(s.status == hp::strategy_status{}) || hp::partition(g, s.strategy).status.code != hp::strategy_code::ok)
        continue;
      if (++strategies % 9 != 0 && tested::watches_threads) continue;
      expect_silence(named.name,
                     [&](const hp::program_options& o) { return hp::model_run<float>(g, s.strategy, {.program = o}); });
    }
  EXPECT_GE(strategies, 25);
  const hp::graph g = small_models::decoder({.layers = 2});
  const hp::strategy_value tp = hp::strategy_called("tp", 2).strategy;
  const hp::model_run<float> whole(g, tp);
  expect_silence("budget", [&](hp::program_options o) {
    o.budget = {.bytes = whole.world().planned_bytes() * 19 / 20, .tiers = {{hp::unlimited_bandwidth, 0}}};
    return hp::model_run<float>(g, tp, {.program = o});
  });
  const hp::graph piped = programs::piped_graph(4, 4, nullptr, hp::f32);
  const hp::pipeline_value stages{.schedule = hp::schedule_called("1F1B"), .ranks = 2};
  expect_silence("pipeline",
                 [&](const hp::program_options& o) { return hp::model_run<float>(piped, tp, stages, {.program = o}); });
}

// The bit is flipped behind a kernel, in the first run of its task or in the second. Every call is tried with --exhaustive.
TEST(TaskChecks, FindABitThatATaskSetsWrongly) {
  int flips = 0;
  for (const checked_model& m : checked_models())
    for (const int threads : {1, 2}) {
      checked_run c(m, {.tasks = true}, threads);
      flipping::begin(-1);
      const float loss = c.step(0);
      const std::int64_t calls = flipping::calls;
      const std::int64_t stride = tested::exhaustive() ? 1 : calls / 8 + 1;
      for (std::int64_t k = flips % stride; k < calls; k += stride, ++flips) {
        c.run.set_first_values();
        flipping::begin(k, hp::detail::mix_bits(static_cast<std::uint64_t>(k + 1000 * flips)));
        const finding f = found_by([&] { c.step(0); });
        ASSERT_TRUE(f.is_found) << m.strategy << ", call " << k << " " << f.text;
        const hp::graph& g = c.run.model();
        const auto* op = static_cast<const hp::graph_operator*>(flipping::damaged_operator);
        ASSERT_EQ(f.operation.find(g.text_at(op->name)), 0u) << f.text;
        bool is_result = false;
        for (int r = 0; r < op->result_count; ++r) is_result = is_result || f.tensor == g.name_of_tensor(op->result[r]);
        ASSERT_TRUE(is_result) << f.text;
        ASSERT_EQ(f.rank, f.task_rank);
        const int rank = c.rank_of(flipping::damaged_block);  // -1: memory of the second run
        ASSERT_TRUE(rank < 0 || f.rank == rank) << f.text;
      }
      c.run.set_first_values();
      flipping::begin(-1);
      ASSERT_EQ(c.step(0), loss) << "it goes on";
    }
  std::printf("%d flips in tasks\n", flips);
  EXPECT_GE(flips, tested::tries(60, 300));
}

/// A block whose bit is flipped at the first kernel behind the one that writes it.
struct struck_block {
  const void* operation = nullptr;
  std::byte* block = nullptr;
  hp::extent_t bytes = 0;
  std::uint64_t drawn = 0;
  bool is_written = false, is_struck = false;
} struck;

void strike(const hp::operator_call& c) {
  if (struck.is_struck) return;
  if (struck.is_written) {
    flipping::flip(struck.block, struck.bytes, struck.drawn);
    struck.is_struck = true;
  }
  for (int r = 0; r < c.rule->result_count; ++r)
    struck.is_written = struck.is_written || (c.attributes == struck.operation && c.result[r] == struck.block);
}

// Activations and gradients that an operator writes and a later one reads, but for those that are replaced.
TEST(TaskChecks, FindABitThatChangesBetweenTasks) {
  int flips = 0, number = 0;
  for (const checked_model& m : checked_models()) {
    if (!m.tiles.empty()) continue;
    checked_run c(m, {.state = true});
    const hp::sharded_program& p = c.program();
    flipping::begin(-1);
    std::vector<int> reads(static_cast<std::size_t>(p.value.size), 0);  // by operators
    std::vector<bool> replaced(static_cast<std::size_t>(p.storage.size), false);
    for (const hp::program_step& s : p.step) {
      if (s.is_move) continue;
      const hp::program_compute& k = p.compute[s.index];
      for (int i = 0; i < p.graph.op[k.op].operand_count; ++i) ++reads[static_cast<std::size_t>(k.operand[i])];
      for (int r = 0; r < p.graph.op[k.op].result_count; ++r)
        for (int i = 0; i < p.graph.op[k.op].operand_count; ++i)
          if (p.value[k.operand[i]].storage == p.value[k.result[r]].storage)
            replaced[static_cast<std::size_t>(p.value[k.result[r]].storage)] = true;
    }
    for (const hp::program_step& s : p.step) {
      if (s.is_move) continue;
      const hp::graph_operator& op = p.graph.op[p.compute[s.index].op];
      const int v = p.compute[s.index].result[0];
      if (reads[static_cast<std::size_t>(v)] == 0 || replaced[static_cast<std::size_t>(p.value[v].storage)] ||
          p.graph.tensor[op.result[0]].type == hp::data_type::i32)
        continue;
      for (int r = 0; r < 4; ++r) {
        if (++number % tested::tries(17, 1) != 0) continue;
        c.run.set_first_values();
        struck = {&op, c.block_of(v, r), c.bytes(v), static_cast<std::uint64_t>(number)};
        flipping::between = &strike;
        const finding f = found_by([&] { c.step(0); });
        flipping::between = nullptr;
        ASSERT_TRUE(struck.is_struck) << c.name_of(v);
        ASSERT_TRUE(f.is_found) << m.strategy << " " << c.name_of(v) << " " << f.text;
        ASSERT_EQ(f.tensor, c.name_of(v)) << f.text;
        ASSERT_EQ(f.rank, r) << f.text;
        ++flips;
      }
    }
  }
  std::printf("%d flips between tasks\n", flips);
  EXPECT_GE(flips, tested::tries(20, 300));
}

// Parameters, states of the optimizer and inputs.
TEST(TaskChecks, FindABitThatChangesBetweenSteps) {
  int flips = 0, number = 0;
  for (const checked_model& m : checked_models()) {
    checked_run c(m, {.state = true}, 1 + number % 2);
    const hp::sharded_program& p = c.program();
    flipping::begin(-1);
    for (int v = 0; v < p.value.size; ++v) {
      const int t = p.value[v].tensor;
      if (p.home[t] != v || !c.used(v)) continue;
      const hp::graph_tensor_kind kind = p.graph.tensor[t].kind;
      for (int r = 0; r < 4; ++r) {
        if (++number % tested::tries(11, 1) != 0) continue;
        c.run.set_first_values();
        c.step(0);
        flipping::flip(c.block_of(v, r), hp::volume(hp::box_of(p, v, r)) * 4, static_cast<std::uint64_t>(number));
        EXPECT_EQ(found_by([&] { c.run.world().block_of(v, r); }).tensor, c.name_of(v));
        const finding f = found_by([&] { c.run.train_step([](int) {}); });
        ASSERT_TRUE(f.is_found) << m.strategy << " " << c.name_of(v) << " on " << r;
        ASSERT_EQ(f.tensor, c.name_of(v)) << f.text;
        ASSERT_EQ(f.rank, r) << f.text;
        EXPECT_NE(f.operation, "");
        flips += kind == hp::graph_tensor_kind::parameter || kind == hp::graph_tensor_kind::state ||
                 kind == hp::graph_tensor_kind::input;
      }
    }
  }
  std::printf("%d flips between steps\n", flips);
  EXPECT_GE(flips, tested::tries(20, 300));
}

// The second part is copied from the first one's target before that has been written, so a second run copies something else.
TEST(TaskChecks, FindACopyThatIsNotWhatTheSecondOneBrings) {
  hp::mesh_shape mesh{1, {2}};
  const hp::sharded_program p =
      programs::one_move(programs::layout_by(mesh, {0}), programs::layout_by(mesh, {-1}), hp::shape{4});
  const hp::program_pulls pulls = hp::pulls_of(p);
  const hp::program_slots slots = hp::detail::slots_of(p, hp::plan_addresses(p));
  const hp::program_memory memory(p, slots);
  hp::detail::task_checks checks(p, pulls, slots, memory, {.moves = true, .state = true});
  const float x[] = {1, 2, 3, 4};
  memory.scatter(0, reinterpret_cast<const std::byte*>(x));
  checks.sums()->take(0);
  const auto tasks = hp::detail::transfers_of(p, pulls, memory, 0);
  for (int r = 0; r < 2; ++r) checks.move(0, 0, r, 1, tasks[static_cast<std::size_t>(r)]);
  checks.sums()->check(1);

  hp::receiver_records copies;
  copies.element_bytes = 4;
  for (const int part : {0, 1}) {
    hp::step_record one;
    one.part.rank = 1;
    one.copy.run = 4;
    one.copy.target_start = part == 0 ? 4 : 0;
    one.first_term = part;
    copies.record.push_back(one);
    copies.sender.push_back(part);
  }
  std::byte* const target = memory.block(1, 1);
  const hp::detail::move_task disturbed(
      copies, [&](int part) { return part == 0 ? target : memory.block(0, 1); }, target);
  const finding f = found_by([&] { checks.move(0, 0, 1, 1, disturbed); });
  EXPECT_EQ(f.text, "\"x\" of rank 1 differs between two runs of the task, first in element 1 of the rank's block");
}

TEST(TaskChecks, WhatIsReadOrSetIsCheckedAnew) {
  flipping::begin(-1);
  checked_run c({"zero3"}, {.state = true});
  c.step(0);
  const int t = c.run.world().tensor("head.norm.weight"), v = c.program().home[t];
  const std::vector<float> kept = c.run.world().get(t);
  flipping::flip(c.block_of(v, 2), 8, 1);
  EXPECT_EQ(tested::error_of([&] { c.run.world().get(t); }),
            "\"head.norm.weight\" of rank 2 is not what was written: its checksum has changed");
  c.run.world().set(t, kept);
  EXPECT_EQ(c.run.world().get(t), kept);
  EXPECT_FALSE(found_by([&] { c.step(1); }).is_found);
}

// Of three steps each task runs twice in one.
TEST(TaskChecks, GoRoundWithTheirShare) {
  checked_run all({"dp"}, {}), share({"dp"}, {.tasks = true, .share = 3});
  flipping::begin(-1);
  all.step(0);
  const std::int64_t calls = flipping::calls;
  flipping::begin(-1);
  for (int k = 0; k < 3; ++k) share.step(k);
  EXPECT_EQ(flipping::calls, 4 * calls);
  EXPECT_EQ(tested::error_of([] { checked_run({"dp"}, {.tasks = true, .share = 0}); }),
            "checks: one in 0 tasks cannot run twice");
}

}  // namespace
