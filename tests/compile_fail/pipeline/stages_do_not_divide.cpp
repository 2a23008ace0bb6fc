// SPDX-License-Identifier: Apache-2.0
// Seven stages, two on each rank.
// expect: diag::pipeline_schedule_does_not_exist<
// expect: pipeline_code::stages_do_not_divide
// expect: interleaved_1f1b
// expect: stages<7>
// expect: chunks<2>
#include <hyperparallel/pipeline.hpp>

namespace hp = hyperparallel;

template <int S>
using plan_of = hp::pipeline<hp::interleaved_1f1b, hp::stages<S>, hp::chunks<2>, hp::micro_batches<8>>;

static_assert(hp::valid_pipeline<hp::interleaved_1f1b, hp::stages<8>, hp::chunks<2>, hp::micro_batches<8>>);
static_assert(!hp::valid_pipeline<hp::interleaved_1f1b, hp::stages<7>, hp::chunks<2>, hp::micro_batches<8>>);

#ifdef NEGATIVE
using plan = plan_of<7>;
#else
using plan = plan_of<8>;
#endif

constexpr std::int64_t makespan = plan::makespan;
constexpr std::int64_t bubble = plan::bubble;
constexpr int ranks = plan::ranks;
