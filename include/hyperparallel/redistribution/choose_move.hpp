// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choice among the candidates of a move, by fewest bytes or by least time on given links.
//
// Every candidate is counted and priced from the transfers that its steps emit; the table of all of them stays with the
// choice, so that it can be explained. Candidates that the links do not carry, that exceed the memory limit, or that
// fold terms in another order where that is not wanted, are out of the question; why is in the table. Laws: by time,
// the chosen price is at most every candidate's; by bytes, what all ranks receive is, and without a limit on links that
// carry everything it is the least that any program needs, so it obeys the triangle inequality. Times do so only as far
// as the candidates go. Ties of bytes go to the lower time, ties of time to fewer bytes, then to fewer steps, then to
// the first in order of enumeration.

#include <hyperparallel/redistribution/candidates.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class objective : unsigned char { bytes, time };

constexpr const char* name_of(objective goal) { return goal == objective::bytes ? "bytes" : "time"; }

struct move_request {
  objective goal = objective::bytes;
  interconnect links{};
  extent_t element_bytes = 1;
  extent_t memory_limit = 0;  ///< on `peak_elements`; 0: none
  /// Only candidates that fold terms in the order of positions: the same bits whatever is chosen.
  bool in_order = false;
};

/// A row of the table.
struct move_alternative {
  candidate_code why_not = candidate_code::ok;  ///< ok: it could be chosen
  move_figures figures{};                       ///< where there is a plan
};

enum class choice_code : unsigned char {
  ok,
  move_is_refused,  ///< see `plan.part[0].code`
  element_size_is_not_positive,
  memory_limit_is_negative,
  /// See `check`; or a choice by time has none, or their list names fewer ranks than the mesh has positions.
  links_are_refused,
  links_carry_no_candidate,
  no_candidate_fits_the_memory,  ///< `smallest_peak` says what would
};

struct chosen_move {
  choice_code code = choice_code::ok;
  move_candidate candidate = move_candidate::exchange;
  move_parts plan{};
  move_figures figures{};
  extent_t smallest_peak = 0;  ///< elements, of the candidates that only memory could keep out
  move_alternative alternative[move_candidate_count] = {};
};

namespace detail {

constexpr bool is_better(const move_figures& a, const move_figures& b, objective goal) {
  const extent_t a_time = a.time.picoseconds, b_time = b.time.picoseconds;
  const extent_t first = goal == objective::time ? a_time - b_time : a.received_total - b.received_total;
  const extent_t second = goal == objective::time ? a.received_total - b.received_total : a_time - b_time;
  if (first != 0) return first < 0;
  if (second != 0) return second < 0;
  return a.steps < b.steps;
}

constexpr candidate_code verdict_on(const move_parts& m, const move_figures& f, const move_request& request) {
  if (request.in_order && !folds_by_position(m)) return candidate_code::folds_in_another_order;
  if (!f.time.ok() && f.time.code != cost_code::overflow) return candidate_code::links_do_not_carry_it;
  if (request.memory_limit > 0 && f.peak_elements > request.memory_limit)
    return candidate_code::exceeds_the_memory_limit;
  return candidate_code::ok;
}

constexpr choice_code check_request(const move_request& request) {
  if (request.element_bytes < 1) return choice_code::element_size_is_not_positive;
  if (request.memory_limit < 0) return choice_code::memory_limit_is_negative;
  return check(request.links) == cost_code::ok ? choice_code::ok : choice_code::links_are_refused;
}

/// Whether what `max_move_steps` steps may move together stays within 64 bits. Domain: `p` is planned.
constexpr bool can_be_counted(const move_plan& p, const mesh_shape& m) {
  const extent_t terms = group_size(m, axes_of(m, p.reduced));
  const checked_extent copies = checked_multiply(element_count(p.shape).value, position_count(m));
  return !copies.overflow && !checked_multiply(copies.value, terms + max_move_steps).overflow;
}

}  // namespace detail

/// Chooses among the candidates of `source` → `target` for a tensor of shape `s`. `entries` is scratch of
/// `tally_size(request.links, positions)`. O(candidates · steps · positions · transfers of a receiver).
constexpr chosen_move choose_move(const layout_value& source, const layout_value& target, const shape& s,
                                  const move_request& request, extent_t* entries) {
  chosen_move choice;
  choice.code = detail::check_request(request);
  if (choice.code != choice_code::ok) return choice;
  const candidate_source candidates = candidates_of(source, target, s, request.links);
  if (candidates.exchange.code != move_code::ok) {
    choice.code = choice_code::move_is_refused;
    choice.plan.part[0] = candidates.exchange;
    return choice;
  }
  if (!detail::can_be_counted(candidates.exchange, source.mesh)) {
    choice.code = choice_code::move_is_refused;
    choice.plan.part[0].code = move_code::traffic_overflows;
    return choice;
  }
  const int ranks = request.links.ranks.count;
  const bool unpriced = request.goal == objective::time && request.links.kind == interconnect_kind::unpriced &&
                        candidates.exchange.step_count > 0;
  if (unpriced || (ranks > 0 && ranks < position_count(source.mesh))) {
    choice.code = choice_code::links_are_refused;
    return choice;
  }
  bool found = false, carried = false;
  for (int i = 0; i < move_candidate_count; ++i) {
    const move_candidate candidate = static_cast<move_candidate>(i);
    move_alternative& row = choice.alternative[i];
    const candidate_result built = build_candidate(candidates, candidate);
    row.why_not = built.code;
    if (built.code != candidate_code::ok) continue;
    row.figures = figures_of(built.parts, request.links, request.element_bytes, entries);
    row.why_not = detail::verdict_on(built.parts, row.figures, request);
    if (row.why_not != candidate_code::ok && row.why_not != candidate_code::exceeds_the_memory_limit) continue;
    choice.smallest_peak =
        carried ? smaller(choice.smallest_peak, row.figures.peak_elements) : row.figures.peak_elements;
    carried = true;
    if (row.why_not != candidate_code::ok) continue;
    if (found && !detail::is_better(row.figures, choice.figures, request.goal)) continue;
    found = true;
    choice.candidate = candidate;
    choice.plan = built.parts;
    choice.figures = row.figures;
  }
  if (!found) choice.code = carried ? choice_code::no_candidate_fits_the_memory : choice_code::links_carry_no_candidate;
  return choice;
}

}}  // namespace hyperparallel::v0_2
