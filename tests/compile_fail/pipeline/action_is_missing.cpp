// SPDX-License-Identifier: Apache-2.0
// A schedule of one's own that begins at micro-batch 1.
// expect: diag::pipeline_schedule_is_not_safe<
// expect: pipeline_code::action_is_missing
// expect: on_rank<1>
// expect: action<'1', 'F', '0'>
#include <hyperparallel/pipeline.hpp>

namespace hp = hyperparallel;

template <int First>
struct forwards_first {
  static constexpr const char* name = "forwards first";
  static constexpr hp::stage_placement placement = hp::stage_placement::loop;
  static constexpr hp::pipeline_status fits(const hp::pipeline_shape&) { return {}; }
  static constexpr void row(auto& out, const hp::pipeline_shape& n, int rank) {
    for (int k = rank == 1 ? First : 0; k < n.micro_batches; ++k) out.forward(rank, k);
    for (int k = 0; k < n.micro_batches; ++k) out.backward(rank, k);
  }
};

static_assert(hp::valid_pipeline<forwards_first<0>, hp::stages<2>, hp::micro_batches<4>>);
static_assert(!hp::valid_pipeline<forwards_first<1>, hp::stages<2>, hp::micro_batches<4>>);

#ifdef NEGATIVE
using plan = hp::pipeline<forwards_first<1>, hp::stages<2>, hp::micro_batches<4>>;
#else
using plan = hp::pipeline<forwards_first<0>, hp::stages<2>, hp::micro_batches<4>>;
#endif

constexpr std::int64_t makespan = plan::makespan;
constexpr int peak = plan::peak_activations;
constexpr bool known = plan::account.ok();
