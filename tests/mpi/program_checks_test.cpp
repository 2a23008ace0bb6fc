// SPDX-License-Identifier: Apache-2.0
// processes: 4 2
// One flipped bit in a task, in a block between tasks or steps, or in a message is found within the step and named to all
// processes; without one nothing is, and training has the bits of training without checks.
#include <hyperparallel/mpi/program_world.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "mpi/posted_messages.hpp"
#include "mpi/worlds.hpp"
#include "support/error_of.hpp"
#include "support/tries.hpp"
#include "world/flipping_kernels.hpp"
#include "world/small_models.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

using namespace mpi_worlds;
using tested::posted_messages;
using spread_run = hp::model_run<float, hp::mpi_program_world<float>>;

constexpr hp::corruption_checks all_checks{.tasks = true, .moves = true, .state = true};

/// Four ranks on the processes.
hp::mpi_world four_ranks() {
  return {
      MPI_COMM_WORLD, processes() == 4 ? std::vector<int>{2, 0, 3, 1} : std::vector<int>{1, 0, 0, 1}, {.timeout = 60s}};
}

struct checked_model {
  const char* strategy;
  bool experts = false;
  std::vector<std::string> tiles{};
};
const std::vector<checked_model>& checked_models() {
  static const std::vector<checked_model> all = {
      {"dp"}, {"zero3"}, {"tp-sp"}, {"dp-tp"}, {"ep", true}, {"ep-tp", true}, {"zero3", false, {"*"}}};
  return all;
}

hp::model_run_options options_of(const checked_model& m, const hp::corruption_checks& checks) {
  hp::model_run_options o;
  o.program.tiles = m.tiles;
  o.program.checks = checks;
  o.program.kernels = &flipping::kernel_of;
  return o;
}

/// A model over processes, and where the blocks of its ranks lie.
struct checked_run {
  checked_run(const hp::mpi_world& w, const checked_model& m, const hp::corruption_checks& checks)
      : world(w),
        run(w, small_models::decoder({.experts = m.experts}), hp::strategy_called(m.strategy, 4).strategy,
            options_of(m, checks)) {}
  const hp::sharded_program& program() const { return run.world().program(); }
  std::byte* block_of(int v, int r) const { return const_cast<std::byte*>(run.world().block_of(v, r)); }
  std::string name_of(int v) const { return program().graph.name_of_tensor(program().value[v].tensor); }
  template <class Run>
  static float step_of(Run& run, int batch) {
    return run.train_step([&](int m) { run.set_random_inputs(static_cast<std::uint64_t>(8 * batch + m)); });
  }
  float step(int batch) { return step_of(run, batch); }

  hp::mpi_world world;
  spread_run run;
};

