// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds the candidates of a move, each by its rule (move_candidate.hpp). Layouts on the way are never enumerated.
//
// Laws: every candidate ends with every device holding its target block; candidates that reduce in several steps fold
// terms axis by axis and not in the order of positions.

#include <hyperparallel/redistribution/move_candidate.hpp>
#include <hyperparallel/redistribution/stepwise_move.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct candidate_result {
  candidate_code code = candidate_code::ok;
  move_parts parts{};
};

/// What all candidates of a move share.
struct candidate_source {
  move_plan exchange{};
  refined_move refined{};
  interconnect net{};
};

namespace detail {

candidate_source candidates_of_in_library(const layout_value& source, const layout_value& target, const shape& s,
                                          const interconnect& net);
constexpr candidate_source candidates_of_here(const layout_value& source, const layout_value& target, const shape& s,
                                              const interconnect& net) {
  candidate_source c;
  c.exchange = plan_move(source, target, s);
  c.net = net;
  if (c.exchange.code == move_code::ok && c.exchange.step_count > 0)
    c.refined = refine_move(source, target, s, c.exchange.kind, net);
  return c;
}

}  // namespace detail

constexpr candidate_source candidates_of(const layout_value& source, const layout_value& target, const shape& s,
                                         const interconnect& net) {
  HYPERPARALLEL_TWIN(detail::candidates_of_in_library(source, target, s, net));
  return detail::candidates_of_here(source, target, s, net);
}

namespace detail {

/// Axis by axis; `outer_first` speaks of gathers.
template <class Move>
constexpr void by_axes(Move& m, const refined_move& r, bool outer_first, bool slices = false, bool parks = false) {
  step_to(m, r, sliced_state(r, m.state, slices), serving::nearest);
  reduce_axes(m, r, every_axis(r.mesh, !outer_first));
  move_axes_in(m, r, every_axis(r.mesh, outer_first), parks);
  finish_move(m, r, serving::nearest);
}

template <class Move>
constexpr void in_normal_form(Move& m, const refined_move& r) {
  const move_state sliced = sliced_state(r, m.state, true), parked = parked_state(r);
  step_to(m, r, sliced, serving::balanced);
  if (pieces_of(r, parked) >= pieces_of(r, r.source)) step_to(m, r, parked, serving::balanced);
  finish_move(m, r, serving::balanced);
}

/// The steps of a candidate in one part that goes from state to state: any but the exchange.
template <class Move>
constexpr void step_by_step(Move& m, const refined_move& r, move_candidate candidate) {
  if (candidate == move_candidate::one_shot)
    finish_move(m, r, serving::nearest);
  else if (candidate == move_candidate::normal_form)
    in_normal_form(m, r);
  else
    by_axes(m, r, candidate != move_candidate::inner_first, candidate == move_candidate::sliced,
            candidate == move_candidate::parked);
}

/// The elements, of `n`, that go through both gathers inner axis first so that the second ones end together: the share
/// x B_x / (x B_x + y B_y), x the outer axis, to the nearest.
constexpr extent_t inner_share(const interconnect& net, int outer, int inner, extent_t n) {
  const wide_unsigned row = product(net.mesh.size[outer], net.along[outer].bandwidth).value;
  const wide_unsigned column = product(net.mesh.size[inner], net.along[inner].bandwidth).value;
  wide_unsigned parts = row + column, share = row;
  while (parts >> 64 != 0) {  // so that n times it stays within 128 bits
    parts >>= 1;
    share >>= 1;
  }
  return parts == 0 ? 0 : static_cast<extent_t>((static_cast<wide_unsigned>(n) * share + parts / 2) / parts);
}

/// Spare factors that the move uses axis by axis; the others are dims like any.
constexpr refined_move with_used_spares(refined_move r, bool parks) {
  for (int d = 0; d < r.blank.shape.rank; ++d) {
    const int a = r.spare_of[d];
    if (a < 0 || (r.blank.reduced >> a & 1u) != 0) continue;
    if (!parks || !owns_any(r.source, r.blank.shape.rank, a)) r.spare_of[d] = -1;
  }
  return r;
}

constexpr candidate_result in_both_orders(const candidate_source& c, bool equal_shares) {
  candidate_result result;
  int axes = 0, axis[2] = {};
  for (int a = 0; a < c.net.mesh.axis_count; ++a)
    if (c.net.mesh.size[a] > 1 && axes++ < 2) axis[axes - 1] = a;
  if (c.net.kind != interconnect_kind::full_mesh || axes != 2) {
    result.code = candidate_code::mesh_is_not_two_dimensional;
    return result;
  }
  move_parts& m = result.parts;
  const refined_move whole = with_used_spares(c.refined, equal_shares);
  m.dim = largest_unowned(whole, 1);
  const extent_t n = m.dim < 0 ? 0 : whole.blank.shape.extent[m.dim];
  m.split = equal_shares ? n / 2 : inner_share(c.net, axis[0], axis[1], n);
  if (m.split == 0 || m.split == n) {
    result.code = candidate_code::no_dim_can_be_shared;
    return result;
  }
  for (int i = 0; i < 2; ++i) {
    refined_move part = whole;
    part.blank.shape.extent[m.dim] = i == 0 ? m.split : n - m.split;
    stepwise_move steps = begin_move(part);
    by_axes(steps, part, i == 1, false, equal_shares);
    if (!steps.fits) result.code = candidate_code::too_many_steps;
    m.part[i] = steps.plan;
  }
  m.count = 2;
  return result;
}

constexpr candidate_result one_part(const stepwise_move& m) {
  candidate_result result;
  if (!m.fits) {
    result.code = candidate_code::too_many_steps;
    return result;
  }
  result.parts.count = 1;
  result.parts.part[0] = m.plan;
  return result;
}

constexpr candidate_code code_of(refined_code code) {
  constexpr candidate_code codes[] = {candidate_code::ok, candidate_code::tensor_is_empty,
                                      candidate_code::cut_points_do_not_refine, candidate_code::too_many_dims};
  return codes[static_cast<int>(code)];
}

constexpr bool has_place_to_wait(const refined_move& r) {
  for (int d = 0; d < r.blank.shape.rank; ++d)
    if (r.spare_of[d] >= 0 && owns_any(r.source, r.blank.shape.rank, r.spare_of[d])) return true;
  return false;
}

/// Of a candidate that goes from state to state; the exchange of the move has a step. `sliced` is the source with what
/// is sliced without spares.
constexpr candidate_code refusal_of(const refined_move& r, const move_state& sliced, move_candidate candidate) {
  if (sliced == r.target) return candidate_code::nothing_moves;
  if (candidate == move_candidate::one_shot && r.blank.reduced == 0) return candidate_code::nothing_is_reduced;
  if (candidate == move_candidate::sliced && sliced_state(r, r.source, true) == sliced)
    return candidate_code::no_axis_is_idle;
  if (candidate == move_candidate::parked && !has_place_to_wait(r)) return candidate_code::no_axis_is_in_the_way;
  return candidate_code::ok;
}

constexpr candidate_code refusal_of(const candidate_source& c, move_candidate candidate) {
  if (c.exchange.code != move_code::ok) return candidate_code::move_is_refused;
  if (candidate == move_candidate::exchange) return candidate_code::ok;
  if (c.exchange.step_count == 0) return candidate_code::nothing_moves;
  if (const candidate_code code = code_of(c.refined.code); code != candidate_code::ok) return code;
  return refusal_of(c.refined, sliced_state(c.refined, c.refined.source, false), candidate);
}

}  // namespace detail

