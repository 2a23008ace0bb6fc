// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a plan fits into the memory of a device, and the smallest change that makes it fit.
//
//   const hp::memory_reserve reserve{.library_bytes = 2 * hp::GiB, .allocator_per_mille = 30};
//   hp::verdict_of(peak, reserve, device_bytes);                      fits, tight or does_not_fit
//   hp::is_better({verdict, time, bytes}, {…});                       the order of plans
//   hp::visit_plans_that_fit(decoder, plan, prices, reserve, visit);  each tried out
//
// A device has to hold the bytes that are alive at the peak, a share of them that the allocator's blocks waste, and what the
// run time and the communication library keep for themselves. Tight is what fits only where the allocator wastes less than
// assumed, possibly nothing. A tight plan is an answer where none fits; no plan that does not fit is one. A measured run
// (measured_run.hpp) says what is held beside that, or less than that: never less than parameters and states.
//
// Laws: `is_better` is a strict weak order, in which every plan that fits comes before all that are tight, and these before all
// that do not fit; what is tight or fits is what fits with the reserve `without_waste`.

#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/planner/simulation.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What a device holds beside a program's tensors. The defaults are assumed; no source gives them.
struct memory_reserve {
  extent_t library_bytes = 2 * GiB;
  extent_t allocator_per_mille = 30;  ///< of the peak
  extent_t measured_beside = 0;       ///< of every plan, by a measured run; below 0: less is held than is counted
  /// `not_counted` where that leaves 64 bits: it fits nowhere.
  constexpr extent_t needed(extent_t peak) const {
    const checked_extent wholes = checked_multiply(peak, allocator_per_mille / 1000);
    const extent_t parts = allocator_per_mille % 1000;
    const extent_t wasted = peak / 1000 * parts + ceil_divide(peak % 1000 * parts, 1000);
    return wholes.overflow ? not_counted
                           : with_beside(all_of(all_of(peak, all_of(wholes.value, wasted)), library_bytes));
  }
  /// The same of an allocator that wastes nothing.
  constexpr extent_t least_needed(extent_t peak) const { return with_beside(all_of(peak, library_bytes)); }
  /// The largest peak that needs no more than `bytes`; 0 where the libraries alone do.
  constexpr extent_t most_peak(extent_t bytes) const {
    const checked_extent all = checked_add(bytes, -measured_beside);
    const extent_t room = all.overflow ? (measured_beside > 0 ? extent_t{0} : not_counted - 1) : all.value;
    if (room <= library_bytes) return 0;
    const extent_t left = room - library_bytes, whole = 1000 + allocator_per_mille;
    return left / whole * 1000 + left % whole * 1000 / whole;
  }
  constexpr memory_reserve without_waste() const { return {library_bytes, 0, measured_beside}; }
  constexpr memory_reserve without_measured() const { return {library_bytes, allocator_per_mille}; }
  friend constexpr bool operator==(const memory_reserve&, const memory_reserve&) = default;

 private:
  constexpr extent_t with_beside(extent_t bytes) const {
    return bytes == not_counted ? not_counted : larger(all_of(bytes, measured_beside), extent_t{0});
  }
  static constexpr extent_t all_of(extent_t a, extent_t b) {
    const checked_extent sum = checked_add(a, b);
    return sum.overflow ? not_counted : sum.value;
  }
};

enum class fit_verdict : unsigned char { fits, tight, does_not_fit };

constexpr const char* name_of(fit_verdict v) {
  constexpr const char* names[] = {"fits", "tight", "does not fit"};
  return names[static_cast<int>(v)];
}

/// Of `peak` bytes alive on a device that has `bytes`.
constexpr fit_verdict verdict_of(extent_t peak, const memory_reserve& reserve, extent_t bytes) {
  const auto holds = [bytes](extent_t needed) { return needed != not_counted && needed <= bytes; };
  if (holds(reserve.needed(peak))) return fit_verdict::fits;
  return holds(reserve.least_needed(peak)) ? fit_verdict::tight : fit_verdict::does_not_fit;
}

namespace detail {

/// What parameters and states of a plan take of a device: they are there all the time.
constexpr extent_t held_throughout(const plan_estimate& e) {
  if (e.is_walked()) return e.on_stack.steady;
  return e.held[static_cast<int>(memory_class::parameters)] + e.held[static_cast<int>(memory_class::states)];
}

}  // namespace detail

/// What a device has to have for a plan: never less than what is there all the time, whatever a measured run says.
constexpr extent_t needed_of(const plan_estimate& e, const memory_reserve& reserve) {
  const extent_t needed = reserve.needed(e.memory());
  return reserve.measured_beside < 0 ? larger(needed, detail::held_throughout(e) + reserve.library_bytes) : needed;
}

