// SPDX-License-Identifier: Apache-2.0
#pragma once
// The proof of a flow with macro tasks: `describe_chain` and `prove_chain` once for each chain, `prove_macro_tasks` for
// the outer flow with all instances.
//
// Law: what both accept is safe when unrolled, see macro_check.hpp for the theorem. Fixed forms work in a constant
// expression; run-time forms take the memory that they work in themselves. Complexity: `prove_chain`: `check_flow`,
// `verify`, and O(accesses + (waits + signals) · queues); `prove_macro_tasks`: both of the outer flow, and for each
// instance O(queues · (queues + blocks)) searches among a member's few waits and accesses.

#include <hyperparallel/taskflow/macro_check.hpp>
#include <hyperparallel/taskflow/owned.hpp>
#include <hyperparallel/taskflow/verify.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The bytes of each tier of a rank.
struct tier_capacities {
  const std::int64_t* bytes = nullptr;
  int tiers = 0;
};

namespace detail {

template <taskflow_size Size>
constexpr flow_status judge_structure(const fixed_taskflow<Size>& f, int ranks, const tier_capacities& tiers) {
  return check_flow(f, ranks, tiers.bytes, tiers.tiers);
}
inline flow_status judge_structure(const dynamic_taskflow& f, int ranks, const tier_capacities& tiers) {
  owned_flow_scratch x(f.size);
  return check_flow(f, ranks, tiers.bytes, tiers.tiers, x);
}

template <taskflow_size Size, int Queues>
constexpr verify_status judge_safety(const fixed_taskflow<Size>& f, const fixed_schedule<Size.tasks, Queues>& s) {
  return verify(f, s);
}
inline verify_status judge_safety(const dynamic_taskflow& f, const dynamic_schedule& s) {
  owned_verify_scratch x(f.size, queue_count(s.machine));
  return verify(f, s, x);
}

/// What the checker of structure or of safety says, as a refusal of macro tasks.
constexpr macro_status refused(macro_code code, const flow_status& why) {
  return {code, -1, -1, why.task, why.other, why.event, why.slot, why.code};
}
constexpr macro_status refused(macro_code code, const verify_status& why) {
  return {code, -1, -1, why.task, why.other, why.event, why.slot, flow_code::ok, why.code};
}

constexpr int most_of(int a, int b) { return a < b ? b : a; }

template <int... Number>
constexpr int largest() {
  int found = 0;
  ((found = most_of(found, Number)), ...);
  return found;
}

struct owned_macro_scratch
    : macro_scratch<run_time_count, run_time_count, run_time_count, run_time_count, run_time_count> {
  owned_macro_scratch(const taskflow_size& n, int queues, int slots) {
    memory.take_each(queues, number, free);
    memory.take_each(n.events, raised);
    memory.take_each(n.events * queues, signalled);
    memory.take_each(queues * queues, needs);
    memory.take_each(slots, slot, sorted, merged);
  }
  scratch_memory memory;
};

/// Calls `work` with the memory that a chain takes.
template <taskflow_size Size, int Queues, int Blocks, int Uses, int Pairs, class Work>
constexpr auto with_chain_scratch(const fixed_taskflow<Size>&, const macro_contract<Queues, Blocks, Uses, Pairs>&, int,
                                  int, const Work& work) {
  macro_scratch<Queues, Size.events, Size.events * Queues, Pairs, most_of(Size.slots, Blocks)> x;
  return work(x);
}
template <class Work>
auto with_chain_scratch(const dynamic_taskflow& f, const dynamic_macro_contract&, int queues, int blocks,
                        const Work& work) {
  owned_macro_scratch x(f.size, queues, most_of(f.size.slots, blocks));
  return work(x);
}

/// Calls `work` with the memory that the instances of an outer flow take.
template <taskflow_size Size, int... Queues, int... Blocks, int... Uses, int... Pairs, class Work>
constexpr macro_status with_table_scratch(const fixed_taskflow<Size>&, const Work& work,
                                          const macro_contract<Queues, Blocks, Uses, Pairs>&...) {
  macro_scratch<0, 0, 0, 0, largest<Blocks...>()> x;
  return work(x);
}
template <class Work, class... Contract>
macro_status with_table_scratch(const dynamic_taskflow&, const Work& work, const Contract&... contract) {
  int most = 0;
  ((most = most_of(most, contract.blocks)), ...);
  owned_macro_scratch x({}, 0, most);
  return work(x);
}

}  // namespace detail

/// Fills the chain's contract, not yet proved. `blocks`: how many blocks its places name; `synchronisation`: latency of
/// a wait, as in `simulate`. Domain: `check_flow` and `verify` accept the chain, and places name blocks that there are.
template <class Flow, class Schedule, class Contract>
constexpr void describe_chain(const macro_chain<Flow, Schedule, Contract>& chain, int blocks,
                              std::int64_t synchronisation = 0) {
  (void)detail::with_chain_scratch(chain.flow, chain.contract, queue_count(chain.schedule.machine), blocks,
                                   [&](auto& x) {
                                     detail::fill_contract(chain, blocks, synchronisation, x);
                                     return 0;
                                   });
}

/// Conditions (1) and (2), and that slots of the chain are disjoint in blocks. The contract may be from anywhere; it is
/// marked as proved if the chain keeps it.
template <class Flow, class Schedule, class Contract>
constexpr macro_status prove_chain(const macro_chain<Flow, Schedule, Contract>& chain, const tier_capacities& tiers) {
  chain.contract.proved = false;
  const flow_status structure = detail::judge_structure(chain.flow, chain.schedule.machine.ranks, tiers);
  if (structure.code != flow_code::ok) return detail::refused(macro_code::chain_is_malformed, structure);
  const verify_status safety = detail::judge_safety(chain.flow, chain.schedule);
  if (safety.code != verify_code::ok) return detail::refused(macro_code::chain_is_unsafe, safety);
  const macro_status found =
      detail::with_chain_scratch(chain.flow, chain.contract, queue_count(chain.schedule.machine), chain.contract.blocks,
                                 [&](auto& x) { return detail::check_contract(chain, x); });
  chain.contract.proved = found.code == macro_code::ok;
  return found;
}

/// Conditions (3) to (7): the outer flow is safe, and each instance stands in it as the contract of its chain asks.
/// `contract`: of all chains, in the order of `macro_instance::chain`. Domain: the table's lists are as long as its
/// instances say.
template <class Flow, class Schedule, class... Contract>
constexpr macro_status prove_macro_tasks(const Flow& f, const Schedule& s, const tier_capacities& tiers,
                                         const macro_table& table, const Contract&... contract) {
  const flow_status structure = detail::judge_structure(f, s.machine.ranks, tiers);
  if (structure.code != flow_code::ok) return detail::refused(macro_code::flow_is_malformed, structure);
  const verify_status safety = detail::judge_safety(f, s);
  if (safety.code != verify_code::ok) return detail::refused(macro_code::flow_is_unsafe, safety);
  return detail::with_table_scratch(
      f, [&](auto& x) { return detail::check_instances(f, s, table, x, contract...); }, contract...);
}

}}  // namespace hyperparallel::v0_2
