// SPDX-License-Identifier: Apache-2.0
// What is broken is named: each code once, by the change that breaks it.

#include <hyperparallel/taskflow/macro_check.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "macro_layers.hpp"

namespace {

using namespace taskflow_test;

/// Three layers in a row, in arrays that a test can change.
struct three_layers {
  static constexpr layer_stack<3> stack{};
  static constexpr hp::taskflow_size size = hp::measure(stack);

  three_layers() : table(size.events) {
    schedule = hp::schedule_macro_tasks<layer_queues>(flow, layer_machine, table.table(), contract);
    EXPECT_EQ(chain(), hp::macro_status{});
    EXPECT_EQ(outer(), hp::macro_status{});
  }
  hp::macro_status chain() { return hp::prove_chain(hp::macro_chain{own, queues, place.of, contract}, layer_tiers); }
  hp::macro_status outer() { return hp::prove_macro_tasks(flow, schedule, layer_tiers, table.table(), contract); }

  hp::fixed_taskflow<layer_size> own = layer_flow;
  hp::fixed_schedule<layer_size.tasks, layer_queues> queues = layer_schedule;
  layer_places place;
  hp::fixed_macro_contract<layer_queues, 3> contract = proved_layer.contract;
  hp::fixed_taskflow<size> flow = hp::build_fixed<size>(stack);
  layer_table<3> table;
  hp::fixed_schedule<size.tasks, layer_queues> schedule;
};

struct fault {
  hp::macro_code code;
  std::function<void(three_layers&)> change;
  hp::macro_status expected;  ///< where a field is not -1
};

TEST(MacroCheck, NamesEachFaultOfAChain) {
  using enum hp::macro_code;
  const std::vector<fault> faults = {
      {chain_is_malformed, [](auto& l) { l.own.task[7].rank = 1; }, {.task = 7}},
      {chain_is_unsafe,
       [](auto& l) {
         for (int t = 1; t < 5; ++t) l.own.task[t].wait_end = l.own.task[t].wait_begin;
       },
       {}},
      {contract_is_of_another_chain, [](auto& l) { --l.contract.tasks; }, {}},
      {contract_is_of_another_chain, [](auto& l) { l.contract.queue[1] = 2; }, {.queue = 1}},
      {place_outside_its_block, [](auto& l) { l.place.of[5].block = 3; }, {.slot = 5}},
      {place_outside_its_block, [](auto& l) { l.contract.block[2].tier = 1; }, {.slot = 2}},
      {places_overlap, [](auto& l) { l.place.of[5] = l.place.of[4]; }, {.other = 4, .slot = 5}},
      {access_outside_its_place, [](auto& l) { l.place.of[2].end -= 1; }, {.task = 0, .slot = 2}},
      {access_outside_the_contract, [](auto& l) { l.contract.read[3 * 3] = {0, 29}; }, {.queue = 3, .slot = 0}},
      {access_outside_the_contract, [](auto& l) { l.contract.write[3 * 3 + 1] = {0, 0}; }, {.queue = 3, .slot = 1}},
      {need_outside_the_contract, [](auto& l) { l.contract.needs[1 * 4 + 3] = false; }, {.queue = 1, .other = 3}},
  };
  for (const fault& one : faults) {
    three_layers l;
    one.change(l);
    const hp::macro_status found = l.chain();
    EXPECT_EQ(found.code, one.code) << hp::to_text(found.code) << " for " << hp::to_text(one.code);
    for (const auto field :
         {&hp::macro_status::queue, &hp::macro_status::task, &hp::macro_status::other, &hp::macro_status::slot})
      if (one.expected.*field != -1) {
        EXPECT_EQ(found.*field, one.expected.*field) << hp::to_text(one.code);
      }
    EXPECT_EQ(l.outer().code, chain_is_not_proved);
  }
}

TEST(MacroCheck, NamesEachFaultOfAnInstance) {
  using enum hp::macro_code;
  constexpr int head = 2 * layer_queues, tail = head + layer_queues;  // of the second layer's first queue
  const std::vector<fault> faults = {
      {flow_is_malformed, [](auto& l) { l.flow.task[head].rank = 1; }, {.task = head}},
      {flow_is_unsafe, [](auto& l) { l.flow.task[head].wait_end = l.flow.task[head].wait_begin; }, {.task = head}},
      {flow_is_unsafe, [](auto& l) { l.flow.task[tail].instance = 1; }, {.task = tail}},
      {flow_is_unsafe, [](auto& l) { l.flow.task[head].instance = -1; }, {.task = head}},
      {instance_is_not_whole, [](auto& l) { l.table.instance[1].first_task += layer_queues; }, {.instance = 2}},
      {instance_is_not_whole, [](auto& l) { l.table.instance[1].chain = 1; }, {.instance = 2}},
      {machine_differs, [](auto& l) { l.table.instance[1].first_rank = 1; }, {.instance = 2}},
      {member_on_another_queue, [](auto& l) { l.contract.queue[0] = 1; }, {.instance = 1}},
      {member_lacks_an_access,
       [](auto& l) { l.flow.access[l.flow.task[head].access_begin].begin += 1; },
       {.instance = 2, .task = head}},
      {member_lacks_an_access,
       [](auto& l) {
         --l.flow.task[tail].access_end;
         --l.flow.size.access_uses;
       },
       {.instance = 2, .task = tail, .other = head}},
      {tail_passes_a_head,
       [](auto& l) { l.flow.task[tail].wait_end = l.flow.task[tail].wait_begin; },
       {.instance = 2, .task = tail}},
      {block_is_elsewhere, [](auto& l) { l.table.block[3].slot = 3; }, {.instance = 2, .slot = 3}},
      {block_is_elsewhere, [](auto& l) { l.flow.slot[2].tier = 1; }, {.instance = 1, .slot = 2}},
      {blocks_overlap, [](auto& l) { l.table.block[4] = l.table.block[3]; }, {.instance = 2}},
      {events_are_shared,
       [](auto& l) { l.table.instance[1].first_event -= 1; },
       {.instance = 2, .event = three_layers::size.events + layer_size.events - 1}},
      {task_between_head_and_tail,
       [](auto& l) {
         auto& s = l.schedule;  // all three heads of the first queue before their tails
         const int at = s.queue_begin[0], order[] = {0, head, layer_queues, tail};
         for (int i = 0; i < 4; ++i) s.queue_task[at + i] = order[i];
       },
       {}},
  };
  std::set<hp::macro_code> seen;
  for (const fault& one : faults) {
    three_layers l;
    one.change(l);
    hp::tier_capacities two_tiers = layer_tiers;
    const std::int64_t bytes[] = {1 << 20, 1 << 20};
    two_tiers = {bytes, 2};
    hp::macro_status found = hp::prove_macro_tasks(l.flow, l.schedule, two_tiers, l.table.table(), l.contract);
    if (one.code == task_between_head_and_tail) {
      // A tail that stands behind the next head: no run of the queues has that here, so the conditions are asked alone.
      EXPECT_EQ(found.code, flow_is_unsafe);
      hp::detail::macro_scratch<0, 0, 0, 0, 3> x;
      found = hp::detail::check_instances(l.flow, l.schedule, l.table.table(), x, l.contract);
      EXPECT_EQ(found.task, head);
      EXPECT_EQ(found.other, 0);
    }
    EXPECT_EQ(found.code, one.code) << hp::to_text(found.code) << " for " << hp::to_text(one.code);
    for (const auto field : {&hp::macro_status::instance, &hp::macro_status::task, &hp::macro_status::other,
                             &hp::macro_status::event, &hp::macro_status::slot})
      if (one.expected.*field != -1) {
        EXPECT_EQ(found.*field, one.expected.*field) << hp::to_text(one.code);
      }
    seen.insert(found.code);
  }
  EXPECT_EQ(seen.size(), 11U);
}

}  // namespace
