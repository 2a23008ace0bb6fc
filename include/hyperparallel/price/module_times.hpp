// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each module of a model computes on a device of its group, and how long groups that work side by side are idle.
//
//   const hp::module_times t = hp::times_of_modules(graph, table, strategy, device);   all modules on ranks of one strategy
//   t.of[m].step(micro_batches)                                                        of module m of the table
//   const hp::part_times w = hp::times_of_parts(lowered, device);                      of a program of several parts
//   w.makespan, w.computed[part], w.idle()                                             idle of all ranks, in millionths
//
// A module's time is that of the operators that the table gives it, their gradients and updates, without moves and without
// what joins the numbers of all modules, the norm of all gradients. Law: what a
// program of sub-models computes on a part in a step is at least what the modules on it do under the part's strategy, whatever the
// other parts have (search_groups counts where it is not), so no order of its tasks is faster. `idle` counts every moment in which a rank computes nothing, moves that
// nothing hides among them. Errors: the status of the cut or of the program, `code` where a step has no price; then there is no
// time. Units: picoseconds. O(steps) beside what partitioner and clock take.

#include <hyperparallel/groups/split.hpp>
#include <hyperparallel/lowering/submodel_program.hpp>
#include <hyperparallel/price/clock.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of one module on a device.
struct module_time {
  extent_t forward = 0, backward = 0;  ///< of a micro-batch
  extent_t update = 0;                 ///< of a step
  constexpr extent_t step(extent_t micro_batches) const { return micro_batches * (forward + backward) + update; }
  friend constexpr bool operator==(const module_time&, const module_time&) = default;
};

struct module_times {
  submodel_status groups{};
  strategy_status program{};
  cost_code code = cost_code::ok;
  growing_array<module_time> of{};  ///< of each module of the table; none where it is refused
  constexpr bool ok() const { return !of.empty(); }
};

namespace detail {

/// The table with all modules on one group of ranks 0 to `ranks` - 1.
constexpr group_table on_one_group(const group_table& modules, int ranks) {
  group_table t;
  t.world = ranks;
  add_group(t, "all", rank_range{0, ranks - 1});
  for (placed_module m : modules.placed) {
    m.group = "all";
    t.placed.push(m);
  }
  return t;
}

/// Each module on the group of the plan.
constexpr module_times times_of_modules(const graph& g, const submodel_plan& plan, const device_value& d) {
  module_times out;
  const detail::submodel_stages cut = detail::stages_of_submodels(g, plan);
  out.groups = cut.status;
  if (!out.groups.ok()) return out;
  const sharded_program p = partition(cut.ordered, cut.stages.strategy.item[0], cut.stages);
  out.program = p.status;
  if (p.status.code != strategy_code::ok) return out;
  growing_array<module_time> of(plan.table.placed.size);
  for (const program_step& step : p.step) {
    if (step.is_move || joins_numbers(p, step)) continue;
    const time_cost time = price_of_compute(d, p, step.index).time;
    out.code = time.code;
    if (!time.ok()) return out;
    module_time& m = of[cut.module_of_stage[step.stage]];
    (step.phase == graph_phase::forward ? m.forward
     : is_in(step.phase, update_phases) ? m.update
                                        : m.backward) += time.picoseconds;
  }
  out.of = static_cast<growing_array<module_time>&&>(of);
  return out;
}
/// All modules of the table on ranks of this strategy; the groups of the table are not looked at.
constexpr module_times times_of_modules(const graph& g, const group_table& modules, const strategy_value& s,
                                        const device_value& d) {
  submodel_plan plan{on_one_group(modules, position_count(s.mesh.shape)), {}};
  plan.strategy.push(s);
  return times_of_modules(g, plan, d);
}

}  // namespace detail

/// What `split_devices` takes: a step of each module on `sizes` of devices, under the strategy that `strategy_of` gives so many;
/// sizes that the model cannot be cut for are left out.
template <class StrategyOf>
constexpr growing_array<module_load> loads_of_modules(const graph& g, const group_table& modules, int devices,
                                                      const device_value& d, const StrategyOf& strategy_of) {
  growing_array<module_load> load(modules.placed.size);
  for (int n = 1; n <= devices; ++n) {
    const module_times t = detail::times_of_modules(g, modules, strategy_of(n), d);
    for (int m = 0; m < t.of.size; ++m) load[m].choice.push({n, t.of[m].step(g.micro_batches)});
  }
  return load;
}

/// A step of a program of several parts by the clock.
struct part_times {
  cost_code code = cost_code::ok;  ///< where it is not ok, all else is 0
  extent_t makespan = 0;
  growing_array<extent_t> computed{};  ///< of each part: in which its ranks compute
  growing_array<int> ranks{};          ///< of each part
  constexpr bool ok() const { return code == cost_code::ok; }
  /// Of the time of a part's ranks, in millionths.
  constexpr extent_t idle(int part) const {
    return makespan == 0 ? 0 : ceil_divide((makespan - computed.item[part]) * 1'000'000, makespan);
  }
  /// Of the time of all ranks, in millionths.
  constexpr extent_t idle() const {
    extent_t all = 0, count = 0;
    for (int k = 0; k < ranks.size; ++k) {
      all += idle(k) * ranks.item[k];
      count += ranks.item[k];
    }
    return count == 0 ? 0 : ceil_divide(all, count);
  }
};

/// Domain: the program is lowered, unrolled or of one micro-batch, and its moves were chosen on the links of the hardware.
constexpr part_times times_of_parts(const lowered_program& l, const device_value& d) {
  part_times out;
  const int parts = parts_of(l.program);
  growing_array<extent_t> computed(parts, 0);
  extent_t makespan = 0;
  for (const lowered_run& r : l.run) {
    const row_prices prices = prices_of_rows(l, r, d);
    out.code = prices.code;
    if (!out.ok()) return out;
    const plan_timeline times = play(r.plan, prices.duration);
    extent_t last = 0;
    for (const extent_t end : times.end) last = larger(last, end);
    makespan += last;
    for (int k = 0; k < parts; ++k) computed[k] += detail::computed_time(r.plan, times, k);
  }
  out.makespan = makespan;
  out.computed = static_cast<growing_array<extent_t>&&>(computed);
  for (int k = 0; k < parts; ++k) out.ranks.push(detail::ranks_of_part(l.program, k));
  return out;
}

}}  // namespace hyperparallel::v0_2
