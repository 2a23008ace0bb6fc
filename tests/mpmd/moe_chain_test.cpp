// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include <hyperparallel/mpmd/chain_check.hpp>
#include <hyperparallel/mpmd/moe_chain.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/verify.hpp>

namespace hp = hyperparallel;

namespace {

constexpr hp::moe_plan small(int devices, int ranks, bool serialized, int buffers) {
  hp::moe_plan p;
  p.layer = {8, 4, 8, 2, 8 * 4};
  p.tiling = {2, 4, 4, 1, 2, 1, 2, 3};
  p.devices = devices;
  p.ranks = ranks;
  p.rows_per_pair = 4;
  p.serialized = serialized;
  for (int o = 0; o < hp::moe_operation_count; ++o) p.time.of[o] = 10 + o;
  p.time.local_copy = 3;
  p.time.merge_all = 20;
  if (buffers > 0) {
    p.weights.windowed = true;
    p.weights.buffers = buffers;
    for (int e = 0; e < hp::local_experts(p); ++e) {
      p.weights.buffer[e] = e % buffers;
      p.weights.previous[e] = e < buffers ? -1 : e - buffers;
    }
  }
  return p;
}

constexpr hp::machine_shape machine(int ranks) { return {ranks, {2, 2, 1, 1, 0}}; }

/// Builds, schedules and verifies inside one constant evaluation or at run time.
template <hp::taskflow_size Size, int Queues>
constexpr hp::verify_status proof(const hp::fixed_taskflow<Size>& f, int ranks, hp::priority policy) {
  const auto s = hp::schedule_fixed<Queues>(f, machine(ranks), {policy, 1});
  return hp::verify(f, s);
}

constexpr hp::moe_plan collapsed = small(4, 1, false, 0);
constexpr auto collapsed_size = hp::measure(hp::moe_builder{collapsed});
constexpr auto collapsed_flow = hp::build_fixed<collapsed_size>(hp::moe_builder{collapsed});
static_assert(collapsed_flow.size == collapsed_size);
static_assert(proof<collapsed_size, 6>(collapsed_flow, 1, hp::priority::reference_order).code == hp::verify_code::ok);
static_assert(proof<collapsed_size, 6>(collapsed_flow, 1, hp::priority::upward_rank).code == hp::verify_code::ok);

template <int Devices, int Ranks, bool Serialized, int Buffers>
void expect_safe() {
  static constexpr hp::moe_plan plan = small(Devices, Ranks, Serialized, Buffers);
  static constexpr auto size = hp::measure(hp::moe_builder{plan});
  const auto f = std::make_unique<hp::fixed_taskflow<size>>(hp::build_fixed<size>(hp::moe_builder{plan}));
  EXPECT_EQ(f->size, size);
  for (const hp::priority policy : {hp::priority::reference_order, hp::priority::upward_rank}) {
    const hp::verify_status status = proof<size, Ranks * 6>(*f, Ranks, policy);
    EXPECT_EQ(status.code, hp::verify_code::ok)
        << hp::to_text(status.code) << " task " << status.task << " after " << status.other << " slot " << status.slot;
  }
}

TEST(moe_chain, every_variant_is_proved_safe) {
  expect_safe<1, 1, false, 0>();
  expect_safe<4, 1, false, 0>();
  expect_safe<4, 1, true, 0>();
  expect_safe<4, 4, false, 0>();
  expect_safe<4, 4, true, 0>();
  expect_safe<4, 4, false, 1>();
  expect_safe<4, 4, false, 2>();
  expect_safe<2, 2, false, 3>();
  expect_safe<1, 1, false, 2>();
  expect_safe<8, 8, false, 0>();
}

TEST(moe_chain, one_rank_of_a_run_is_the_plan_of_one_device) {
  static constexpr hp::moe_plan all = small(4, 4, false, 0);
  static constexpr auto size = hp::measure(hp::moe_builder{all});
  const auto f = std::make_unique<hp::fixed_taskflow<size>>(hp::build_fixed<size>(hp::moe_builder{all}));
  using key = std::tuple<int, int, int>;  // resource, operation, item
  std::map<key, int> one, many[4];
  for (int t = 0; t < collapsed_flow.size.tasks; ++t)
    ++one[{static_cast<int>(collapsed_flow.task[t].kind), collapsed_flow.task[t].operation,
           collapsed_flow.task[t].item}];
  for (int t = 0; t < f->size.tasks; ++t)
    ++many[f->task[t].rank][{static_cast<int>(f->task[t].kind), f->task[t].operation, f->task[t].item}];
  for (const auto& rank : many) EXPECT_EQ(rank, one);
}

TEST(moe_chain, a_dropped_wait_is_found_and_named) {
  // Every wait of a GMM or SwiGLU task carries a conflict: without it the plan is not proved.
  const auto f = std::make_unique<hp::fixed_taskflow<collapsed_size>>(collapsed_flow);
  int dropped = 0;
  for (int t = 0; t < f->size.tasks; ++t) {
    const auto o = static_cast<hp::moe_operation>(f->task[t].operation);
    if (o != hp::moe_operation::gate_up && o != hp::moe_operation::swiglu && o != hp::moe_operation::down) continue;
    const int kept = f->task[t].wait_end;
    f->task[t].wait_end = f->task[t].wait_begin;
    const hp::verify_status status = proof<collapsed_size, 6>(*f, 1, hp::priority::reference_order);
    EXPECT_EQ(status.code, hp::verify_code::conflict_is_not_ordered);
    EXPECT_EQ(status.task, t);
    f->task[t].wait_end = kept;
    ++dropped;
  }
  EXPECT_EQ(dropped, 16 * (2 + 2 + 2));
}

TEST(moe_chain, each_merge_follows_the_merge_of_the_expert_before) {
  for (int t = 0; t < collapsed_flow.size.tasks; ++t) {
    const hp::task& x = collapsed_flow.task[t];
    if (x.operation != static_cast<int>(hp::moe_operation::merge)) continue;
    const int expert = x.item / collapsed.tiling.merge_pieces;
    EXPECT_EQ(x.wait_end - x.wait_begin, expert == 0 ? 2 : 3);
  }
}

TEST(moe_chain, every_variant_is_a_chain_that_can_be_lowered) {
  for (const int devices : {1, 2, 4, 8})
    for (const bool serialized : {false, true})
      for (const hp::moe_pass pass : {hp::moe_pass::forward, hp::moe_pass::backward, hp::moe_pass::training})
        for (const hp::moe_scope scope : {hp::moe_scope::layer, hp::moe_scope::experts})
          for (const auto order : {hp::weight_gradient_order::last, hp::weight_gradient_order::interleaved})
            for (const bool even : {false, true}) {
              if (pass == hp::moe_pass::training && scope == hp::moe_scope::experts) continue;  // it needs the layer
              hp::moe_plan p = small(devices, 1, serialized, 0);
              p.pass = pass;
              p.scope = scope;
              p.weight_gradients = order;
              p.even_exchange = even;
              EXPECT_EQ(hp::check(hp::describe_moe(p).chain).code, hp::chain_code::ok);
            }
}

}  // namespace
