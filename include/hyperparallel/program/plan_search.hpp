// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fastest plan of a decoder on so many devices that fits into their memory, with a bound that says how much faster a
// plan could still be.
//
//   const hp::plan_question q{.devices = 64, .batch = 256, .sequence = 4096};
//   const hp::plan_answer a = hp::search_plans(llama3, q, prices, [](const hp::plan_progress&) { return true; });
//   a.best[0], a.bound, a.complete
//
// Searched are all legal degrees (tp, pp, dp, cp, ep), all numbers of micro-batches that divide the batch, ZeRO stages 0 to
// 3, recomputation of whole layers or none, sequence parallelism on and off; each is priced by `estimate_plan`. A plan whose
// bound on memory (plan_bounds.hpp) is above what a device has is left out; the others have their turn by their bound on
// time, and the search is complete where the next bound is no less than the best time found. A plan fits if
// `verdict_of` says fits, with the reserve of the question: a tight one is not an answer.
// Laws: a complete search finds the time that pricing all plans finds; the bound is at most the time of every plan
// that fits, however early the search was ended.

#include <hyperparallel/program/plan_bounds.hpp>
#include <hyperparallel/program/plan_fit.hpp>
#include <hyperparallel/program/plan_neighbours.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct plan_question {
  extent_t devices = 1;
  extent_t batch = 1;     ///< sequences in a step
  extent_t sequence = 1;  ///< tokens in a sequence
  memory_reserve reserve{};
  int rows = 6;  ///< plans that are kept
};

struct plan_progress {
  extent_t plans = 0;   ///< that may fit
  extent_t priced = 0;  ///< of these
  extent_t best = not_counted;
};

struct plan_answer {
  growing_array<plan_estimate> best;  ///< that fit, the fastest first: different degrees, or less memory
  plan_estimate fastest_unfit{};      ///< of those priced that do not fit; not ok where there is none
  extent_t legal = 0;                 ///< plans
  extent_t too_large = 0;             ///< of these, by the bound on memory
  extent_t priced = 0, priced_unfit = 0;
  extent_t left = 0;   ///< neither priced nor known to be slower or too large
  extent_t bound = 0;  ///< no legal plan that fits takes less; `not_counted` where none fits
  bool complete = false;
  constexpr bool ok() const { return !best.empty(); }
  /// Legal plans that were not priced because their bound is no less than the best time.
  constexpr extent_t slower() const { return legal - too_large - priced - left; }
};

/// Calls `visit(plan)` for every legal plan, each once. ZeRO is 0 where nothing is sharded by it, sequence parallelism on
/// where tp is 1. O(divisors of the batch · divisors of the devices to the 4th · layers).
template <class Visit>
constexpr void visit_legal_plans(const decoder& d, const plan_question& q, const Visit& visit) {
  for (const extent_t micro_batches : divisors_of(q.batch)) {
    decoder_plan from;
    from.micro_batches = static_cast<int>(micro_batches);
    from.batch = q.batch;
    from.sequence = q.sequence;
    from.sequence_parallel = false;  // demands least
    detail::visit_legal_degrees(d, from, q.devices, [&](decoder_plan p) {
      for (const bool sequence_parallel : {true, false}) {
        p.sequence_parallel = sequence_parallel;
        if (sequence_parallel ? p.tp > 1 && !check_plan(d, p, q.devices).ok() : p.tp == 1) continue;
        for (p.zero = 0; p.zero <= (extent_t{p.dp} * p.cp * p.ep > 1 ? 3 : 0); ++p.zero)
          for (const bool recomputed : {false, true}) {
            p.recomputed = recomputed;
            visit(static_cast<const decoder_plan&>(p));
          }
      }
    });
  }
}

