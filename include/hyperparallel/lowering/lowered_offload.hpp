// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program under a budget of memory, lowered, and how the clock of its plan relates to the one that it was planned by.
//
//   const hp::row_prices price = hp::prices_of_steps(p, hp::kinds_of_moves(p, links), device);
//   const hp::offloaded_program o = hp::offload(p, price.duration, hp::tiers_of(device, budget), {.links = links});
//   const hp::lowered_program l = hp::lower_training(o, {.topology = links});
//   hp::simulate(l, l.run[0], device).makespan <= o.period[0].time
//
// The planner has a clock of its own (offload/offload_clock.hpp), as fast as a search needs it; what runs has that of
// price/clock.hpp. Prices are the same. Laws: the clock of a run is at most the time of its period, and both are equal
// where one device computes and waits for no copy. The planner is later, where it is, because it starts operators in order,
// whichever queue they have, and copies behind the operators that it chose; a run starts what its queue, its values and
// its addresses allow. Addresses cost it nothing: memory is given up where the planner gives it up.
// Domain of the laws: the device has one slower tier (of several, each has links of its own in the plan, but a run has one
// queue each way); the program has one part (others wait for a part that waits for copies, which their plans do not
// know); no store was added to the program that is not in the plan (`added_stores`); what is made again is the
// only result of its operator, since the plan knows nothing of the memory of other results. Elsewhere either may be later.

#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/lowering/offloaded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Program, durations, addresses and certificate of `o` become those of `l`.
constexpr void take_offloaded(lowered_program& l, offloaded_program&& o) {
  l.duration = static_cast<growing_array<extent_t>&&>(o.duration);
  l.offloading = o.planned.certificate;
  l.program = static_cast<sharded_program&&>(o.program);
  l.addresses = static_cast<program_addresses&&>(o.addresses);
}

}  // namespace detail

/// The program with a run for each of its periods. Domain: `o` is ok; complexity: that of `lower`.
constexpr lowered_program lower_training(offloaded_program o, const lowering_options& options) {
  const bool whole = o.period.size == parts_of(o.program);
  lowered_program l;
  l.monitors = o.program.graph.monitor.size;
  detail::take_offloaded(l, static_cast<offloaded_program&&>(o));
  l.watches_gradients = !whole && (l.program.graph.micro_batches == 1 || l.program.unrolled);
  l = detail::lower_memory(static_cast<lowered_program&&>(l), options);
  if (l.status.ok()) detail::lower_steps(l);
  return l;
}

}}  // namespace hyperparallel::v0_2
