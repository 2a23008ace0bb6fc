// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one measured run says of all other plans: how much slower or faster computing is than predicted, and what is held beside what is.
//
//   const hp::measured_run run{.plan = plan, .step = 6'100'000'000'000, .memory = 61 * hp::GiB};
//   const hp::calibration c = hp::calibrate(llama3, run, prices, reserve, stack);
//   hp::calibrated_device(device, stack, c), hp::calibrated_stack(stack, c), reserve.measured_beside = c.beside
//
// Time is a factor on all computing, since links are taken to be as stated: a device that is slower by it prices account, clock, replay,
// search and bounds. On a stack that is walked (stack.hpp) it is the time of its kernels and of its host that is longer, and the device stays. Memory is a difference: `memory` is what
// the allocator has taken of the device at most ("reserved" in logs), and all plans are taken to hold as much more or less than predicted.
// A run that was there fits, so none is taken to need more than the device has, libraries included.
// Data-sheet bounds, peaks and MFU are those of the device as it is stated.
//
// Laws: the step of the run's plan, predicted with the calibration, is the measured one, within 0.1 % where the clock does not jump there, and
// its needs without libraries are the measured ones as far as the device has that much, and addresses fit; a factor of 1 changes nothing, bit for bit; computing scales with the factor.
// Units: picoseconds, bytes. O(32 · (estimate_plan + simulate_plan)), in up to four rounds where both are measured.

#include <hyperparallel/planner/fit.hpp>
#include <hyperparallel/planner/sheet_bound.hpp>
#include <hyperparallel/planner/stack_time.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct measured_run {
  decoder_plan plan{};
  extent_t step = 0;    ///< 0: not measured
  extent_t memory = 0;  ///< taken by the allocator of a device at most; 0: not measured
};

enum class calibration_code : unsigned char {
  ok,
  is_not_counted,          ///< the plan has no price
  step_is_below_sheet,     ///< less than `limit`, the bound by data sheet
  step_is_below_moves,     ///< no more than `limit`, which moves take however fast computing is
  factor_is_out_of_range,  ///< `factor` is not
  memory_exceeds_device,   ///< more than `limit`, what the device has
  memory_is_below_states,  ///< less than `limit`, what parameters and states take
};

/// What factors on computing are taken to be possible: beyond them the run is not of this plan.
inline constexpr double least_calibration = 0.2, most_calibration = 10;

struct calibration {
  calibration_code code = calibration_code::ok;
  double factor = 1;    ///< of computing on the chosen stack
  extent_t beside = 0;  ///< held more than predicted; below 0 less
  extent_t limit = 0;   ///< what the code is about
  constexpr bool ok() const { return code == calibration_code::ok; }
  friend constexpr bool operator==(const calibration&, const calibration&) = default;
};

namespace detail {

/// Not 0 where `n` is not.
constexpr std::int64_t divided(std::int64_t n, double factor) {
  return n == 0 ? 0 : larger(whole_part_of(static_cast<double>(n) / factor), extent_t{1});
}

/// Of a step: moves that computing hides are in neither.
struct predicted_step {
  bool counted = false;
  extent_t computing = 0, exposed = 0;
  constexpr extent_t total() const { return computing + exposed; }
};

struct found_factor {
  double factor = 1;
  predicted_step step{};
  bool is_reached = false;  ///< the measured step, or a factor with a shorter one
};

/// Device factors that are tried: rates stay within 64 bits.
inline constexpr double least_tried = 1.0 / 64, most_tried = 1024;

/// The factor at which `predict(factor)`, which grows with it, comes nearest to the measured step: as if what is exposed stayed, else
/// between the last too short and the last too long one.
template <class Predict>
constexpr found_factor factor_of(extent_t measured, const Predict& predict) {
  found_factor best;
  extent_t missed = not_counted;
  double low = least_tried, high = most_tried, f = 1;
  for (int i = 0; i < 32; ++i) {
    const predicted_step p = predict(f);
    if (!p.counted) return i == 0 ? found_factor{f, p} : best;
    const bool is_short = p.total() < measured;
    const extent_t miss = is_short ? measured - p.total() : p.total() - measured;
    if (miss < missed) best = {f, p, best.is_reached};
    missed = smaller(miss, missed);
    best.is_reached = best.is_reached || is_short || miss <= measured / 1000;
    if (miss <= measured / 100'000) break;
    (is_short ? low : high) = f;
    const double next =
        f * static_cast<double>(measured - p.exposed) / static_cast<double>(larger(p.computing, extent_t{1}));
    if (next > low && next < high && i % 2 == 0)
      f = next;
    else
      f = high == most_tried ? 2 * low : low == least_tried ? high / 2 : (low + high) / 2;
    if (!(low < f && f < high)) break;
  }
  return best;
}

/// A device that takes `factor` as long for all that it computes and copies: links, memory and shares of peaks stay. Domain: factor > 0.
constexpr device_value slower_device(device_value d, double factor) {
  if (factor == 1) return d;
  for (std::int64_t& rate : d.matrix_flops) rate = detail::divided(rate, factor);
  d.vector_flops = detail::divided(d.vector_flops, factor);
  d.vector_flops_f64 = detail::divided(d.vector_flops_f64, factor);
  d.l2_bandwidth = detail::divided(d.l2_bandwidth, factor);
  // All tiers, so that their order stays.
  for (int t = 0; t < d.tier_count; ++t) d.tier[t].bandwidth = detail::divided(d.tier[t].bandwidth, factor);
  d.task_overhead = detail::multiplied(d.task_overhead, factor);
  return d;
}

}  // namespace detail

/// What prices plans under a calibration: the device where this library's account is the stack's, else the stack.
constexpr device_value calibrated_device(const device_value& d, const stack_rules& stack, const calibration& c) {
  return stack.walked ? d : detail::slower_device(d, c.factor);
}
constexpr stack_rules calibrated_stack(stack_rules stack, const calibration& c) {
  if (stack.walked) stack.pace = c.factor;
  return stack;
}

namespace detail {

/// What `hp plan` says of a plan: estimate and simulation, with computing longer by a factor.
struct calibrated_prediction {
  const decoder& d;
  const decoder_plan& plan;
  const plan_prices& stated;
  const stack_rules& stack;

