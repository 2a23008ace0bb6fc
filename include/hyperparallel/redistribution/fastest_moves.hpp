// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loads of the candidate that `choose_move` would take by time, found without running through all devices.
//
// The candidates are built as for `choose_move` (candidates.hpp) and their steps counted by step_levels.hpp, through
// one device of each class; on a full mesh by mesh_move.hpp. Laws: on meshes of up to `most_counted_positions` devices, and on any where all steps have
// patterns, candidate and time are those of `choose_move` with `objective::time`, without a limit on memory and in any
// order of terms; the time is at most the exchange's.
// Where a dim is padded, loads are those of the longer tensor (padded_move.hpp): at most those of what is not there more.
// Units: elements, picoseconds. O(candidates · steps), whatever the number of devices, where steps have patterns.

#include <hyperparallel/redistribution/candidate_parts.hpp>
#include <hyperparallel/redistribution/mesh_move.hpp>

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

/// Whether two tensors between the same layouts are cut alike, but for the size of unowned dims.
constexpr bool are_cut_alike(const refined_move& a, const refined_move& b) {
  if (a.code != b.code || a.blank.shape.rank != b.blank.shape.rank || !(a.source == b.source) ||
      !(a.target == b.target))
    return false;
  for (int d = 0; d < a.blank.shape.rank; ++d)
    if (a.spare_of[d] != b.spare_of[d] || (!is_unowned(a, d) && a.blank.shape.extent[d] != b.blank.shape.extent[d]))
      return false;
  return true;
}

/// Loads for a tensor of so many elements, from those of a tensor of `known` ones.
struct load_scale {
  extent_t elements, known;
  constexpr extent_t of(extent_t n) const {
    if (elements == known) return n;
    return static_cast<extent_t>(static_cast<wide_unsigned>(n) * static_cast<wide_unsigned>(elements) /
                                 static_cast<wide_unsigned>(known));
  }
  constexpr level_load of(const level_load& load) const { return {load.messages, of(load.elements), of(load.sent)}; }
};

/// Of moves on a topology.
constexpr time_cost time_of(const move_load& load, const load_scale& scale, extent_t element_bytes,
                            const topology_value& t) {
  time_cost time{load.code, 0};
  for (const step_levels& step : load.step) {
    time_cost longest;
    for (int l = 0; l < t.level_count; ++l)
      if (step.level[l].messages > 0 || step.level[l].sent > 0)
        longest = slower(longest, time_of(scale.of(step.level[l]), element_bytes, t.level[l]));
    time = then(time, longest);
  }
  return time;
}

/// The fastest of them for a tensor of so many elements.
constexpr move_load fastest_of(const candidate_loads& all, extent_t elements, const interconnect& net,
                               extent_t element_bytes) {
  const load_scale scale{elements, all.elements};
  move_load best;
  move_figures least;
  int found = -1;
  for (int i = 0; i < all.load.size; ++i) {
    const move_load& load = all.load[i];
    move_figures figures;
    figures.time = time_of(load, scale, element_bytes, net.topology);
    figures.received_total = scale.of(received_by_all(load));
    figures.steps = load.step.size;
    if (!figures.time.ok() && figures.time.code != cost_code::overflow) {
      if (found < 0) best.code = figures.time.code;
      continue;
    }
    if (found >= 0 && !is_better(figures, least, objective::time)) continue;
    found = i;
    least = figures;
  }
  if (found < 0) return best;
  best = all.load[found];
  for (step_levels& step : best.step) {
    step.received = scale.of(step.received);
    for (int l = 0; l < net.topology.level_count; ++l) step.level[l] = scale.of(step.level[l]);
  }
  return best;
}

}  // namespace detail

/// The loads of moves on given links: on a topology candidates are counted once for all tensors that two layouts cut alike.
class fastest_moves {
 public:
  constexpr explicit fastest_moves(const interconnect& links) : net_(links) {}

  /// Of the fastest candidate of `source` → `target`, whose plan by fewest bytes has the given form. Domain:
  /// `plan_move` accepts the pair, and `status_of` the links.
  constexpr move_load load_of(const layout_value& source, const layout_value& target, const shape& s,
                              const exchange_form& form, extent_t element_bytes) {
    const extent_t elements = element_count(s).value;
    if (form.steps == 0 || elements == 0) return move_load();
    if (net_.kind == interconnect_kind::full_mesh) return fastest_on_mesh(source, target, s, net_, element_bytes);
    if (const extended_pair longer = extend(source, target, s); longer.exists)
      return load_of(longer.source, longer.target, longer.shape, element_bytes);
    const refined_move refined = refine_move(source, target, s, form.kind, net_);
    for (const candidate_loads& one : known_)
      if (one.form == form && one.source == source && one.target == target &&
          detail::are_cut_alike(one.refined, refined) &&
          (one.shares == 1 || detail::divides_some_dim(detail::met_shape(source, target, s), one.shares)))
        return detail::fastest_of(one, elements, net_, element_bytes);
    candidate_loads fresh{source, target, form, refined, elements, 1, true, {}};
    detail::candidate_counter(fresh, s, net_, element_bytes).run();
    if (!fresh.scales || source.padded != 0 || target.padded != 0)
      return detail::fastest_of(fresh, elements, net_, element_bytes);
    return detail::fastest_of(known_[known_.push(fresh)], elements, net_, element_bytes);
  }
  constexpr move_load load_of(const layout_value& source, const layout_value& target, const shape& s,
                              extent_t element_bytes) {
    const move_plan plan = plan_move(source, target, s);
    return load_of(source, target, s, {plan.kind, plan.step_count, reads_nearest(plan)}, element_bytes);
  }
  /// Of that candidate, which can be built; not connected where the links do not carry it.
  constexpr move_load load_by(const layout_value& source, const layout_value& target, const shape& s,
                              move_candidate candidate, extent_t element_bytes) const {
    const move_parts parts = parts_of_candidate(source, target, s, candidate, net_);
    move_load load;
    if (net_.kind == interconnect_kind::full_mesh)
      load = detail::load_of_parts(parts, net_);
    else
      for (int k = 0; k < parts.part[0].step_count; ++k)
        load.add(levels_of_step(parts.part[0].step[k], parts.part[0].shape, net_, element_bytes));
    load.candidate = candidate;
    return load;
  }
  constexpr const interconnect& links() const { return net_; }

 private:
  interconnect net_;
  growing_array<candidate_loads> known_;
};

}}  // namespace hyperparallel::v0_2
