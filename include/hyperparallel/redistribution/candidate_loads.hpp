// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loads of all candidates of one move, counted without running through all devices.
//
// The candidates are built as for `choose_move` (candidates.hpp) and their steps counted by step_levels.hpp, through one device of each
// class. Law: where all steps have patterns of even shares, loads serve tensors of other sizes between the same layouts. Elements.
// O(candidates · steps), whatever the number of devices, where steps have patterns.

#include <hyperparallel/redistribution/candidate_parts.hpp>
#include <hyperparallel/redistribution/mesh_move.hpp>
#include <hyperparallel/redistribution/pattern_maker.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What is known of the plan by fewest bytes without planning it again.
struct exchange_form {
  plan_kind kind = plan_kind::no_op;
  int steps = 0;
  bool nearest = false;  ///< as `reads_nearest` says
  friend constexpr bool operator==(const exchange_form&, const exchange_form&) = default;
};

/// What a move's candidates take, so that it serves tensors of other sizes between the same layouts, too.
struct candidate_loads {
  layout_value source{}, target{};
  exchange_form form{};
  refined_move refined{};
  extent_t elements = 0;  ///< of the whole tensor
  int shares = 1;         ///< of a reduction in shares
  bool scales = true;     ///< all steps have patterns of even shares
  growing_array<move_load> load;
};

namespace detail {

/// What one device takes of one piece, dim by dim. Domain: cut points refine.
constexpr shape met_shape(const layout_value& source, const layout_value& target, shape s) {
  for (int d = 0; d < s.rank; ++d) s.extent[d] /= larger(shards_of(source, d), shards_of(target, d));
  return s;
}

constexpr bool divides_some_dim(const shape& s, int shares) {
  bool even = shares == 1;
  for (int d = 0; d < s.rank; ++d) even = even || s.extent[d] % shares == 0;
  return even;
}

/// Counts the candidates of a move one after the other.
class candidate_counter {
 public:
  constexpr candidate_counter(candidate_loads& of, const shape& s, const interconnect& links, extent_t element_bytes)
      : all(of), r(of.refined), tensor(s), net(links), bytes(element_bytes) {
    for (int a = r.mesh.axis_count - 1; a >= 0; --a) {
      stride[a] = positions;
      positions *= r.mesh.size[a];
    }
  }

  constexpr void run() {
    all.load.reserve(most_candidates);
    known.reserve(most_candidates);
    count_exchange();
    if (r.code != refined_code::ok) return;
    const move_state sliced = sliced_state(r, r.source, false);
    constexpr move_candidate others[] = {move_candidate::one_shot,    move_candidate::normal_form,
                                         move_candidate::outer_first, move_candidate::inner_first,
                                         move_candidate::sliced,      move_candidate::parked};
    for (const move_candidate candidate : others) {
      if (refusal_of(r, sliced, candidate) != candidate_code::ok) continue;
      move_trail trail = begin_trail(r);
      step_by_step(trail, r, candidate);
      if (trail.fits && !is_known(trail)) count_trail(trail, candidate);
    }
  }

 private:
  static constexpr int most_candidates = 7;  ///< on a topology

  /// An empty entry for a candidate.
  constexpr move_load& fresh(move_candidate candidate, int steps) {
    move_load& load = all.load[all.load.push(move_load())];
    load.candidate = candidate;
    load.step.reserve(steps);
    return load;
  }

  constexpr void count_exchange() {
    move_load& load = fresh(move_candidate::exchange, all.form.steps);
    if (all.form.nearest && r.code == refined_code::ok && all.form.steps == 1) {
      move_trail trail = begin_trail(r);
      step_to(trail, r, r.target, serving::nearest);
      known.push(trail);
      add_step(load, trail, 0);
    } else if (!all.form.nearest || r.code != refined_code::ok || !add_shares(load)) {
      all.scales = false;
      load.step.clear();
      load.code = cost_code::ok;
      const move_plan plan = plan_move(all.source, all.target, tensor);
      for (int k = 0; k < plan.step_count; ++k) load.add(levels_of_step(plan.step[k], plan.shape, net, bytes));
    }
  }

  /// Two candidates may come to the same steps.
  constexpr bool is_known(const move_trail& trail) const {
    for (const move_trail& one : known) {
      bool same = one.passed.size == trail.passed.size;
      for (int k = 0; k < trail.steps() && same; ++k)
        same = one.passed.item[k + 1] == trail.passed.item[k + 1] && is_served_nearest(trail, k);
      if (same) return true;
    }
    return false;
  }

