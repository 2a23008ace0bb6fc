// SPDX-License-Identifier: Apache-2.0
// What is asserted of a pipeline that is refused adds no error line.
// expect: diag::pipeline_schedule_does_not_exist<
// expect: pipeline_code::stages_do_not_divide
#include <hyperparallel/pipeline.hpp>

namespace hp = hyperparallel;

template <int S>
using plan_of = hp::pipeline<hp::interleaved_1f1b, hp::stages<S>, hp::chunks<2>, hp::micro_batches<8>>;
static_assert(!hp::valid_pipeline<hp::interleaved_1f1b, hp::stages<7>, hp::chunks<2>, hp::micro_batches<8>>);

#ifdef NEGATIVE
using plan = plan_of<7>;
#else
using plan = plan_of<8>;
#endif

static_assert(plan::makespan == plan::ideal + plan::bubble && plan::bubble > 0);
static_assert(plan::bubble * 100 <= plan::makespan * 30 && plan::bubble_of_span <= plan::bubble);
static_assert(plan::peak_activations == 11 && plan::peak_bytes >= 0);
