// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a planner of memory tiers is told: one period of something that repeats, a micro-batch, a training step or a
// decode step. Operators in the order of issue, storages with their accesses in it, tiers of memory, links between
// them.
//
// Tier 0 is where operators run; its capacity is the budget. A persistent storage (parameter, optimizer state, cache)
// holds a value before the first operator and after the last one, and carries it into the next period; all others come
// into being at their first access, a write, and are gone after their last. Times are picoseconds, amounts bytes.
// Laws: `check` names the first fault, and O(program) is all it takes; everything behind it may rely on what it checks.

#include <hyperparallel/offload/offload_link.hpp>
#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int most_tiers = max_memory_tiers;
inline constexpr int most_links = 32;

/// What becomes of a storage between two of its accesses.
enum class gap_choice : unsigned char { keep, offload, recompute };

/// What a user says of a storage; automatic: the planner decides.
enum class offload_control : unsigned char { automatic, keep, offload, recompute };

/// `link` ≥ 0: a collective that holds that link instead of computing. `movable`: order refinement may shift it.
struct offload_operator {
  extent_t duration = 0;
  int link = -1;
  bool movable = false;
  friend constexpr bool operator==(const offload_operator&, const offload_operator&) = default;
};

/// At most one per storage and operator.
struct storage_access {
  int op = 0;
  bool reads = false;
  bool writes = false;
  friend constexpr bool operator==(const storage_access&, const storage_access&) = default;
};

struct offload_storage {
  extent_t bytes = 0;
  int first_access = 0, access_count = 0;  ///< into offload_program::access, by rising operator
  bool persistent = false;
  extent_t recompute = -1;                   ///< how long it takes, or -1: it cannot be
  int first_operand = 0, operand_count = 0;  ///< storages that recomputation reads, into offload_program::operand
  offload_control control = offload_control::automatic;
  int tier = -1;   ///< where control sends it; -1: the planner's choice
  int label = -1;  ///< the caller's number
  friend constexpr bool operator==(const offload_storage&, const offload_storage&) = default;
};

/// `in_link` carries towards tier 0 and `out_link` away from it; tier 0 has neither. Tiers and collectives may share
/// links; in_link == out_link is a half duplex line.
struct offload_tier {
  extent_t capacity = 0;
  int in_link = -1, out_link = -1;
  friend constexpr bool operator==(const offload_tier&, const offload_tier&) = default;
};

struct offload_program {
  growing_array<offload_operator> op;
  growing_array<offload_storage> storage;
  growing_array<storage_access> access;
  growing_array<int> operand;
  growing_array<offload_tier> tier;
  growing_array<offload_link> link;
  friend constexpr bool operator==(const offload_program&, const offload_program&) = default;
};

enum class offload_code : unsigned char {
  ok,
  no_tier,
  too_many_tiers_or_links,
  capacity_is_not_positive,
  tier_without_link,
  bandwidth_is_not_positive,
  latency_is_negative,
  duration_is_negative,
  operator_on_unknown_link,
  bytes_are_negative,
  accesses_are_outside_the_program,
  accesses_are_not_in_order,
  access_neither_reads_nor_writes,
  storage_is_read_before_it_is_written,
  operand_is_outside_the_program,
  storage_is_its_own_operand,
  control_names_unknown_tier,
  control_offloads_without_tier,
  control_recomputes_what_cannot_be,
  sum_exceeds_64_bits,
};

/// What is at fault, -1 where the fault is none of that kind, and the numbers that do not go together.
struct offload_status {
  offload_code code = offload_code::ok;
  int op = -1, storage = -1, tier = -1, link = -1;
  extent_t found = 0, limit = 0;
  friend constexpr bool operator==(const offload_status&, const offload_status&) = default;
};

constexpr const char* to_text(offload_code c) {
  constexpr const char* texts[] = {"ok",
                                   "there is no tier to run in",
                                   "there are more tiers or links than the planner takes",
                                   "the tier's capacity is not positive",
                                   "the tier has no link in or no link out",
                                   "the link's bandwidth is not positive",
                                   "the link's latency is negative",
                                   "the operator's duration is negative",
                                   "the operator holds a link that does not exist",
                                   "the storage's bytes are negative",
                                   "the storage's accesses are outside the program",
                                   "the storage's accesses are not in the order of operators",
                                   "an access neither reads nor writes",
                                   "the storage is read before it is written and is not persistent",
                                   "an operand of recomputation is outside the program",
                                   "the storage's recomputation reads the storage itself",
                                   "control sends the storage to a tier that does not exist",
                                   "control offloads the storage, and there is only one tier",
                                   "control recomputes a storage that cannot be recomputed",
                                   "a sum over the program exceeds 64 bits"};
  return texts[static_cast<int>(c)];
}

