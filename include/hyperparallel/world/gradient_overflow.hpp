// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gradients that left the range of the 16-bit floats they are stored in.
//
// An update from a gradient that is infinite or no number makes its parameter, and soon every other, no number. A step
// of training looks at the gradients that norm and update read, before they run, and ends with the name of the first, or
// leaves the update out and goes on from the parameters as they are (`program_options::overflow`).
// What is looked at are the values of strategy/narrow_gradients.hpp on every rank, pending terms included.
// O(bytes of gradients) a step.

#include <hyperparallel/strategy/narrow_gradients.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

class program_memory;

enum class overflow_response : unsigned char {
  stop,    ///< the step ends with program_error, which names the first gradient; parameters are as before it
  skip,    ///< the update is left out: run_result::skipped
  ignore,  ///< nothing is looked at
};

namespace detail {

/// The place in `values` of the first that has an element which is infinite or no number on a rank whose memory is here;
/// `values.size` where all are finite.
int first_overflow(const sharded_program& p, const program_memory& memory, const growing_array<int>& values);

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/gradient_overflow.ipp>
#endif
