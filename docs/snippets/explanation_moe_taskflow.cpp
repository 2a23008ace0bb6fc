// SPDX-License-Identifier: Apache-2.0
// docs/explanation/moe-taskflow.md and decisions.md: the simulated makespan of the full-size layer under other options.
#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <initializer_list>

#include <hyperparallel/program/moe_program.hpp>
#include <hyperparallel/program/planned_flow.hpp>

namespace hp = hyperparallel;

double milliseconds(const hp::moe_options& o, bool serialized = false) {
  constexpr hp::moe_layer full{.hidden = 7168, .intermediate = 2048, .experts = 64, .top_k = 8, .tokens = 8 * 4096};
  const hp::moe_plan plan =
      hp::make_moe_plan(full, 8, 1, hp::matrix384::device, hp::matrix384::expert_all_to_all, o, serialized).plan;
  hp::planned_flow flow(hp::moe_builder{plan}, hp::moe_machine(o, 1), {o.policy, o.synchronisation});
  assert(flow.verify().code == hp::verify_code::ok);
  return static_cast<double>(flow.simulate().result.makespan) / 1e9;
}

void with(const char* what, int value, const hp::moe_options& o) {
  std::printf("%s %d: %.3f ms\n", what, value, milliseconds(o));
}

int main() {
  {
    hp::moe_options o;
    o.tiling.lag = 16;  // or .vector_queues, .weight_buffers, .policy, .synchronisation
    std::printf("%.3f ms\n", milliseconds(o));
  }
  std::printf("serialized: %.3f ms\n", milliseconds({}, true));
  for (const int lag : {0, 1, 2, 4, 8, 16, 24, 32, 48, 64}) with("lag", lag, {.tiling = {.lag = lag}});
  for (const int queues : {8, 12, 16, 24, 32, 48}) with("vector queues", queues, {.vector_queues = queues});
  for (const int queues : {24, 48})
    with("upward ranks, vector queues", queues, {.vector_queues = queues, .policy = hp::priority::upward_rank});
  for (const int lag : {8, 16})
    with("upward ranks, lag", lag, {.tiling = {.lag = lag}, .policy = hp::priority::upward_rank});
  for (const int pieces : {8, 12, 24, 48}) {
    with("merge pieces", pieces, {.tiling = {.merge_pieces = pieces}});
    with("upward ranks, merge pieces", pieces,
         {.tiling = {.merge_pieces = pieces}, .policy = hp::priority::upward_rank});
  }
  for (const int buffers : {1, 2, 3}) with("weight buffers", buffers, {.weight_buffers = buffers});
  for (const int rows : {4, 32, 256}) with("copy rows", rows, {.tiling = {.copy_rows = rows}});
  for (const int us : {0, 2, 5, 10, 50, 150}) {
    const hp::moe_options o{.synchronisation = us * hp::microsecond};
    std::printf("synchronisation %d us: %.3f ms, serialized %.3f ms\n", us, milliseconds(o), milliseconds(o, true));
  }
}
