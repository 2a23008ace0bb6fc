// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a strategy search finds: plans with their costs, and the certificate of what was covered.
//
// Laws: plans stand in the order of their times, and no two are one in other words (`same_plan`); a complete search's
// lower bound is the winner's time.

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/lowering/model_parts.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>
#include <hyperparallel/price/plan_frame.hpp>
#include <hyperparallel/price/simulated_rows.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int most_found_plans = 5;

/// A plan that was found: everything that partition needs, and what it costs.
struct found_plan {
  strategy_value strategy{};
  plan_frame frame{};  ///< of a named strategy only the pipeline's degree is told
  int graph = -1;      ///< which of the graphs
  bool named = false;
  static_vector<short_text, max_model_parts> family{};  ///< of each part
  plan_evaluation evaluation{};
  simulated_plan simulated{};  ///< where it was asked for (strategy_simulation.hpp)
  /// Of a step: by the clock of the plan where that is known, else estimated.
  constexpr extent_t time() const { return simulated.ok() ? simulated.times.makespan : evaluation.time; }
  friend constexpr bool operator==(const found_plan&, const found_plan&) = default;
};

/// Extents that degrees have to divide, or not to exceed: the largest among the graphs.
struct degree_extents {
  extent_t batch = 1, sequence = 1, layers = 0;
  constexpr void add(const graph& g) {
    extent_t repeats = 0;
    for (const graph_segment& s : g.segment) repeats += s.repeats;
    batch = larger(batch, detail::dim_extent(g, "batch"));
    sequence = larger(sequence, detail::dim_extent(g, "seq"));
    layers = larger(layers, repeats);
  }
  friend constexpr bool operator==(const degree_extents&, const degree_extents&) = default;
};

/// What was covered. The bound speaks of the plans of the space alone: of the frames within the limits, each with all
/// choices of its candidates, and of the strategies by name. Their time is that of an account: by the clock of
/// step_estimate.hpp, moves beside what does not need them, each by the fastest of its candidates on the given topology, at
/// the rates of the given device. A way that is no candidate, or another order of steps, may be faster.
struct search_certificate {
  bool complete = true;      ///< every plan of the space was timed, or bounded by a time that the winner beats
  extent_t lower_bound = 0;  ///< no plan of the space whose bytes alive fit takes less; 0: nothing is known
  extent_t frames = 0, frames_too_large = 0, frames_too_slow = 0, frames_refused = 0;
  extent_t plans = 0;                   ///< choices of candidates in the frames that were searched
  extent_t partitionings = 0;           ///< that it took
  extent_t named = 0;                   ///< strategies that competed as they are
  extent_t law_breaks = 0;              ///< plans whose parts did not add up: the bound does not hold then
  extent_t least_memory = not_counted;  ///< of any plan that was looked at: what is certainly held
  extent_t least_peak = not_counted;    ///< of the plans that were accounted in full and need more than the budget
  extent_t budget = 0;                  ///< memory of a device
  int devices = 0;
  search_limits limits{};  ///< as asked
  degree_extents extents{};
  strategy_status refused{};        ///< the last plan that the partitioner refused
  short_text refused_dim{};         ///< the dim that it names
  cost_code price = cost_code::ok;  ///< why a plan has no price
  simulation_counts
      simulations{};  ///< of the best plans; those whose addresses exceed the memory are no plans any more
  /// Whether the partitioner takes a plan of some frame. Where it takes none, no memory helps.
  constexpr bool has_legal_frames() const { return frames_refused < frames; }
  friend constexpr bool operator==(const search_certificate&, const search_certificate&) = default;
};

namespace detail {

/// Whether meshes are alike but for the names of axes and for axes of one device.
constexpr bool same_degrees(const mesh_shape& a, const mesh_shape& b) {
  for (int i = 0, k = 0;; ++i, ++k) {
    while (i < a.axis_count && a.size[i] == 1) ++i;
    while (k < b.axis_count && b.size[k] == 1) ++k;
    if (i >= a.axis_count || k >= b.axis_count) return i >= a.axis_count && k >= b.axis_count;
    if (a.size[i] != b.size[k]) return false;
  }
}

/// Whether two plans are one in other words: they hold as much, in as many stages, on meshes of the same degrees or in the
/// same time.
constexpr bool same_plan(const found_plan& a, const found_plan& b) {
  return a.frame.pipeline == b.frame.pipeline && a.evaluation.memory == b.evaluation.memory &&
         (a.evaluation.time == b.evaluation.time || same_degrees(a.strategy.mesh.shape, b.strategy.mesh.shape));
}

/// Enters a plan where its time belongs, in place of slower ones that are the same in other words. False where it is no
/// better than as many others, or than one that is the same. Law: no two plans of the list are the same.
constexpr bool enter_plan(static_vector<found_plan, most_found_plans>& list, const found_plan& p) {
  int at = 0;
  for (; at < list.size && list.item[at].evaluation.time <= p.evaluation.time; ++at)
    if (same_plan(list.item[at], p)) return false;
  if (at == most_found_plans) return false;
  static_vector<found_plan, most_found_plans> slower;
  for (int i = at; i < list.size; ++i)
    if (!same_plan(list.item[i], p)) slower.push(list.item[i]);
  list.size = at;
  list.push(p);
  for (const found_plan& q : slower)
    if (!list.full()) list.push(q);
  return true;
}

}  // namespace detail

struct search_result {
  hardware_status hardware{};                          ///< for all devices; where it is refused, nothing is searched
  static_vector<found_plan, most_found_plans> plan{};  ///< the winner first, then the next ones
  static_vector<found_plan, 1> best_named{};
  search_certificate certificate{};
  constexpr bool ok() const { return !plan.empty(); }
  friend constexpr bool operator==(const search_result&, const search_result&) = default;
};

/// What a long search says of itself.
struct search_progress {
  int graph = 0;
  plan_frame frame{};
  extent_t frames = 0;  ///< so far
  extent_t best = 0;    ///< time of the best plan so far; 0: none
};

}}  // namespace hyperparallel::v0_2
