// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include <hyperparallel/mpmd/chain_check.hpp>
#include <hyperparallel/mpmd/moe_chain.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/owned.hpp>
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

/// Schedules and verifies inside one constant evaluation.
template <hp::taskflow_size Size, int Queues>
constexpr hp::verify_status proof(const hp::fixed_taskflow<Size>& f, int ranks, hp::priority policy) {
  const auto s = hp::schedule_fixed<Queues>(f, machine(ranks), {policy, 1});
  return hp::verify(f, s);
}

/// The same at run time. A flow that is a constant would become straight-line stores here, at the compiler's expense.
hp::verify_status proof(const hp::owned_taskflow& f, int ranks, hp::priority policy) {
  const int queues = hp::queue_count(machine(ranks));
  hp::owned_schedule s(f.size.tasks, queues);
  hp::owned_schedule_scratch scheduling(f.size, queues);
  s.machine = machine(ranks);
  EXPECT_EQ(hp::list_schedule(f, s.machine, {policy, 1}, s, scheduling).code, hp::schedule_code::ok);
  hp::owned_verify_scratch verifying(f.size, queues);
  return hp::verify(f, s, verifying);
}

/// The flow of `plan`, built at run time.
struct built_flow : hp::owned_taskflow {
  explicit built_flow(const hp::moe_plan& plan) : hp::owned_taskflow(hp::measure(hp::moe_builder{plan})) {
    hp::moe_builder{plan}(*this);
    hp::seal(*this);
  }
};

constexpr hp::moe_plan collapsed = small(4, 1, false, 0);
constexpr auto collapsed_size = hp::measure(hp::moe_builder{collapsed});
constexpr auto collapsed_flow = hp::build_fixed<collapsed_size>(hp::moe_builder{collapsed});
static_assert(collapsed_flow.size == collapsed_size);
static_assert(proof<collapsed_size, 6>(collapsed_flow, 1, hp::priority::reference_order).code == hp::verify_code::ok);
static_assert(proof<collapsed_size, 6>(collapsed_flow, 1, hp::priority::upward_rank).code == hp::verify_code::ok);

TEST(moe_chain, every_variant_is_proved_safe) {
  struct variant {
    int devices, ranks;
    bool serialized;
    int buffers;
  };
  for (const variant v :
       {variant{1, 1, false, 0}, variant{4, 1, false, 0}, variant{4, 1, true, 0}, variant{4, 4, false, 0},
        variant{4, 4, true, 0}, variant{4, 4, false, 1}, variant{4, 4, false, 2}, variant{2, 2, false, 3},
        variant{1, 1, false, 2}, variant{8, 8, false, 0}}) {
    const built_flow f(small(v.devices, v.ranks, v.serialized, v.buffers));
    for (const hp::priority policy : {hp::priority::reference_order, hp::priority::upward_rank}) {
      const hp::verify_status status = proof(f, v.ranks, policy);
      EXPECT_EQ(status.code, hp::verify_code::ok) << hp::to_text(status.code) << " task " << status.task << " after "
                                                  << status.other << " slot " << status.slot;
    }
  }
}

TEST(moe_chain, one_rank_of_a_run_is_the_plan_of_one_device) {
  const built_flow f(small(4, 4, false, 0)), of_one(collapsed);
  using key = std::tuple<int, int, int>;  // resource, operation, item
  std::map<key, int> one, many[4];
  for (int t = 0; t < of_one.size.tasks; ++t)
    ++one[{static_cast<int>(of_one.task[t].kind), of_one.task[t].operation, of_one.task[t].item}];
  for (int t = 0; t < f.size.tasks; ++t)
    ++many[f.task[t].rank][{static_cast<int>(f.task[t].kind), f.task[t].operation, f.task[t].item}];
  for (const auto& rank : many) EXPECT_EQ(rank, one);
}

TEST(moe_chain, a_dropped_wait_is_found_and_named) {
  // Every wait of a GMM or SwiGLU task carries a conflict: without it the plan is not proved.
  const built_flow f(collapsed);
  EXPECT_EQ(f.size, collapsed_size);
  int dropped = 0;
  for (int t = 0; t < f.size.tasks; ++t) {
    const auto o = static_cast<hp::moe_operation>(f.task[t].operation);
    if (o != hp::moe_operation::gate_up && o != hp::moe_operation::swiglu && o != hp::moe_operation::down) continue;
    const int kept = f.task[t].wait_end;
    f.task[t].wait_end = f.task[t].wait_begin;
    const hp::verify_status status = proof(f, 1, hp::priority::reference_order);
    EXPECT_EQ(status.code, hp::verify_code::conflict_is_not_ordered);
    EXPECT_EQ(status.task, t);
    f.task[t].wait_end = kept;
    ++dropped;
  }
  EXPECT_EQ(dropped, 16 * (2 + 2 + 2));
}

TEST(moe_chain, each_merge_follows_the_merge_of_the_expert_before) {
  const built_flow f(collapsed);
  for (int t = 0; t < f.size.tasks; ++t) {
    const hp::task& x = f.task[t];
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