/// Of an estimate. States that the host has no room for fit nowhere. A stack's plan fits where what its allocator reserves does, and is tight where what is in use at once does: PyTorch
/// gives free segments back where the device has no more.
constexpr fit_verdict verdict_of(const plan_estimate& e, const memory_reserve& reserve, extent_t bytes) {
  if (reserve.measured_beside < 0 && detail::held_throughout(e) > bytes - reserve.library_bytes)
    return fit_verdict::does_not_fit;
  if (!e.on_host.fits()) return fit_verdict::does_not_fit;
  const fit_verdict v = verdict_of(e.memory(), reserve, bytes);
  if (v == fit_verdict::fits || !e.is_walked()) return v;
  return verdict_of(e.peak(), reserve, bytes) == fit_verdict::does_not_fit ? fit_verdict::does_not_fit
                                                                           : fit_verdict::tight;
}

/// Whether a plan of this verdict is an answer.
constexpr bool is_answer(fit_verdict v) { return v != fit_verdict::does_not_fit; }

/// What plans for one question are compared by.
struct fit_rank {
  fit_verdict verdict = fit_verdict::does_not_fit;
  extent_t time = not_counted;
  extent_t bytes = not_counted;  ///< that a device needs
};

/// Whether `a` comes before `b`: the better verdict, then of plans that are an answer the faster, of others the smaller.
constexpr bool is_better(const fit_rank& a, const fit_rank& b) {
  if (a.verdict != b.verdict) return a.verdict < b.verdict;
  return is_answer(a.verdict) ? a.time < b.time : a.bytes < b.bytes;
}

namespace detail {

/// Options that cost no device: the stage of ZeRO, recomputation of whole layers, the micro-batches. Calls `visit(plan, changes)` for every
/// choice of them that holds no more than `from` does.
template <class Visit>
constexpr void visit_options(const decoder_plan& from, const Visit& visit) {
  const bool sharded = from.dp * from.cp * from.ep > 1;
  for (int zero = from.zero; zero <= (sharded ? 3 : from.zero); ++zero)
    for (const bool again : {false, true})
      for (extent_t m = from.micro_batches; m <= from.batch; m *= 2) {
        decoder_plan p = from;
        p.zero = zero;
        if (again) p.recomputed = true, p.selective = false, p.modules = 0;
        if (again && p.recomputed == from.recomputed && p.selective == from.selective) continue;  // it is whole
        p.micro_batches = static_cast<int>(m);
        visit(p, (zero != from.zero ? 1 : 0) + (again ? 1 : 0) + (p.micro_batches != from.micro_batches ? 1 : 0));
      }
}

}  // namespace detail

/// Calls `visit(estimate, changes)` for the plans that fit after the smallest change: one of the options, two, three; else
/// one degree doubled in place of data parallelism, on as many devices; else one degree times 2, 4 or 8, with more devices.
/// A degree is tried with the options as they are, then with the most sparing. Each plan is estimated and simulated, none is guessed.
/// On a stack only plans that it has rules for are tried. Returns the devices of the plans; 0 where none of these fits. Precondition: the
/// hardware can be.
template <class Visit>
constexpr extent_t visit_plans_that_fit(const decoder& d, const decoder_plan& from, plan_prices& prices,
                                        const memory_reserve& reserve, const Visit& visit,
                                        const stack_rules& stack = known_stacks[0]) {
  const extent_t bytes = prices.device().tier[0].bytes;
  const auto tried = [&](const decoder_plan& p, int changes) {
    if (!check_plan(d, p, device_count_of(p)).ok() || check_stack(d, p, stack) != stack_code::ok) return false;
    plan_estimate e = estimate_plan(d, p, prices, stack);
    if (!e.ok() || (p.pp == 1 && verdict_of(e.counted_memory(), reserve, bytes) != fit_verdict::fits)) return false;
    e.simulated = simulate_plan(d, p, prices, stack.walked ? largest_simulated_memory : reserve.most_peak(bytes));
    if (verdict_of(e, reserve, bytes) != fit_verdict::fits) return false;
    visit(static_cast<const plan_estimate&>(e), changes);
    return true;
  };
  for (int size = 1; size <= 3; ++size) {
    bool some = false;
    detail::visit_options(from, [&](const decoder_plan& p, int changes) {
      if (changes == size) some = tried(p, changes) || some;
    });
    if (some) return device_count_of(from);
  }
  for (int factor = 1; factor <= 8; factor *= 2) {
    bool some = false;
    for (const plan_degree& degree : plan_degrees) {
      decoder_plan p = from;
      const bool is_data = degree.of == &decoder_plan::dp;
      const int larger_by = factor == 1 ? 2 : factor;
      if (factor == 1 && (is_data || p.dp % 2 != 0)) continue;
      if (factor == 1) p.dp /= 2;
      p.*degree.of *= larger_by;
      // The sparing end of the options: everything sharded and computed again, the smallest micro-batches that divide.
      decoder_plan sparing = p;
      detail::visit_options(p, [&](const decoder_plan& q, int) {
        if (check_plan(d, q, device_count_of(q)).ok()) sparing = q;
      });
      const bool as_it_is = tried(p, 1);
      some = as_it_is || some;
      if (!as_it_is && !(sparing == p)) some = tried(sparing, 2) || some;
    }
    if (some) return device_count_of(from) * factor;
  }
  return 0;
}

}}  // namespace hyperparallel::v0_2
