// SPDX-License-Identifier: Apache-2.0
#pragma once
// The figures of `derived`, which the makers of the vectors worked out by themselves: ours must be the bound, and no
// stated plan may receive less.
//
// Chunks of a dim over several axes are flat in the core and in these figures; where an implementation nests them, a
// dim that does not divide is cut otherwise. If a vector's figures turn out to be those of nested chunks, they are held
// against nested chunks, counted here, and the verdict says so.

#include "move_judging.hpp"
#include "stated_cost.hpp"

namespace replay {

/// A dim that does not divide and that several axes cut: flat chunks and nested ones may differ there.
inline bool is_cut_unevenly_by_several(const hp::layout_value& l, const hp::shape& s, int dim) {
  int cuts = 0;
  for (int i = 0; i < l.cut_count; ++i) cuts += l.cut[i].dim == dim ? 1 : 0;
  return cuts > 1 && s.extent[dim] % hp::shards_of(l, dim) != 0;
}

inline bool may_nest(const hp::layout_value& l, const hp::shape& s) {
  bool any = false;
  for (int d = 0; d < s.rank; ++d) any = any || is_cut_unevenly_by_several(l, s, d);
  return any;
}

/// The box of a position where each axis of a dim cuts the chunk of the one before into ceil chunks.
inline hp::box nested_slice(const hp::layout_value& l, const hp::shape& s, int position) {
  const hp::coordinate at = hp::coordinates_of(l.mesh, position);
  hp::box b = hp::slice_at(hp::replicated(l.mesh, l.rank), s, at);
  for (int i = 0; i < l.cut_count; ++i) {
    hp::interval& x = b.dim[l.cut[i].dim];
    const hp::extent_t chunk = hp::ceil_divide(x.end - x.begin, l.cut[i].size);
    const hp::extent_t begin = x.begin + chunk * hp::digit_of(l.mesh, l.cut[i], at.at[l.cut[i].axis]);
    x = {hp::smaller(begin, x.end), hp::smaller(begin + chunk, x.end)};
  }
  return b;
}

struct derived_bound {
  hp::extent_t source_max = 0, target_max = 0;  ///< of the largest block
  hp::extent_t maximum = 0, total = 0;
};

/// The figures for one mesh with nested chunks.
inline derived_bound nested_bound(const hp::layout_value& from, const hp::layout_value& to, const hp::shape& s) {
  derived_bound b;
  for (int p = 0; p < hp::position_count(from.mesh); ++p) {
    const hp::box held = nested_slice(from, s, p), wanted = nested_slice(to, s, p);
    const hp::extent_t n = missing(held, wanted);
    b.source_max = hp::larger(b.source_max, hp::volume(held));
    b.target_max = hp::larger(b.target_max, hp::volume(wanted));
    b.maximum = hp::larger(b.maximum, n);
    b.total += n;
  }
  return b;
}

inline verdict equals_stated(const json& derived, const char* name, hp::extent_t ours) {
  const json& stated = optional_field(derived, name);
  return pass_if(!stated.is_number() || whole_number_of(stated) == ours,
                 std::string(name) + " is " + stated.dump() + ", ours " + std::to_string(ours));
}

inline verdict equals_bound(const json& derived, const derived_bound& ours) {
  for (const verdict& r :
       {equals_stated(derived, "src_local_max", ours.source_max),
        equals_stated(derived, "dst_local_max", ours.target_max), equals_stated(derived, "lb_recv_max", ours.maximum),
        equals_stated(derived, "lb_recv_sum", ours.total)})
    if (r.outcome != outcome::passed) return r;
  return pass();
}

inline const char* nesting_note =
    "an uneven dim over several axes: nested chunks elsewhere, flat ones in ours and in the derived figures";

/// Holds what ours receives, and the plan that a vector states, against the vector's figures.
inline verdict held_to_derived(const json& derived, const stated_move& m, const move_figures& ours,
                               const stated_cost& theirs) {
  verdict passed = pass();
  const bool one_mesh = m.from.layout.mesh == m.to.layout.mesh && m.from_shape == m.to_shape;
  const bool nests = one_mesh && (may_nest(m.from.layout, m.from_shape) || may_nest(m.to.layout, m.to_shape));
  if (nests) passed.note = nesting_note;
  if (!derived.is_object()) return passed;
  const derived_bound bound{hp::element_count(hp::local_shape(m.from.layout, m.from_shape).shape).value,
                            hp::element_count(hp::local_shape(m.to.layout, m.to_shape).shape).value, ours.received_max,
                            ours.received_sum};
  if (const verdict r = equals_bound(derived, bound); r.outcome != outcome::passed) {
    if (!nests) return r;
    const derived_bound nested = nested_bound(m.from.layout, m.to.layout, m.from_shape);
    if (equals_bound(derived, nested).outcome != outcome::passed) return r;
    passed.note = "deviation: the figures are those of nested chunks; ours cuts flat and meets its own bound";
    return passed;
  }
  if (const json& even = optional_field(derived, "even"); even.is_boolean() && even.get<bool>()) {
    if ((m.from.layout.padded | m.to.layout.padded) != 0) return fail("a dim of an even move does not divide");
  }
  if (theirs.known && !theirs.at_least)
    for (const verdict& r : {equals_stated(derived, "plan_recv_max", theirs.maximum),
                             equals_stated(derived, "plan_recv_sum", theirs.total),
                             equals_stated(derived, "plan_peak_local", theirs.peak)})
      if (r.outcome != outcome::passed) return fail("of the stated plan, counted by us: " + r.reason);
  const json& most = optional_field(derived, "plan_recv_max");
  const json& all = optional_field(derived, "plan_recv_sum");
  if ((most.is_number() && whole_number_of(most) < ours.received_max) ||
      (all.is_number() && whole_number_of(all) < ours.received_sum))
    return fail("the stated plan receives less: " + most.dump() + " at most and " + all.dump() + " in all, ours " +
                std::to_string(ours.received_max) + " and " + std::to_string(ours.received_sum));
  return passed;
}

/// The line of the table. Without a plan of theirs that is stated in full, the derived figures speak for it.
inline byte_figures figures_of(const json& v, const move_figures& ours, const stated_cost& theirs) {
  const json& derived = optional_field(v, "derived");
  const json& type = optional_field(v, "dtype_bytes");
  const std::int64_t bytes = type.is_number() ? whole_number_of(type) : 1;
  const auto stated = [&](const char* name) -> std::int64_t {
    const json& x = optional_field(derived, name);
    return x.is_number() ? whole_number_of(x) * bytes : -1;
  };
  byte_figures f;
  f.known = true;
  f.ours = {ours.received_max * bytes, ours.received_sum * bytes};
  f.bound = {ours.least_max < 0 ? -1 : ours.least_max * bytes, ours.least_sum < 0 ? -1 : ours.least_sum * bytes};
  f.theirs = {stated("plan_recv_max"), stated("plan_recv_sum")};
  if (f.theirs.total < 0 && theirs.known) {
    f.theirs = {theirs.maximum * bytes, theirs.total * bytes};
    f.at_least = theirs.at_least;
  }
  return f;
}

}  // namespace replay
