// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is said of chains and macro tasks that are not proved: which condition of macro_check.hpp is broken, and where.

#include <hyperparallel/support/enum_text.hpp>
#include <hyperparallel/taskflow/flow_check.hpp>
#include <hyperparallel/taskflow/verify_order.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class macro_code : unsigned char {
  ok,
  chain_is_malformed,
  chain_is_unsafe,
  contract_is_of_another_chain,
  place_outside_its_block,
  places_overlap,
  access_outside_its_place,
  access_outside_the_contract,
  need_outside_the_contract,
  chain_is_not_proved,
  flow_is_malformed,
  flow_is_unsafe,
  instance_is_not_whole,
  machine_differs,
  member_on_another_queue,
  member_lacks_an_access,
  tail_passes_a_head,
  block_is_elsewhere,
  blocks_overlap,
  events_are_shared,
  task_between_head_and_tail,
};

/// `task` is of the chain for what is said of chains, of the outer flow otherwise; so are `queue`, `event` and `slot`.
/// `other`: the task or queue that it is at odds with. `instance` counts from one, as in tasks. Where `check_flow` or
/// `verify` refuses, `structure` or `safety` says how. -1 where a field says nothing.
struct macro_status {
  macro_code code = macro_code::ok;
  int instance = -1, queue = -1, task = -1, other = -1, event = -1, slot = -1;
  flow_code structure = flow_code::ok;
  verify_code safety = verify_code::ok;
  friend constexpr bool operator==(const macro_status&, const macro_status&) = default;
};

constexpr const char* to_text(macro_code c) {
  constexpr const char* texts[] = {"ok",
                                   "the chain's flow is malformed",
                                   "the chain is not safe on its own slots",
                                   "the contract is of a chain with other queues, tasks or events",
                                   "a slot of the chain lies outside its block, or on another rank or tier than it",
                                   "two slots of the chain share units of a block",
                                   "a task of the chain uses more of a slot than its place has",
                                   "a task of the chain uses what the contract of its queue does not say",
                                   "a queue of the chain depends on one that its contract does not name",
                                   "the chain is not proved",
                                   "the outer flow is malformed",
                                   "the outer flow is not safe",
                                   "an instance is not one head and one tail for each queue of its chain",
                                   "the chain's machine does not fit into that of the outer flow",
                                   "a head or tail sits in another queue than the chain's",
                                   "a head or tail lacks an access of the contract",
                                   "a tail does not wait for the head of a queue that its own needs",
                                   "a block is put on a slot of another rank or tier, or outside it",
                                   "two blocks of an instance share units of a slot",
                                   "two instances share events",
                                   "a task stands between head and tail of an instance"};
  return detail::enum_text<macro_code::task_between_head_and_tail>(texts, c);
}

}}  // namespace hyperparallel::v0_2