  constexpr plan_estimate estimate(double factor, const memory_reserve& reserve) const {
    const calibration c{.factor = factor};
    plan_prices prices(calibrated_device(stated.device(), stack, c), stated.links());
    plan_estimate e = estimate_plan(d, plan, prices, calibrated_stack(stack, c));
    const extent_t bytes = stated.device().tier[0].bytes;
    if (e.ok())
      e.simulated = simulate_plan(d, plan, prices, stack.walked ? largest_simulated_memory : reserve.most_peak(bytes));
    return e;
  }
  constexpr predicted_step step(double factor, const memory_reserve& reserve) const {
    const plan_estimate e = estimate(factor, reserve);
    return {e.ok(), e.time() - e.exposed(), e.exposed()};
  }
};

/// Fills the factor. False where the step refutes itself.
constexpr bool calibrate_time(const calibrated_prediction& p, extent_t measured, const memory_reserve& reserve,
                              calibration& c) {
  const auto refuse = [&](calibration_code code, extent_t limit) {
    c.code = code;
    c.limit = limit;
    return false;
  };
  const found_factor own = factor_of(measured, [&](double f) { return p.step(f, reserve); });
  if (!own.step.counted) return refuse(calibration_code::is_not_counted, 0);
  if (!own.is_reached || own.step.exposed >= measured)
    return refuse(calibration_code::step_is_below_moves, p.step(least_tried, reserve).total());
  c.factor = own.factor;
  if (c.factor < least_calibration || c.factor > most_calibration)
    return refuse(calibration_code::factor_is_out_of_range, 0);
  return true;
}

}  // namespace detail

/// `prices` are those of the device as it is stated, `reserve` what is counted beside the plan. Precondition: check_plan and check_stack of the
/// run's plan say ok, and the hardware can be; one amount is measured at least.
constexpr calibration calibrate(const decoder& d, const measured_run& run, const plan_prices& prices,
                                const memory_reserve& reserve, const stack_rules& stack = known_stacks[0]) {
  const device_value& device = prices.device();
  const extent_t has = device.tier[0].bytes;
  const detail::calibrated_prediction p{d, run.plan, prices, stack};
  memory_reserve calibrated = reserve.without_measured();
  plan_estimate e = p.estimate(1, calibrated);
  if (!e.ok()) return {.code = calibration_code::is_not_counted};
  if (const extent_t least = sheet_bound(d, run.plan, device, prices.links()).picoseconds();
      run.step > 0 && run.step < least)
    return {.code = calibration_code::step_is_below_sheet, .limit = least};
  if (run.memory > has) return {.code = calibration_code::memory_exceeds_device, .limit = has};
  if (const extent_t least = detail::held_throughout(e); (run.memory > 0 ? run.memory : has) < least)
    return {.code = calibration_code::memory_is_below_states, .limit = least};
  calibration c;
  // Of a pipeline addresses depend on the time that stages take, and how far moves go ahead on the memory that is left for them.
  for (int round = 0; round < 4; ++round) {
    const extent_t counted = reserve.without_measured().needed(e.memory());
    if (counted == not_counted) return {.code = calibration_code::is_not_counted};
    const extent_t needed = smaller(run.memory > 0 ? run.memory + reserve.library_bytes : counted, has);
    if (round > 0 && c.beside == needed - counted) break;
    // What exceeds the memory by address needs more than what does not, so that the last two may alternate: the plan fits with the smaller.
    c.beside = round < 3 ? needed - counted : smaller(needed - counted, c.beside);
    calibrated.measured_beside = c.beside;
    if (run.step > 0 && !detail::calibrate_time(p, run.step, calibrated, c)) break;
    e = p.estimate(c.factor, calibrated);
  }
  return c;
}

}}  // namespace hyperparallel::v0_2
