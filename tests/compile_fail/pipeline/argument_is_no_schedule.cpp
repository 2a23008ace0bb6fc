// SPDX-License-Identifier: Apache-2.0
// The sizes stand before the schedule.
// expect: diag::first_argument_of_a_pipeline_is_no_schedule<
// expect: stages<8>
#include <hyperparallel/pipeline.hpp>

namespace hp = hyperparallel;

static_assert(hp::valid_pipeline<hp::gpipe, hp::stages<8>, hp::micro_batches<8>>);
static_assert(!hp::valid_pipeline<hp::stages<8>, hp::gpipe, hp::micro_batches<8>>);

#ifdef NEGATIVE
using plan = hp::pipeline<hp::stages<8>, hp::gpipe, hp::micro_batches<8>>;
#else
using plan = hp::pipeline<hp::gpipe, hp::stages<8>, hp::micro_batches<8>>;
#endif

constexpr std::int64_t makespan = plan::makespan;
constexpr int peak = plan::peak_activations;
constexpr bool known = plan::account.ok();
