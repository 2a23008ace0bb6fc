// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of a pipeline with very many micro-batches, at a cost that does not depend on how many: a replay of few, and what
// each period more adds, by the theorem in row_growth.hpp.
//
//   struct mine {  // a schedule that declares how its rows grow
//     …
//     static constexpr pipeline_period period(const pipeline_shape& n) { return {1, n.ranks}; }
//   };
//
// Law: the account of m micro-batches equals that of their full replay. Checked: the rows of m' and m' + q, which are generated
// and compared; the body that they differ by must stand before the cut of m' as often as the theorem needs. Assumed, as the
// schedule declares it: the rows of m are those of m' with that body inserted (m − m') / q times, each time with numbers q
// above. All m are replayed if the check fails, if times are by micro-batch, if an F or I takes no time, and if bodies have not
// moved alike before half of m.

#include <cstdint>

#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/row_growth.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class Schedule>
concept periodic_schedule = schedule_generator<Schedule> && requires(const pipeline_shape& n) {
  Schedule::period(n).micro_batches;
  Schedule::period(n).from;
};

namespace detail {

/// Whether costs are the same for each micro-batch, and as the theorem asks.
constexpr bool costs_repeat(const pipeline_costs& c, const pipeline_shape& n) {
  if (!costs_fit(c, n.stages(), n.micro_batches) || c.overlapped_pair == 0) return false;
  if (c.times.size > n.stages() || c.bytes.size > n.stages()) return false;
  for (const stage_times& t : c.times)
    if (t.forward == 0 || t.input_gradient == 0) return false;
  return true;
}

/// Bodies of a first replay behind the least rows that are periodic; 0: everything is to be replayed.
constexpr int bodies_at_first(const pipeline_costs& c, const pipeline_shape& n) { return costs_repeat(c, n) ? 2 : 0; }

/// `few` with one period of `n` more.
template <periodic_schedule Schedule>
constexpr pipeline_shape one_period_more(const pipeline_shape& n, pipeline_shape few) {
  few.micro_batches += Schedule::period(n).micro_batches;
  return few;
}

/// The shape with so many bodies, to replay in place of `n`; `n` itself where that saves less than half.
template <schedule_generator Schedule>
constexpr pipeline_shape shape_to_replay(const pipeline_shape& n, int bodies) {
  if constexpr (periodic_schedule<Schedule>) {
    const pipeline_period p = Schedule::period(n);
    if (bodies < 1 || p.micro_batches < 1 || p.from < 1) return n;
    const int all = (n.micro_batches - p.from) / p.micro_batches;
    pipeline_shape few = n;
    few.micro_batches -= (all - bodies) * p.micro_batches;
    const pipeline_shape more = one_period_more<Schedule>(n, few);
    if (all <= bodies || more.micro_batches > n.micro_batches / 2) return n;
    if (check_shape_of<Schedule>(few).ok() && check_shape_of<Schedule>(more).ok()) return few;
  }
  return n;
}

/// The result of a replay of few micro-batches.
template <class Sizes>
struct extrapolated_account {
  bool complete = false;  ///< `account` is that of all micro-batches
  int next_bodies = 0;    ///< otherwise: the bodies to replay next; 0: no number of them is enough
  basic_pipeline_account<Sizes> account{};
};

/// The account of `n`, by a replay of `few`, the shape to replay with `bodies`. Precondition: `costs_repeat`.
template <periodic_schedule Schedule, class Sizes, class LongerSizes>
constexpr extrapolated_account<Sizes> extrapolate(const pipeline_shape& n, const pipeline_shape& few, int bodies,
                                                  const pipeline_costs& c) {
  const int period = Schedule::period(n).micro_batches;
  const auto s = generate<Schedule, Sizes>(few);
  const auto longer = generate<Schedule, LongerSizes>(one_period_more<Schedule>(n, few));
  const row_growth<Sizes> growth(s, longer);
  extrapolated_account<Sizes> found;
  if (!growth.is_periodic()) return found;
  pipeline_replay<Sizes> replayed(s, c, {}, nullptr);
  found.account = replayed.run();
  if (!found.account.ok()) return found;
  const auto step = growth.find_step(replayed.reached());
  const int left = (n.micro_batches - few.micro_batches) / period;
  found.complete = step.bodies > 0 && left % step.bodies == 0;
  if (!found.complete) {
    found.next_bodies = step.bodies > 0 ? bodies + left % step.bodies : 2 * bodies;
    return found;
  }
  basic_pipeline_account<Sizes>& a = found.account;
  const std::int64_t later = left / step.bodies * step.time;
  std::int64_t work = 0;
  for (int r = 0; r < n.ranks; ++r) {
    a.rank[r].last_end += later;
    a.rank[r].busy += left * growth.work(replayed.reached(), r);
    work += a.rank[r].busy;
  }
  a.makespan += later;
  a.longest_rank_span += later;
  a.ideal = ceil_divide(work, n.ranks);
  return found;
}

}  // namespace detail

/// What `replay(generate<Schedule>(n), c)` says. `replayed`, where given, takes how many micro-batches were replayed.
/// Precondition: `check_shape_of<Schedule>(n)` is ok. Complexity: linear in the actions of the micro-batches replayed and one
/// period more, whatever m. An attempt takes at most m / 2; the next, twice its bodies, or fewer than c more to divide by c.
template <schedule_generator Schedule>
constexpr pipeline_account replay_many(const pipeline_shape& n, const pipeline_costs& c = {}, int* replayed = nullptr) {
  if (replayed != nullptr) *replayed = n.micro_batches;
  if constexpr (periodic_schedule<Schedule>) {
    for (int bodies = detail::bodies_at_first(c, n);;) {
      const pipeline_shape few = detail::shape_to_replay<Schedule>(n, bodies);
      if (few == n) break;
      const auto found =
          detail::extrapolate<Schedule, growing_pipeline_sizes, growing_pipeline_sizes>(n, few, bodies, c);
      if (found.complete) {
        if (replayed != nullptr) *replayed = few.micro_batches;
        return found.account;
      }
      bodies = found.next_bodies;
    }
  }
  return replay(generate<Schedule>(n), c);
}

}}  // namespace hyperparallel::v0_2