namespace detail {

constexpr offload_status check_machine(const offload_program& p) {
  using enum offload_code;
  if (p.tier.size < 1) return {.code = no_tier};
  if (p.tier.size > most_tiers) return {.code = too_many_tiers_or_links, .found = p.tier.size, .limit = most_tiers};
  if (p.link.size > most_links) return {.code = too_many_tiers_or_links, .found = p.link.size, .limit = most_links};
  for (int l = 0; l < p.link.size; ++l) {
    if (p.link[l].bytes_per_second < 1)
      return {.code = bandwidth_is_not_positive, .link = l, .found = p.link[l].bytes_per_second, .limit = 1};
    if (p.link[l].latency < 0) return {.code = latency_is_negative, .link = l, .found = p.link[l].latency};
  }
  for (int t = 0; t < p.tier.size; ++t) {
    const offload_tier& tier = p.tier[t];
    if (tier.capacity < 1) return {.code = capacity_is_not_positive, .tier = t, .found = tier.capacity, .limit = 1};
    if (t == 0) continue;
    const int both[] = {tier.in_link, tier.out_link};
    for (const int l : both)
      if (l < 0 || l >= p.link.size)
        return {.code = tier_without_link, .tier = t, .link = l, .found = l, .limit = p.link.size};
  }
  for (int q = 0; q < p.op.size; ++q) {
    if (p.op[q].duration < 0) return {.code = duration_is_negative, .op = q, .found = p.op[q].duration};
    if (p.op[q].link >= p.link.size)
      return {.code = operator_on_unknown_link, .op = q, .link = p.op[q].link, .limit = p.link.size};
  }
  return {};
}

constexpr offload_status check_accesses(const offload_program& p, int s) {
  using enum offload_code;
  const offload_storage& storage = p.storage[s];
  if (storage.bytes < 0) return {.code = bytes_are_negative, .storage = s, .found = storage.bytes};
  const int first = storage.first_access, count = storage.access_count;
  if (first < 0 || count < 0 || first > p.access.size - count)
    return {.code = accesses_are_outside_the_program,
            .storage = s,
            .found = extent_t{first} + count,
            .limit = p.access.size};
  for (int a = first; a < first + count; ++a) {
    const storage_access& one = p.access[a];
    const int earliest = a == first ? 0 : p.access[a - 1].op + 1;
    if (one.op < earliest || one.op >= p.op.size)
      return {.code = accesses_are_not_in_order, .op = one.op, .storage = s, .found = one.op, .limit = earliest};
    if (!one.reads && !one.writes) return {.code = access_neither_reads_nor_writes, .op = one.op, .storage = s};
    if (a == first && !storage.persistent && (one.reads || !one.writes))
      return {.code = storage_is_read_before_it_is_written, .op = one.op, .storage = s};
  }
  const int operand = storage.first_operand, operands = storage.operand_count;
  if (operand < 0 || operands < 0 || operand > p.operand.size - operands)
    return {.code = operand_is_outside_the_program,
            .storage = s,
            .found = extent_t{operand} + operands,
            .limit = p.operand.size};
  for (int o = operand; o < operand + operands; ++o) {
    if (p.operand[o] < 0 || p.operand[o] >= p.storage.size)
      return {.code = operand_is_outside_the_program, .storage = s, .found = p.operand[o], .limit = p.storage.size};
    if (p.operand[o] == s) return {.code = storage_is_its_own_operand, .storage = s};
  }
  return {};
}

constexpr offload_status check_control(const offload_program& p, int s) {
  using enum offload_code;
  const offload_storage& storage = p.storage[s];
  if (storage.tier == 0 || storage.tier < -1 || storage.tier >= p.tier.size)
    return {.code = control_names_unknown_tier, .storage = s, .found = storage.tier, .limit = p.tier.size};
  if (storage.control == offload_control::offload && p.tier.size < 2)
    return {.code = control_offloads_without_tier, .storage = s};
  if (storage.control == offload_control::recompute && (storage.recompute < 0 || storage.persistent))
    return {.code = control_recomputes_what_cannot_be, .storage = s};
  return {};
}

/// Whether all times and bytes that one period can add up to stay within 64 bits.
constexpr bool sums_fit(const offload_program& p) {
  extent_t bytes = 0, time = 0;
  bool overflow = false;
  const auto add = [&overflow](extent_t& sum, extent_t value) {
    const checked_extent next = checked_add(sum, value);
    overflow = overflow || next.overflow || value == longest_time;
    sum = next.value;
  };
  for (const offload_operator& one : p.op) add(time, one.duration);
  for (const offload_storage& storage : p.storage) {
    add(bytes, storage.bytes);
    for (int a = 0; a < storage.access_count && !overflow; ++a) {
      if (storage.recompute > 0) add(time, storage.recompute);
      for (int t = 1; t < p.tier.size; ++t) {
        add(time, link_copy_time(p.link[p.tier[t].in_link], storage.bytes));
        add(time, link_copy_time(p.link[p.tier[t].out_link], storage.bytes));
      }
    }
  }
  return !overflow;
}

}  // namespace detail

/// The first fault: of links and tiers, then of operators, then of storages in their order. O(program).
constexpr offload_status check(const offload_program& p) {
  offload_status status = detail::check_machine(p);
  for (int s = 0; s < p.storage.size && status.code == offload_code::ok; ++s) {
    status = detail::check_accesses(p, s);
    if (status.code == offload_code::ok) status = detail::check_control(p, s);
  }
  if (status.code == offload_code::ok && !detail::sums_fit(p)) status.code = offload_code::sum_exceeds_64_bits;
  return status;
}

}}  // namespace hyperparallel::v0_2