/// The error of all, or "no error".
template <class Work>
std::string found_by(const Work& work) {
  return tested::error_of<hp::mpi_error>(work);
}
/// Of all processes together, so that each does the same.
std::int64_t sum_of_all(std::int64_t here) {
  std::int64_t all = 0;
  MPI_Allreduce(&here, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}
std::int64_t of_process(std::int64_t value, int process) {
  MPI_Bcast(&value, 1, MPI_INT64_T, process, MPI_COMM_WORLD);
  return value;
}
void calm() {
  flipping::begin(-1);
  flipping::between = nullptr;
  posted_messages::damage(-1);
}

TEST(mpi_program_checks, keep_the_bits_of_training_and_report_nothing) {
  calm();
  const hp::mpi_world world = four_ranks();
  int steps = 0;
  for (const checked_model& m : checked_models()) {
    checked_run plain(world, m, {}), checked(world, m, all_checks);
    hp::model_run<float> alone(small_models::decoder({.experts = m.experts}),
                               hp::strategy_called(m.strategy, 4).strategy, options_of(m, {}));
    for (int k = 0; k < tested::tries(3, 150); ++k, ++steps) {
      const float loss = checked.step(k);
      ASSERT_EQ(plain.step(k), loss) << m.strategy << ", step " << k;
      ASSERT_EQ(checked_run::step_of(alone, k), loss) << m.strategy << ", step " << k;
    }
    for (int t = 0; t < plain.run.model().tensor.size; ++t) {
      if (plain.run.model().tensor[t].kind != hp::graph_tensor_kind::parameter || !plain.run.world().is_used(t))
        continue;
      ASSERT_EQ(plain.run.world().get(t), checked.run.world().get(t)) << m.strategy;
    }
    world.channel().agree("silence of " + std::string(m.strategy));
  }
  if (world.process() == 0) std::printf("%d clean steps\n", steps);
}

// Under every strategy, sums of 16 bits and padded shards too.
TEST(mpi_program_checks, report_nothing_under_any_strategy) {
  calm();
  const hp::mpi_world world = four_ranks();
  int strategies = 0, number = 0;
  for (const auto& named : hp::detail::named_strategy_table)
    for (const hp::data_type type : {hp::f32, hp::data_type::bf16}) {
      const hp::strategy_result s = hp::strategy_called(named.name, 4);
      const hp::graph g = small_models::decoder({.micro_batches = 2, .experts = true, .type = type});
      if (!(s.status == hp::strategy_status{}) || hp::partition(g, s.strategy).status.code != hp::strategy_code::ok ||
          number++ % tested::tries(4, 1) != 0)
        continue;
      spread_run plain(world, g, s.strategy), checked(world, g, s.strategy, {.program = {.checks = all_checks}});
      for (int k = 0; k < 2; ++k)
        ASSERT_EQ(checked_run::step_of(plain, k), checked_run::step_of(checked, k)) << named.name;
      ++strategies;
    }
  EXPECT_GE(strategies, tested::tries(6, 25));
}

// Behind a kernel, in the first run of its task or in the second, on one process.
TEST(mpi_program_checks, find_a_bit_that_a_task_sets_wrongly) {
  calm();
  const hp::mpi_world world = four_ranks();
  int flips = 0;
  for (const checked_model& m : checked_models()) {
    checked_run c(world, m, {.tasks = true});
    const float loss = c.step(0);
    for (int p = 0; p < world.processes(); ++p) {
      calm();
      c.run.set_first_values();
      c.step(0);
      const std::int64_t calls = of_process(flipping::calls, p), stride = tested::exhaustive() ? 3 : calls / 3 + 1;
      for (std::int64_t k = flips % stride; k < calls; k += stride, ++flips) {
        c.run.set_first_values();
        flipping::begin(world.process() == p ? k : -1,
                        hp::detail::mix_bits(static_cast<std::uint64_t>(k + 1000 * flips)));
        const std::string found = found_by([&] { c.step(0); });
        ASSERT_EQ(found.find(world.name(p) + ": step "), 0u) << m.strategy << ", call " << k << ": " << found;
        ASSERT_NE(found.find("differs between two runs of the task"), std::string::npos) << found;
        if (world.process() != p) continue;
        const hp::graph& g = c.run.model();
        const auto* op = static_cast<const hp::graph_operator*>(flipping::damaged_operator);
        ASSERT_NE(found.find(std::string(": ") + g.text_at(op->name)), std::string::npos) << found;
        bool is_result = false;
        for (int r = 0; r < op->result_count; ++r)
          is_result = is_result || found.find("\"" + std::string(g.name_of_tensor(op->result[r])) + "\" of rank ") !=
                                       std::string::npos;
        ASSERT_TRUE(is_result) << found;
      }
    }
    calm();
    c.run.set_first_values();
    ASSERT_EQ(c.step(0), loss) << "it goes on";
  }
  if (world.process() == 0) std::printf("%d flips in tasks\n", flips);
  EXPECT_GE(flips, tested::tries(30, 300));
}

// Each message of a step in turn; the receiver names the tensor, and all processes say it.
TEST(mpi_program_checks, find_a_bit_that_flips_in_a_message) {
  calm();
  const hp::mpi_world world = four_ranks();
  int flips = 0;
  for (const checked_model& m : checked_models())
    for (const hp::corruption_checks& checks : {hp::corruption_checks{.moves = true}, {.state = true}}) {
      checked_run c(world, m, checks);
      const float loss = c.step(0);
      for (int p = 0; p < world.processes(); ++p) {
        calm();
        c.run.set_first_values();
        c.step(0);
        const std::int64_t sent = of_process(posted_messages::sent, p),
                           stride = tested::exhaustive() ? 1 : sent / 2 + 1;
        for (std::int64_t k = flips % stride; k < sent; k += stride, ++flips) {
          c.run.set_first_values();
          posted_messages::damage(world.process() == p ? k : -1,
                                  hp::detail::mix_bits(static_cast<std::uint64_t>(k + 77 * flips)));
          const std::string found = found_by([&] { c.step(0); });
          ASSERT_NE(found.find("is not what was written: its checksum has changed"), std::string::npos)
              << m.strategy << ", message " << k << ": " << found;
          ASSERT_NE(found.find("\" of rank "), std::string::npos) << found;
        }
      }
      calm();
      c.run.set_first_values();
      ASSERT_EQ(c.step(0), loss) << "it goes on";
    }
  if (world.process() == 0) std::printf("%d flips in messages\n", flips);
  EXPECT_GE(flips, tested::tries(30, 300));
}

/// A block whose bit is flipped at the first kernel of its process behind the one that writes it.
struct struck_block {
  const void* operation = nullptr;
  std::byte* block = nullptr;
  hp::extent_t bytes = 0;
  std::uint64_t drawn = 0;
  bool is_written = false, is_struck = false;
} struck;

void strike(const hp::operator_call& c) {
  if (struck.is_struck || struck.block == nullptr) return;
  if (struck.is_written) {
    flipping::flip(struck.block, struck.bytes, struck.drawn);
    struck.is_struck = true;
  }
  for (int r = 0; r < c.rule->result_count; ++r)
    struck.is_written = struck.is_written || (c.attributes == struck.operation && c.result[r] == struck.block);
}

// Activations and gradients that an operator writes and another one, or a message, takes later, but for those that are replaced.
TEST(mpi_program_checks, find_a_bit_that_changes_between_tasks) {
  calm();
  const hp::mpi_world world = four_ranks();
  int flips = 0, number = 0;
  for (const checked_model& m : checked_models()) {
    if (!m.tiles.empty()) continue;
    checked_run c(world, m, {.state = true});
    const hp::sharded_program& p = c.program();
    std::vector<int> reads(static_cast<std::size_t>(p.value.size), 0);
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
    c.step(0);
    for (const hp::program_step& s : p.step) {
      if (s.is_move) continue;
      const hp::graph_operator& op = p.graph.op[p.compute[s.index].op];
      const int v = p.compute[s.index].result[0];
      if (reads[static_cast<std::size_t>(v)] == 0 || replaced[static_cast<std::size_t>(p.value[v].storage)] ||
          p.graph.tensor[op.result[0]].type == hp::data_type::i32)
        continue;
      for (int r = 0; r < 4; ++r) {
        if (++number % tested::tries(29, 1) != 0) continue;
        c.run.set_first_values();
        struck = {};
        if (world.hosts(r)) {
          // Where it lies, without a look at its sum: it has no value between steps.
          struck = {&op, nullptr, hp::local_bytes(p, v), static_cast<std::uint64_t>(number)};
          flipping::between = [](const hp::operator_call& call) {
            if (call.attributes == struck.operation && struck.block == nullptr)
              struck.block = static_cast<std::byte*>(call.result[0]);
            strike(call);
          };
        }
        const std::string found = found_by([&] { c.step(0); });
        flipping::between = nullptr;
        const std::int64_t struck_there = sum_of_all(struck.is_struck ? 1 : 0);
        ASSERT_EQ(struck_there, 1) << c.name_of(v);
        ASSERT_NE(found.find("\"" + c.name_of(v) + "\" of rank "), std::string::npos) << m.strategy << " " << found;
        ASSERT_NE(found.find("its checksum has changed"), std::string::npos) << found;
        ++flips;
      }
    }
  }
  if (world.process() == 0) std::printf("%d flips between tasks\n", flips);
  EXPECT_GE(flips, tested::tries(10, 300));
}

// Parameters, states of the optimizer and inputs: by the next step, by `get`, and all say the same.
TEST(mpi_program_checks, find_a_bit_that_changes_between_steps) {
  calm();
  const hp::mpi_world world = four_ranks();
  int flips = 0, number = 0;
  for (const checked_model& m : checked_models()) {
    checked_run c(world, m, {.state = true});
    const hp::sharded_program& p = c.program();
    std::vector<bool> used(static_cast<std::size_t>(p.value.size), false);
    for (const hp::program_step& s : p.step)
      hp::detail::visit_values(p, s, [&](int v, bool) { used[static_cast<std::size_t>(v)] = true; });
    for (int v = 0; v < p.value.size; ++v) {
      const int t = p.value[v].tensor;
      if (p.home[t] != v || !used[static_cast<std::size_t>(v)]) continue;
      for (int r = 0; r < 4; ++r) {
        if (++number % tested::tries(13, 1) != 0) continue;
        c.run.set_first_values();
        c.step(0);
        if (world.hosts(r))
          flipping::flip(c.block_of(v, r), hp::volume(hp::box_of(p, v, r)) * 4,
                         hp::detail::mix_bits(static_cast<std::uint64_t>(number)));
        const std::string who = world.name(world.process_of(r)),
                          what = "\"" + c.name_of(v) + "\" of rank " + std::to_string(r) +
                                 " is not what was written: its checksum has changed";
        if (p.graph.tensor[t].type != hp::data_type::i32) {
          EXPECT_EQ(found_by([&] { c.run.world().get(t); }), who + ": " + what);
        }
        const std::string found = found_by([&] { c.run.train_step([](int) {}); });
        ASSERT_EQ(found.find(who + ": step "), 0u) << m.strategy << " " << found;
        ASSERT_NE(found.find(what), std::string::npos) << m.strategy << " " << found;
        ++flips;
      }
    }
  }
  if (world.process() == 0) std::printf("%d flips between steps\n", flips);
  EXPECT_GE(flips, tested::tries(10, 300));
}

TEST(mpi_program_checks, are_the_same_on_all_processes) {
  const hp::mpi_world world = four_ranks();
  const int last = world.processes() - 1;
  const auto made_with = [&](const hp::corruption_checks& c) {
    return found_by([&] { const checked_run run(world, {"dp"}, c); });
  };
  EXPECT_EQ(made_with({.tasks = true, .share = 0}), world.name(0) + ": checks: one in 0 tasks cannot run twice");
  EXPECT_EQ(made_with({.moves = world.process() == last}),
            world.name(last) + " has \"checks moves share 1\" where " + world.name(0) + " has \"checks share 1\"");
}

}  // namespace
