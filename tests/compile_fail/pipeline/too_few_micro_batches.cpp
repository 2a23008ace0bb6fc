// SPDX-License-Identifier: Apache-2.0
// DualPipeV with fewer than two micro-batches for each rank.
// expect: diag::pipeline_schedule_does_not_exist<
// expect: pipeline_code::too_few_micro_batches
// expect: dual_pipe_v
// expect: ranks<4>
// expect: micro_batches<6>
// expect: needed<8>
#include <hyperparallel/pipeline.hpp>

namespace hp = hyperparallel;

static_assert(hp::valid_pipeline<hp::dual_pipe_v, hp::stages<8>, hp::micro_batches<8>>);
static_assert(!hp::valid_pipeline<hp::dual_pipe_v, hp::stages<8>, hp::micro_batches<6>>);

#ifdef NEGATIVE
using plan = hp::pipeline<hp::dual_pipe_v, hp::stages<8>, hp::micro_batches<6>>;
#else
using plan = hp::pipeline<hp::dual_pipe_v, hp::stages<8>, hp::micro_batches<8>>;
#endif

constexpr std::int64_t makespan = plan::makespan;
constexpr int peak = plan::peak_activations;
constexpr bool known = plan::account.ok();
