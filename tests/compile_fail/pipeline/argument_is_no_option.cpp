// SPDX-License-Identifier: Apache-2.0
// A number of micro-batches in place of the option that names it.
// expect: diag::option_of_a_pipeline_is_no_option<
// expect: integral_constant<int, 8>
#include <hyperparallel/pipeline.hpp>

#include <type_traits>

namespace hp = hyperparallel;

static_assert(hp::valid_pipeline<hp::gpipe, hp::stages<8>, hp::micro_batches<8>>);
static_assert(!hp::valid_pipeline<hp::gpipe, hp::stages<8>, std::integral_constant<int, 8>>);

#ifdef NEGATIVE
using plan = hp::pipeline<hp::gpipe, hp::stages<8>, std::integral_constant<int, 8>>;
#else
using plan = hp::pipeline<hp::gpipe, hp::stages<8>, hp::micro_batches<8>>;
#endif

constexpr std::int64_t makespan = plan::makespan;
constexpr int peak = plan::peak_activations;
constexpr bool known = plan::account.ok();
