// SPDX-License-Identifier: Apache-2.0
#pragma once
// The account of a program on given hardware: memory, operations, bytes and times of one device and one step.
//
// Times are the estimate of step_estimate.hpp: matrix work at `gmm_cold` of its format's rate, never at `gmm_warm`.
// One value that may be kept from a constant evaluation, asserted on and printed (report/format_program.hpp):
//   static_assert(account.memory.peak <= 56 * GiB);
// O(what its parts take); kinds of moves and their loads are found once for all.
//
// The folder price/: bytes, operations and seconds of a program or of its plan. Accounts and traffic of a step, the estimate
// that searches compare plans by, the clock that plays every task of a plan (clock.hpp), stages of pipelines
// replayed. What chooses by these prices is in search/ and planner/.

#include <hyperparallel/hardware/hardware_status.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/price/step_estimate.hpp>
#include <hyperparallel/price/traffic_account.hpp>
#include <hyperparallel/strategy/memory_account.hpp>
#include <hyperparallel/strategy/whole_tensors.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct step_account {
  strategy_status status{};    ///< of the program
  hardware_status hardware{};  ///< for the mesh; where this or the program is refused, amounts are `not_counted`
  mesh_value mesh{};
  interconnect links{};
  memory_account memory{};
  extent_t whole_bytes = 0;  ///< of what stays whole though the strategy asks for it to be sharded (whole_tensors.hpp)
  work_total work{};
  traffic_account traffic{};
  step_times times{};
  extent_t matrix_peak = 0;   ///< operations a second in bf16
  extent_t memory_bytes = 0;  ///< that the device has
  /// Neither the program nor the hardware is refused, and the step has a time.
  constexpr bool ok() const { return status.code == strategy_code::ok && hardware.ok() && times.total.ok(); }
  friend constexpr bool operator==(const step_account&, const step_account&) = default;
};

/// Operations of the matrix unit over what it could have done in the time, in 1/10 000; 0 where no time is told.
constexpr extent_t matrix_use(const step_account& a) {
  if (!a.times.total.ok() || a.times.total.picoseconds == 0 || a.matrix_peak == 0) return 0;
  const time_cost least = work_time(a.work.flops[static_cast<int>(compute_unit::matrix)], 1, 1, a.matrix_peak);
  return work_time(least.picoseconds, 10'000, a.times.total.picoseconds, second).picoseconds;
}

namespace detail {

/// What is known before anything is counted: no time yet, and why.
constexpr step_account account_head(const sharded_program& p, const device_value& d, const interconnect& net) {
  step_account a;
  a.status = p.status;
  a.mesh = p.mesh;
  a.hardware = check_hardware(d, net, ranks_of(p));
  a.memory = memory_account::of_nothing();
  a.whole_bytes = not_counted;
  a.work = work_total::of_nothing();
  a.traffic = traffic_account::of_nothing();
  a.times = step_times::of_nothing(p.status.code != strategy_code::ok ? cost_code::program_is_refused
                                                                      : cost_code::hardware_is_refused);
  a.links = net;
  a.matrix_peak = matrix_peak(d, number_format::bfloat16);
  a.memory_bytes = d.tier[0].bytes;
  return a;
}

}  // namespace detail

/// The account on devices that the links join which `moves` are chosen on; these have the ranks of the mesh's positions.
/// `block_duration` becomes what estimate_step says of blocks; none where the program or the hardware is refused. Domain:
/// `moves` and `uses` are the program's.
constexpr step_account account_of(const sharded_program& p, const program_moves& moves, const storage_uses& uses,
                                  const device_value& d, growing_array<extent_t>& block_duration) {
  step_account a = detail::account_head(p, d, moves.links);
  block_duration.clear();
  if (p.status.code != strategy_code::ok || !a.hardware.ok()) return a;
  const growing_array<move_load> load = detail::loads_of_moves(p, moves);
  a.memory = detail::memory_account_of(p, moves, uses);
  a.whole_bytes = whole_bytes(p);
  a.work = detail::total_work(p);
  a.traffic = traffic_of(p, moves, load);
  a.times = estimate_step(p, moves, load, d, moves.links, block_duration);
  return a;
}
constexpr step_account account_of(const sharded_program& p, const device_value& d, const interconnect& net) {
  step_account head = detail::account_head(p, d, net);
  if (p.status.code != strategy_code::ok || !head.hardware.ok()) return head;
  growing_array<extent_t> block_duration;
  return account_of(p, kinds_of_moves(p, net), storage_uses(p), d, block_duration);
}

/// The account on a preset, position r of the mesh on rank r: the last axis is innermost.
template <hardware_type Hardware>
constexpr step_account account_on(const sharded_program& p) {
  return account_of(p, Hardware::device, interconnect_of(Hardware::topology));
}

}}  // namespace hyperparallel::v0_2
