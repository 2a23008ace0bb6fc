// SPDX-License-Identifier: Apache-2.0
// docs/reference/program.md
#undef NDEBUG
#include <cassert>

#include <hyperparallel/program.hpp>

namespace hp = hyperparallel;

int main() {
  constexpr hp::moe_layer full{.hidden = 7168, .intermediate = 2048, .experts = 64, .top_k = 8, .tokens = 8 * 4096};
  hp::moe_options choices;
  choices.weight_buffers = 2;  // weights in DRAM, fetched through two buffers of each kind

  const hp::moe_plan_result made = hp::make_moe_plan(full, /*devices=*/8, /*ranks=*/1, hp::matrix384::device,
                                                     hp::matrix384::expert_all_to_all, choices);
  assert(made.ok());  // the layer divides, the device can be priced, the window suffices

  hp::planned_flow flow(hp::moe_builder{made.plan}, hp::moe_machine(choices, 1),
                        {choices.policy, choices.synchronisation});
  assert(flow.verify().code == hp::verify_code::ok);
  const hp::makespan_certificate certificate{flow.simulate().result.makespan, flow.bound().value};
  assert(certificate.ratio() <= 10500);  // at most 1.05 times the bound

  // docs/reference/program.md: choosing tiles
  constexpr hp::moe_tiling tiles = hp::default_moe_tiling(full, 8, hp::matrix384::device);
  static_assert(tiles.row_block >= 64);  // closed form, in a constant expression

  hp::moe_options base;
  base.pass = hp::moe_pass::backward;
  const hp::matmul_reuse reuse{hp::matrix384::device, hp::l2_of(hp::matrix384::device), /*unhidden=*/100'000};
  const hp::moe_tiling_choice choice =
      hp::choose_moe_tiling(full, 8, hp::matrix384::device, hp::matrix384::expert_all_to_all, base, {}, reuse);
  assert(choice.options.weight_gradients == hp::weight_gradient_order::last && choice.candidates > 100);

  // docs/reference/program.md: buckets
  const hp::histogram_buckets<4> limits{{1000, 1500, 3000, hp::dropless_pair_limit(full)}};
  const hp::moe_buckets<4> buckets(full, 8, hp::matrix384::device, hp::matrix384::expert_all_to_all, {}, limits);
  assert(buckets.status().ok());
  const hp::bucket_choice step = buckets.choose(700);  // the fullest pair's rows; 512 if balanced
  assert(step.code == hp::bucket_code::ok && buckets.capacity(step.bucket) == 768);
  const hp::simulation_result run = buckets.run(step.bucket, [](int expert, int) { return expert == 0 ? 700 : 485; });
  assert(run.code == hp::simulation_code::ok);
}