/// Whether terms are folded in the order of positions, so that floating-point results are those of the exchange.
constexpr bool folds_by_position(const move_parts& m) {
  for (int i = 0; i < m.count; ++i) {
    int reductions = 0;
    for (int k = 0; k < m.part[i].step_count; ++k)
      if (m.part[i].step[k].kind == step_kind::reduce && ++reductions == 2) return false;
  }
  return true;
}

namespace detail {

candidate_result build_candidate_in_library(const candidate_source& c, move_candidate candidate);
constexpr candidate_result build_candidate_here(const candidate_source& c, move_candidate candidate) {
  candidate_result result;
  result.code = detail::refusal_of(c, candidate);
  if (result.code != candidate_code::ok) return result;
  switch (candidate) {
    case move_candidate::exchange:
      result.parts.count = 1;
      result.parts.part[0] = c.exchange;
      return result;
    case move_candidate::both_orders:
    case move_candidate::halves:
      return detail::in_both_orders(c, candidate == move_candidate::halves);
    default:
      break;
  }
  stepwise_move steps = begin_move(c.refined);
  detail::step_by_step(steps, c.refined, candidate);
  return detail::one_part(steps);
}

}  // namespace detail

/// Builds one candidate. Its kind is that of the exchange, whatever its steps. O(axes² · dims² + a plan per step).
constexpr candidate_result build_candidate(const candidate_source& c, move_candidate candidate) {
  HYPERPARALLEL_TWIN(detail::build_candidate_in_library(c, candidate));
  return detail::build_candidate_here(c, candidate);
}

}}  // namespace hyperparallel::v0_2
