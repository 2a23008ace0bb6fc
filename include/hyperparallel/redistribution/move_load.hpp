// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loads of the candidate that `choose_move` would take by time, found without running through all devices.
//
// The candidates are built as for `choose_move` (candidates.hpp) and their steps counted by step_levels.hpp, through one
// device of each class. Laws: on meshes of up to `most_counted_positions` devices, and on any where all steps have
// patterns, candidate and time are those of `choose_move` with `objective::time`, without a limit on memory and in any
// order of terms; the time is at most the exchange's.
// Units: elements, picoseconds. O(candidates · steps), whatever the number of devices, where steps have patterns.

#include <hyperparallel/redistribution/choose_move.hpp>
#include <hyperparallel/redistribution/step_levels.hpp>

namespace hyperparallel {

/// Of a whole move, step by step; steps in which nothing is received are left out.
struct move_load {
  move_candidate candidate = move_candidate::exchange;
  growing_array<step_levels> step;
  cost_code code = cost_code::ok;  ///< of the steps, or why no candidate is carried
  friend constexpr bool operator==(const move_load&, const move_load&) = default;
};

constexpr time_cost time_of(const move_load& load, extent_t element_bytes, const topology_value& t) {
  time_cost time{load.code, 0};
  for (const step_levels& one : load.step) time = then(time, time_of(one, element_bytes, t));
  return time;
}

/// Elements, and messages, of the busiest receivers of all steps on one level.
constexpr extent_t elements_over(const move_load& load, int level) {
  extent_t sum = 0;
  for (const step_levels& one : load.step) sum += one.level[level].elements;
  return sum;
}
constexpr extent_t messages_over(const move_load& load, int level) {
  extent_t sum = 0;
  for (const step_levels& one : load.step) sum += one.level[level].messages;
  return sum;
}
/// Elements that all devices receive in all steps.
constexpr extent_t received_by_all(const move_load& load) {
  extent_t sum = 0;
  for (const step_levels& one : load.step) sum += one.received;
  return sum;
}

/// What is known of the plan by fewest bytes without planning it again.
struct exchange_form {
  plan_kind kind = plan_kind::no_op;
  int steps = 0;
  bool nearest = false;  ///< as `reads_nearest` says
};

namespace detail {

/// Tries the candidates of a move one after the other.
class fastest_move {
 public:
  constexpr fastest_move(const layout_value& from, const layout_value& to, const shape& s, const exchange_form& form,
                         const interconnect& links, extent_t element_bytes)
      : source(from),
        target(to),
        tensor(s),
        exchange(form),
        net(links),
        bytes(element_bytes),
        r(refine_move(from, to, s, form.kind, links)),
        elements(element_count(s).value) {
    for (int a = r.mesh.axis_count - 1; a >= 0; --a) {
      stride[a] = positions;
      positions *= r.mesh.size[a];
    }
  }

  constexpr move_load run() {
    if (exchange.steps == 0 || elements == 0) return move_load();
    try_exchange();
    constexpr move_candidate others[] = {move_candidate::one_shot,    move_candidate::normal_form,
                                         move_candidate::outer_first, move_candidate::inner_first,
                                         move_candidate::sliced,      move_candidate::parked};
    for (const move_candidate candidate : others) {
      if (refusal_of(r, candidate) != candidate_code::ok) continue;
      const move_trail trail = step_by_step(begin_trail(r), r, candidate);
      if (trail.fits && !is_known(trail)) try_trail(trail, candidate);
    }
    return static_cast<move_load&&>(best);
  }

 private:
  constexpr void try_exchange() {
    move_load load;
    if (exchange.nearest && r.code == refined_code::ok && exchange.steps == 1) {
      move_trail trail = begin_trail(r);
      step_to(trail, r, r.target, serving::nearest);
      known.push(trail);
      add_step(load, trail, 0);
    } else if (!exchange.nearest || r.code != refined_code::ok || !add_shares(load)) {
      load = move_load();
      const move_plan plan = plan_move(source, target, tensor);
      for (int k = 0; k < plan.step_count; ++k) add(load, levels_of_step(plan.step[k], plan.shape, net, bytes));
    }
    enter(load);
  }

  constexpr bool is_known(const move_trail& trail) const {
    for (const move_trail& one : known) {
      bool same = one.count == trail.count;
      for (int k = 0; k < trail.count && same; ++k) same = one.passed[k + 1] == trail.passed[k + 1];
      for (int k = 0; k < trail.count && same; ++k) same = is_served_nearest(trail, k);
      if (same) return true;
    }
    return false;
  }

  constexpr void try_trail(const move_trail& trail, move_candidate candidate) {
    move_load load;
    load.candidate = candidate;
    bool nearest = true;
    for (int k = 0; k < trail.count; ++k) {
      add_step(load, trail, k);
      nearest = nearest && is_served_nearest(trail, k);
    }
    if (nearest) known.push(trail);
    enter(load);
  }