namespace detail {

struct bounded_plan {
  decoder_plan plan{};
  extent_t time = 0;
};

/// The heap's root has the least bound.
constexpr void push_plan(growing_array<bounded_plan>& heap, const bounded_plan& p) {
  heap.push(p);
  for (int i = heap.size - 1; i > 0 && p.time < heap[(i - 1) / 2].time; i = (i - 1) / 2) {
    heap[i] = heap[(i - 1) / 2];
    heap[(i - 1) / 2] = p;
  }
}
constexpr bounded_plan pop_plan(growing_array<bounded_plan>& heap) {
  const bounded_plan root = heap[0], last = heap[heap.size - 1];
  --heap.size;
  for (int i = 0; i < heap.size;) {
    int child = 2 * i + 1;
    if (child + 1 < heap.size && heap[child + 1].time < heap[child].time) ++child;
    heap[i] = last;
    if (child >= heap.size || last.time <= heap[child].time) break;
    heap[i] = heap[child];
    i = child;
  }
  return root;
}

constexpr bool same_degrees(const decoder_plan& a, const decoder_plan& b) {
  for (const plan_degree& d : plan_degrees)
    if (a.*d.of != b.*d.of) return false;
  return true;
}

/// Of plans with the same degrees, a slower one has a row only where it needs a tenth less memory than each faster one.
constexpr void enter_row(growing_array<plan_estimate>& rows, const plan_estimate& e, int most) {
  const auto displaces = [](const plan_estimate& a, const plan_estimate& b) {
    return same_degrees(a.plan, b.plan) && a.evaluation.memory / 10 * 9 <= b.evaluation.memory;
  };
  int at = 0;
  for (; at < rows.size && rows[at].evaluation.time <= e.evaluation.time; ++at)
    if (displaces(rows[at], e)) return;
  rows.push(e);
  for (int i = rows.size - 1; i > at; --i) rows[i] = rows[i - 1];
  rows[at] = e;
  int kept = at + 1;
  for (int i = at + 1; i < rows.size; ++i)
    if (!displaces(e, rows[i])) rows[kept++] = rows[i];
  rows.size = kept < most ? kept : most;
}

}  // namespace detail

/// Searches until it is complete or `go_on(plan_progress)`, which is asked before each price, says false.
/// Precondition: the hardware can be. O(plans · (layers + log plans) + priced · estimate).
template <class GoOn>
constexpr plan_answer search_plans(const decoder& d, const plan_question& q, plan_prices& prices, const GoOn& go_on) {
  plan_answer a;
  const extent_t has = prices.device().tier[0].bytes;
  growing_array<detail::bounded_plan> heap;
  visit_legal_plans(d, q, [&](const decoder_plan& p) {
    ++a.legal;
    if (!plan_is_countable(d, p) || q.reserve.needed(memory_bound(d, p)) > has)
      ++a.too_large;
    else
      detail::push_plan(heap, {p, time_bound(d, p, prices)});
  });
  plan_progress progress{heap.size, 0, not_counted};
  a.bound = not_counted;
  while (!heap.empty()) {
    if (a.ok() && heap[0].time >= a.best[0].evaluation.time) break;
    progress.priced = a.priced;
    progress.best = a.ok() ? a.best[0].evaluation.time : not_counted;
    if (!go_on(static_cast<const plan_progress&>(progress))) {
      a.left = heap.size;
      a.bound = heap[0].time;
      return a;
    }
    const plan_estimate e = estimate_plan(d, detail::pop_plan(heap).plan, prices);
    ++a.priced;
    if (e.ok() && verdict_of(e.evaluation.memory, q.reserve, has) == fit_verdict::fits) {
      detail::enter_row(a.best, e, q.rows);
      continue;
    }
    ++a.priced_unfit;
    if (e.ok() && (!a.fastest_unfit.ok() || a.priced_unfit == 1 || e.evaluation.time < a.fastest_unfit.evaluation.time))
      a.fastest_unfit = e;
  }
  a.complete = true;
  if (a.ok()) a.bound = a.best[0].evaluation.time;
  return a;
}

}}  // namespace hyperparallel::v0_2
