// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plan that a step of training runs, as a constant of its type.
//
// One constant evaluation builds the graph unrolled, partitions it, chooses the moves, plans addresses, lowers the phases
// and proves them; what it keeps is an image of the lowered program, which a world runs (world/world.hpp). It is
// made where it is named first. The compiler plans steps up to `most_planned_steps` steps of a rank and
// `most_planned_tasks` tasks of all ranks, without a budget of memory; of others the plan is not asked.
// Complexity: that of `partition` and `lower`.

#include <hyperparallel/lowering/image.hpp>
#include <hyperparallel/step/arguments.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/support/proof.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr int most_planned_steps = 1000;
inline constexpr int most_planned_tasks = 20'000;

}  // namespace detail

/// How large a plan is.
struct plan_size {
  extent_t steps = 0;  ///< of a rank of each part, unrolled
  extent_t tasks = 0;  ///< of all ranks
  friend constexpr bool operator==(const plan_size&, const plan_size&) = default;

  constexpr bool may_be_constant() const {
    return steps <= detail::most_planned_steps && tasks <= detail::most_planned_tasks;
  }
};

/// The size of the plan of a program whose segments may be folded. O(steps).
constexpr plan_size size_of_plan(const sharded_program& p, const program_moves& moves) {
  plan_size n;
  for (const program_step& s : p.step) {
    const extent_t repeats = s.segment < 0 ? 1 : p.graph.segment[s.segment].repeats;
    const int rows = s.is_move ? kind_of(moves, s.index).steps : 1;
    n.steps += repeats;
    n.tasks += repeats * (rows > 0 ? rows : 1) * detail::ranks_of_part(p, detail::part_of_step(p, s));
  }
  return n;
}

namespace detail {

/// `Step` has `lowered()`, a constant.
template <class Step>
struct planned_step {
  // The types depend on the step, so that a unit that only includes this makes no buffer.
  static constexpr auto buffer = image_buffer_of<boost::mp11::mp_if_c<true, image_types, Step>>(Step::lowered());
  static constexpr image_sizes sizes = buffer.sizes;
  /// Its status is that of the plan.
  static constexpr auto image = image_of<sizes>(buffer);
  static constexpr proof verified = buffer.fits ? proved_if(image.rest.status.ok()) : proof{};
  static constexpr const program_addresses& addresses = image.rest.addresses;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
