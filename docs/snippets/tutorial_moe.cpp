// SPDX-License-Identifier: Apache-2.0
// docs/tutorial/from-layout-to-running-layer.md, parts 6 to 8: a mixture-of-experts layer planned, run and traced.
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/lowering/moe_program.hpp>
#include <hyperparallel/report/trace.hpp>
#include <hyperparallel/world/moe_world.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"ep", 4}> {};

constexpr hp::moe_layer small{.hidden = 64, .intermediate = 32, .experts = 8, .top_k = 2, .tokens = 4 * 32};
constexpr hp::moe_options choices{.tiling = {.row_block = 8,
                                             .gate_up_columns = 32,
                                             .down_columns = 32,
                                             .vector_rows = 8,
                                             .copy_rows = 8,
                                             .route_rows = 16,
                                             .merge_pieces = 2,
                                             .lag = 4},
                                  .matrix_queues = 2,
                                  .vector_queues = 2,
                                  .weight_buffers = 2};

using program = hp::moe_program<small, mesh, hp::matrix384, choices>;
static_assert(program::verified);  // every interleaving of its tasks is safe
static_assert(hp::local_shape_of<program::by_expert, program::gate_up_weight> == hp::shape{2, 1, 64, 64});
static_assert(program::dispatch::kind == hp::plan_kind::all_to_all);
static_assert(program::dispatch::bytes_received == program::dispatch::lower_bound);
static_assert(program::makespan >= program::certificate.bound);

std::vector<float> random_tensor(std::uint64_t stream, hp::extent_t count) {
  std::vector<float> v(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = hp::keyed_uniform(/*seed=*/1, stream, i);
  return v;
}

template <class World>
std::vector<float> run_once(World& world, const std::vector<float>& tokens) {
  world.set_router(random_tensor(1, hp::extent_t{small.hidden} * small.experts));
  for (int e = 0; e < small.experts; ++e)
    world.set_expert(e, random_tensor(100 + static_cast<std::uint64_t>(e), hp::gate_up_elements(small)),
                     random_tensor(200 + static_cast<std::uint64_t>(e), hp::down_elements(small)));
  std::vector<float> output(tokens.size());
  world.run(tokens, output);
  return output;
}

int main() {
  const std::vector<float> tokens = random_tensor(0, hp::extent_t{small.tokens} * small.hidden);

  hp::moe_world<> single(small, /*devices=*/1, choices);
  hp::moe_world<hp::record_profile> parallel(small, 4, choices);
  assert(run_once(single, tokens) == run_once(parallel, tokens));  // bit for bit

  hp::atomic_file file("trace.json");  // throws here, not after the run, where it cannot be written
  hp::report::write_trace(file, parallel.planned().flow(), parallel.planned().schedule(), parallel.world().profile(),
                          parallel.world().names());
  file.commit();
  std::printf(
      "%d tasks on 4 ranks, the bits of one device; bound %.1f us, planned %.1f us; the trace is in trace.json\n",
      parallel.planned().flow().size.tasks, static_cast<double>(program::certificate.bound) * 1e-6,
      static_cast<double>(program::makespan) * 1e-6);
}
