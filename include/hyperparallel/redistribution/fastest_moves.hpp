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

#include <hyperparallel/redistribution/candidate_loads.hpp>
#include <hyperparallel/redistribution/candidate_parts.hpp>
#include <hyperparallel/redistribution/mesh_move.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

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
    if (net_.kind == interconnect_kind::full_mesh)
      return detail::fastest_on_mesh(source, target, s, net_, element_bytes);
    if (const detail::extended_pair longer = detail::extend(source, target, s); longer.exists)
      return load_of(longer.source, longer.target, longer.shape, element_bytes);
    const refined_move refined = detail::refine_move(source, target, s, form.kind, net_);
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
    return load_of(source, target, s, {plan.kind, plan.step_count, detail::reads_nearest(plan)}, element_bytes);
  }
  /// Of that candidate, which can be built; not connected where the links do not carry it.
  constexpr move_load load_by(const layout_value& source, const layout_value& target, const shape& s,
                              move_candidate candidate, extent_t element_bytes) const {
    const move_parts parts = detail::parts_of_candidate(source, target, s, candidate, net_);
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
