// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mpmd/moe_expert_events.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/mpmd/chain_check.hpp>

#include "chains.hpp"

namespace {

namespace hp = hyperparallel;
using operation = hp::moe_operation;

constexpr hp::moe_expert_events plan(int devices, hp::moe_pass pass, hp::expert_event_form form) {
  hp::moe_expert_events p;
  p.layer = {7168, 2048, 8 * devices, 8, devices * 4096};
  p.devices = devices;
  p.pass = pass;
  p.form = form;
  p.gmm = hp::ascend_910c_die::device.gmm_warm;
  return p;
}
constexpr hp::tile_chain chain(int devices, hp::moe_pass pass, hp::expert_event_form form) {
  return hp::describe_expert_events(plan(devices, pass, form), hp::ascend_910c_die::device,
                                    hp::ascend_910c_die::expert_all_to_all);
}

constexpr hp::moe_pass passes[] = {hp::moe_pass::forward, hp::moe_pass::backward};
constexpr hp::expert_event_form forms[] = {hp::expert_event_form::fused, hp::expert_event_form::serialized};
constexpr hp::machine_shape die{1, {24, 24, 1, 0, 0}};

constexpr hp::chain_builder forward{chain(8, hp::moe_pass::forward, hp::expert_event_form::fused)};
constexpr auto forward_size = hp::measure(forward);
constexpr auto forward_flow = hp::build_fixed<forward_size>(forward);
constexpr auto forward_schedule = hp::schedule_fixed<hp::queue_count(die)>(forward_flow, die);
static_assert(hp::verify(forward_flow, forward_schedule).code == hp::verify_code::ok);

TEST(moe_expert_events, every_order_is_proved) {
  for (const int devices : {2, 4, 8, 16, 32})
    for (const hp::moe_pass pass : passes)
      for (const hp::expert_event_form form : forms) {
        const hp::tile_chain c = chain(devices, pass, form);
        EXPECT_EQ(hp::check(c).code, hp::chain_code::ok);
        for (const hp::priority policy : {hp::priority::upward_rank, hp::priority::reference_order}) {
          const hp::planned_flow f(hp::chain_builder{c}, die, {policy, 0});
          EXPECT_EQ(f.scheduled().code, hp::schedule_code::ok);
          EXPECT_EQ(f.verify().code, hp::verify_code::ok);
        }
      }
}

TEST(moe_expert_events, an_expert_has_a_task_for_each_core_and_one_for_each_piece_of_its_rows) {
  for (const int devices : {4, 8, 16})
    for (const hp::moe_pass pass : passes)
      for (const hp::expert_event_form form : forms) {
        const hp::moe_expert_events p = plan(devices, pass, form);
        const int experts = p.layer.experts / devices;
        const int pieces = static_cast<int>(hp::routed_rows(p.layer)) / p.layer.experts / p.copy_rows;
        const hp::chain_builder build{chain(devices, pass, form)};
        hp::owned_taskflow f(hp::measure(build));
        build(f);
        std::map<int, int> count;
        for (int t = 0; t < f.size.tasks; ++t) ++count[f.task[t].operation];
        const auto of = [&](operation o) { return count[static_cast<int>(o)]; };
        if (pass == hp::moe_pass::forward) {
          for (const operation o : {operation::dispatch, operation::swiglu, operation::combine})
            EXPECT_EQ(of(o), experts * pieces);
          for (const operation o : {operation::gate_up, operation::down}) EXPECT_EQ(of(o), experts * 24);
          EXPECT_EQ(f.size.tasks, experts * (3 * pieces + 2 * 24));
        } else {
          for (const operation o :
               {operation::dispatch_gradient, operation::swiglu_gradient, operation::combine_gradient})
            EXPECT_EQ(of(o), experts * pieces);
          for (const operation o : {operation::act_gradient, operation::input_gradient, operation::down_weight_gradient,
                                    operation::gate_up_weight_gradient})
            EXPECT_EQ(of(o), experts * 24);
          EXPECT_EQ(f.size.tasks, experts * (3 * pieces + 4 * 24));
        }
      }
}

TEST(moe_expert_events, serialized_operators_never_overlap) {
  for (const int devices : {4, 8})
    for (const hp::moe_pass pass : passes) {
      hp::planned_flow f(hp::chain_builder{chain(devices, pass, hp::expert_event_form::serialized)}, die,
                         {hp::priority::upward_rank, 0});
      ASSERT_EQ(f.simulate().result.code, hp::simulation_code::ok);
      std::map<int, std::pair<std::int64_t, std::int64_t>> busy;  // operation -> first start, last end
      for (int t = 0; t < f.flow().size.tasks; ++t) {
        const auto at = busy.try_emplace(f.flow().task[t].operation, f.timeline().start[t], 0).first;
        at->second.first = std::min(at->second.first, f.timeline().start[t]);
        at->second.second = std::max(at->second.second, f.timeline().end[t]);
      }
      std::vector<std::pair<std::int64_t, std::int64_t>> order;
      for (const auto& [o, span] : busy) order.push_back(span);
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order.size(), pass == hp::moe_pass::forward ? 5U : 7U);
      for (std::size_t i = 1; i < order.size(); ++i) EXPECT_GE(order[i].first, order[i - 1].second);
    }
}

TEST(moe_expert_events, a_fused_expert_waits_for_all_rows_of_its_own_and_for_no_other_expert) {
  hp::owned_taskflow f(forward_size);
  forward(f);
  const chain_test::ancestors known(f);
  const int pieces = 4096 * 8 / 8 / 128;
  for (int t = 0; t < forward_size.tasks; ++t) {
    if (forward_flow.task[t].operation != static_cast<int>(operation::gate_up)) continue;
    const int expert = forward_flow.task[t].item / 24;
    int rows = 0;
    for (int a = 0; a < t; ++a)
      if (known.before(a, t)) {
        EXPECT_EQ(forward_flow.task[a].operation, static_cast<int>(operation::dispatch));
        EXPECT_EQ(forward_flow.task[a].item / pieces, expert);
        ++rows;
      }
    EXPECT_EQ(rows, pieces);
  }
}

}  // namespace