  constexpr void count_trail(const move_trail& trail, move_candidate candidate) {
    move_load& load = fresh(candidate, trail.steps());
    bool nearest = true;
    for (int k = 0; k < trail.steps(); ++k) {
      add_step(load, trail, k);
      nearest = nearest && is_served_nearest(trail, k);
    }
    if (nearest) known.push(trail);
  }

  /// Whether step k reads the nearest replicas: none is chosen where nothing moves between axes.
  constexpr bool is_served_nearest(const move_trail& trail, int k) const {
    const move_state &from = trail.passed.item[k], &to = trail.passed.item[k + 1];
    if ((trail.balanced >> k & 1u) == 0 || from.waiting != to.waiting) return true;
    for (int d = 0; d < r.blank.shape.rank; ++d)
      if (from.owner[d].axis >= 0 && to.owner[d].axis >= 0 && !(from.owner[d] == to.owner[d])) return false;
    return true;
  }

  constexpr int begin_of(const digit_owner& o) const { return o.axis < 0 ? 0 : stride[o.axis] * o.stride; }

  constexpr void add_step(move_load& load, const move_trail& trail, int k) {
    const move_state &from = trail.passed.item[k], &to = trail.passed.item[k + 1];
    const unsigned reduced = from.waiting & ~to.waiting;
    step_digits x;
    x.positions = positions;
    x.box.rank = 1;
    x.box.extent[0] = all.elements;
    bool moves = reduced != 0;
    for (int d = 0; d < r.blank.shape.rank; ++d) {
      const digit_owner &held = from.owner[d], &wanted = to.owner[d];
      if (held.axis < 0 && wanted.axis < 0) continue;
      moves = moves || (held.axis >= 0 && !(held == wanted));
      const int size = static_cast<int>(r.blank.shape.extent[d]);
      x.digit[x.count++] = {size, begin_of(held), begin_of(wanted), false};
      x.box.extent[0] /= size;
    }
    if (!moves) return;
    x.kind = reduced != 0 ? step_kind::reduce : step_kind::pull;
    for (int a = 0; reduced >> a != 0; ++a)
      if ((reduced >> a & 1u) != 0) x.every[x.every_count++] = {stride[a], 0, r.mesh.size[a]};
    step_levels levels;
    if (is_served_nearest(trail, k) && levels_of_pattern(x, net, bytes, levels)) return load.add(levels);
    all.scales = false;
    const serving by = (trail.balanced >> k & 1u) != 0 ? serving::balanced : serving::nearest;
    load.add(levels_of_step(step_between(r, from, to, by), r.blank.shape, net, bytes));
  }

  /// The two steps of a reduction in shares.
  constexpr bool add_shares(move_load& load) {
    step_digits x;
    x.positions = positions;
    unsigned owning = r.blank.kept, sharding = 0;
    for (int d = 0; d < r.blank.shape.rank; ++d)
      if (const int a = r.source.owner[d].axis; a >= 0) sharding |= 1u << a;
    owning |= sharding;
    for (int d = 0; d < r.blank.shape.rank; ++d) {
      const digit_owner &held = r.source.owner[d], &wanted = r.target.owner[d];
      if (held.axis < 0 && wanted.axis < 0) continue;
      if (wanted.axis >= 0) owning |= 1u << wanted.axis;
      x.digit[x.count++] = {static_cast<int>(r.blank.shape.extent[d]), begin_of(held), begin_of(wanted),
                            wanted.axis >= 0 && (sharding >> wanted.axis & 1u) != 0};
    }
    x.box = met_shape(all.source, all.target, tensor);
    for (int a = 0; a < r.mesh.axis_count; ++a)
      if ((owning >> a & 1u) == 0) x.shares *= r.mesh.size[a];
    all.shares = x.shares;
    all.scales = all.scales && divides_some_dim(x.box, x.shares);
    for (int k = 0; k < 2; ++k) {
      x.kind = k == 0 ? step_kind::collect : step_kind::spread;
      x.every_count = 0;
      for (int a = 0; a < r.mesh.axis_count; ++a)
        if (k == 0 ? (r.blank.reduced >> a & 1u) != 0 : (owning >> a & 1u) == 0)
          x.every[x.every_count++] = {stride[a], 0, r.mesh.size[a]};
      step_levels levels;
      if (!levels_of_pattern(x, net, bytes, levels)) return false;
      load.add(levels);
    }
    return true;
  }

  candidate_loads& all;
  const refined_move& r;
  const shape& tensor;
  const interconnect& net;
  extent_t bytes;
  int positions = 1;
  int stride[max_axes] = {};  ///< of the axes of the refined mesh
  growing_array<move_trail> known;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
