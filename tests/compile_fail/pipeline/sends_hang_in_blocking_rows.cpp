// SPDX-License-Identifier: Apache-2.0
// Rank 0 sends its second micro-batch before it takes the first gradient, which rank 1 sends before it takes the second
// micro-batch: nothing that queues mind, and the end of ranks that block in sends.
// expect: diag::pipeline_schedule_is_not_safe<
// expect: pipeline_code::waits_in_a_circle
// expect: action<'0', 'S', 'E', 'N', 'D', '_', 'F', '1'>
// expect: action<'1', 'R', 'E', 'C', 'V', '_', 'F', '1'>
// expect: action<'1', 'S', 'E', 'N', 'D', '_', 'B', '0'>
// expect: action<'0', 'R', 'E', 'C', 'V', '_', 'B', '0'>
// expect: transport_kind::blocking_rows
#include <hyperparallel/pipeline.hpp>

namespace hp = hyperparallel;

struct two_ranks {
  static constexpr const char* name = "two ranks";
  static constexpr hp::stage_placement placement = hp::stage_placement::loop;
  static constexpr hp::pipeline_status fits(const hp::pipeline_shape&) { return {}; }
  static constexpr int entries(const hp::pipeline_shape&) { return 16; }
  static constexpr void row(auto& out, const hp::pipeline_shape&, int rank) {
    using enum hp::action_kind;
    for (int k = 0; k < 2; ++k) {
      if (rank == 1) out.put({receive_forward, 1, k});
      out.forward(rank, k);
      if (rank == 0) out.put({send_forward, 0, k});
      if (rank == 1) out.backward(rank, k);
      if (rank == 1) out.put({send_backward, 1, k});
    }
    for (int k = 0; k < 2 && rank == 0; ++k) {
      out.put({receive_backward, 0, k});
      out.backward(0, k);
    }
  }
};

static_assert(hp::valid_pipeline<two_ranks, hp::stages<2>, hp::micro_batches<2>, hp::over<hp::buffered<1>>>);
static_assert(!hp::valid_pipeline<two_ranks, hp::stages<2>, hp::micro_batches<2>, hp::over<hp::blocking_rows>>);

#ifdef NEGATIVE
using plan = hp::pipeline<two_ranks, hp::stages<2>, hp::micro_batches<2>, hp::over<hp::blocking_rows>>;
#else
using plan = hp::pipeline<two_ranks, hp::stages<2>, hp::micro_batches<2>, hp::over<hp::ordered_queues>>;
#endif

constexpr std::int64_t makespan = plan::makespan;
constexpr std::int64_t bubble = plan::bubble;
constexpr int ranks = plan::ranks;
