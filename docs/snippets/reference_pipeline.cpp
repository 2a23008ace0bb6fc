// SPDX-License-Identifier: Apache-2.0
// docs/reference/pipeline.md
#include <string>

#include <hyperparallel/io/torch_schedule.hpp>
#include <hyperparallel/pipeline.hpp>

namespace hp = hyperparallel;

using plan = hp::pipeline<hp::zero_bubble_v, hp::stages<8>, hp::micro_batches<16>>;
static_assert(plan::ranks == 4 && plan::makespan == 99 && plan::bubble == 3);
static_assert(plan::bubble_of_span == 0 && plan::peak_activations == 8);

using deepseek_v3 = hp::pipeline<hp::dual_pipe, hp::stages<16>, hp::micro_batches<64>, hp::equal_times<2, 2, 2>>;
using in_a_v = hp::pipeline<hp::zero_bubble_v, hp::stages<32>, hp::micro_batches<64>>;  // half a stage: 1, 1, 1
static_assert(deepseek_v3::makespan == 412 && in_a_v::makespan == 399);

struct heavy_head {
  static constexpr void apply(hp::pipeline_request& p) {
    for (int s = 0; s < p.stages; ++s)
      p.costs.times.push(s + 1 < p.stages ? hp::stage_times{10, 10, 10} : hp::stage_times{16, 16, 16});
  }
};
using uneven = hp::pipeline<hp::one_forward_one_backward, hp::stages<4>, hp::micro_batches<16>, heavy_head>;
static_assert(uneven::bubble * 100 > uneven::makespan * 30);

using large = hp::pipeline<hp::zero_bubble_v, hp::stages<128>, hp::micro_batches<4096>>;
static_assert(large::ranks == 64 && large::makespan == 6 * 4096 + 63 && large::peak_activations == 128);

using queued = hp::pipeline<hp::zero_bubble_v, hp::stages<32>, hp::micro_batches<64>, hp::over<hp::ordered_queues>>;
using blocked = hp::pipeline<hp::zero_bubble_v, hp::stages<32>, hp::micro_batches<64>, hp::over<hp::blocking_rows>>;
static_assert(queued::makespan == 399 && blocked::makespan == 571);
static_assert(hp::deadlock_free<plan, hp::buffered<1>>);

using flow = hp::pipeline_taskflow<plan>;
static_assert(flow::safety.code == hp::verify_code::ok && flow::makespan == plan::makespan);

struct depth_first {
  static constexpr const char* name = "depth first";
  static constexpr hp::stage_placement placement = hp::stage_placement::loop;
  static constexpr hp::pipeline_status fits(const hp::pipeline_shape&) { return {}; }
  static constexpr void row(auto& out, const hp::pipeline_shape& n, int rank) {
    for (int k = 0; k < n.micro_batches; ++k) {
      for (int c = 0; c < n.chunks; ++c) out.forward(c * n.ranks + rank, k);
      for (int c = n.chunks - 1; c >= 0; --c) out.backward(c * n.ranks + rank, k);
    }
  }
};
using one_by_one = hp::pipeline<depth_first, hp::stages<8>, hp::chunks<2>, hp::micro_batches<16>>;
static_assert(one_by_one::peak_activations == 2 && one_by_one::makespan == 16 * 24);

int main() {
  const hp::named_schedule& schedule = *hp::schedule_called("ZBVZeroBubble");  // null of a name that is not listed
  const hp::pipeline_shape shape{.ranks = 4, .chunks = 2, .micro_batches = 16};
  if (!schedule.check(shape).ok()) return 1;
  const hp::pipeline_account account = hp::replay(schedule.generate(shape, false), hp::equal_stages({1, 1, 1}));
  if (!account.ok() || account.makespan != plan::makespan) return 1;

  const std::string text = hp::write_torch_table(hp::torch_table_of(schedule.generate(shape, true)));
  const hp::torch_schedule read = hp::schedule_of(hp::parse_torch_table(text));
  return read.status.ok() && hp::check_schedule(read.schedule).ok() ? 0 : 1;
}