  /// Whether step k reads the nearest replicas: none is chosen where nothing moves between axes.
  constexpr bool is_served_nearest(const move_trail& trail, int k) const {
    const move_state &from = trail.passed[k], &to = trail.passed[k + 1];
    if (trail.by[k] == serving::nearest || from.waiting != to.waiting) return true;
    for (int d = 0; d < r.blank.shape.rank; ++d)
      if (from.owner[d].axis >= 0 && to.owner[d].axis >= 0 && !(from.owner[d] == to.owner[d])) return false;
    return true;
  }

  static constexpr void add(move_load& load, const step_levels& one) {
    if (one.code != cost_code::ok) load.code = one.code;
    if (one.received > 0) load.step.push(one);
  }

  constexpr int begin_of(const digit_owner& o) const { return o.axis < 0 ? 0 : stride[o.axis] * o.stride; }

  constexpr void add_step(move_load& load, const move_trail& trail, int k) const {
    const move_state &from = trail.passed[k], &to = trail.passed[k + 1];
    const unsigned reduced = from.waiting & ~to.waiting;
    step_digits x;
    x.positions = positions;
    x.box.rank = 1;
    x.box.extent[0] = elements;
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
    if (is_served_nearest(trail, k) && levels_of_pattern(x, net, bytes, levels))
      add(load, levels);
    else
      add(load, levels_of_step(step_between(r, from, to, trail.by[k]), r.blank.shape, net, bytes));
  }

  /// The two steps of a reduction in shares.
  constexpr bool add_shares(move_load& load) const {
    step_digits x;
    x.positions = positions;
    unsigned owning = r.blank.kept, sharding = 0;
    for (int d = 0; d < r.blank.shape.rank; ++d)
      if (const int a = r.source.owner[d].axis; a >= 0) sharding |= 1u << a;
    for (int d = 0; d < r.blank.shape.rank; ++d) {
      const digit_owner &held = r.source.owner[d], &wanted = r.target.owner[d];
      if (held.axis < 0 && wanted.axis < 0) continue;
      if (wanted.axis >= 0) owning |= 1u << wanted.axis;
      x.digit[x.count++] = {static_cast<int>(r.blank.shape.extent[d]), begin_of(held), begin_of(wanted),
                            wanted.axis >= 0 && (sharding >> wanted.axis & 1u) != 0};
    }
    owning |= sharding;
    x.box = tensor;
    for (int d = 0; d < tensor.rank; ++d) x.box.extent[d] /= larger(shards_of(source, d), shards_of(target, d));
    step_digits spread = x;
    for (int a = 0; a < r.mesh.axis_count; ++a) {
      if ((r.blank.reduced >> a & 1u) != 0) x.every[x.every_count++] = {stride[a], 0, r.mesh.size[a]};
      if ((owning >> a & 1u) != 0) continue;
      spread.every[spread.every_count++] = {stride[a], 0, r.mesh.size[a]};
      x.shares = spread.shares = x.shares * r.mesh.size[a];
    }
    x.kind = step_kind::collect;
    spread.kind = step_kind::spread;
    step_levels collected, passed_on;
    if (!levels_of_pattern(x, net, bytes, collected) || !levels_of_pattern(spread, net, bytes, passed_on)) return false;
    add(load, collected);
    add(load, passed_on);
    return true;
  }

  constexpr void enter(move_load& load) {
    move_figures figures;
    figures.time = time_of(load, bytes, net.topology);
    figures.received_total = received_by_all(load);
    figures.steps = load.step.size;
    if (!figures.time.ok() && figures.time.code != cost_code::overflow) {
      if (!found) best.code = figures.time.code;
      return;
    }
    if (found && !is_better(figures, least, objective::time)) return;
    found = true;
    best = static_cast<move_load&&>(load);
    least = figures;
  }

  const layout_value& source;
  const layout_value& target;
  const shape& tensor;
  const exchange_form& exchange;
  const interconnect& net;
  extent_t bytes;
  refined_move r;
  extent_t elements;
  int positions = 1;
  int stride[max_axes] = {};  ///< of the axes of the refined mesh
  growing_array<move_trail> known;
  move_load best;
  move_figures least;
  bool found = false;
};

}  // namespace detail

/// The loads of the fastest candidate of `source` → `target`, whose plan by fewest bytes has the given form. Domain:
/// `plan_move` accepts the pair, and `net` is a topology that `check` accepts.
constexpr move_load load_of_fastest(const layout_value& source, const layout_value& target, const shape& s,
                                    const exchange_form& form, const interconnect& net, extent_t element_bytes) {
  return detail::fastest_move(source, target, s, form, net, element_bytes).run();
}
constexpr move_load load_of_fastest(const layout_value& source, const layout_value& target, const shape& s,
                                    const interconnect& net, extent_t element_bytes) {
  const move_plan plan = plan_move(source, target, s);
  const exchange_form form{plan.kind, plan.step_count, reads_nearest(plan)};
  return load_of_fastest(source, target, s, form, net, element_bytes);
}

}  // namespace hyperparallel
