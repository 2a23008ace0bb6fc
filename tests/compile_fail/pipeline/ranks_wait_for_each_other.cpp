// SPDX-License-Identifier: Apache-2.0
// Rank 1 begins with the last micro-batch, which rank 0 sends only after the gradient of the first.
// expect: diag::pipeline_schedule_is_not_safe<
// expect: pipeline_code::waits_in_a_circle
// expect: on_rank<0>
// expect: action<'0', 'B', '0'>
// expect: action<'1', 'B', '0'>
// expect: on_rank<1>
// expect: action<'1', 'F', '3'>
// expect: action<'0', 'F', '3'>
#include <hyperparallel/pipeline.hpp>

namespace hp = hyperparallel;

template <bool Crossed>
struct one_by_one {
  static constexpr const char* name = "one by one";
  static constexpr hp::stage_placement placement = hp::stage_placement::loop;
  static constexpr hp::pipeline_status fits(const hp::pipeline_shape&) { return {}; }
  static constexpr void row(auto& out, const hp::pipeline_shape& n, int rank) {
    for (int k = 0; k < n.micro_batches; ++k) {
      const int mine = Crossed && rank == 1 ? n.micro_batches - 1 - k : k;
      out.forward(rank, mine);
      out.backward(rank, mine);
    }
  }
};

static_assert(hp::valid_pipeline<one_by_one<false>, hp::stages<2>, hp::micro_batches<4>>);
static_assert(!hp::valid_pipeline<one_by_one<true>, hp::stages<2>, hp::micro_batches<4>>);

#ifdef NEGATIVE
using plan = hp::pipeline<one_by_one<true>, hp::stages<2>, hp::micro_batches<4>>;
#else
using plan = hp::pipeline<one_by_one<false>, hp::stages<2>, hp::micro_batches<4>>;
#endif

constexpr std::int64_t makespan = plan::makespan;
constexpr std::int64_t bubble = plan::bubble;
static_assert(plan::ranks == 2 && plan::bubble > 0);
