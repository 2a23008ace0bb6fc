// SPDX-License-Identifier: Apache-2.0
// docs/explanation/moe-taskflow.md and decisions.md: the simulated makespan of the full-size layer under other options.
// Each figure that the pages state between "figures" marks stands here and is held; tools/check_snippets.py compares.
#undef NDEBUG
#include <cassert>
#include <cmath>
#include <cstdio>

#include <hyperparallel/lowering/moe_program.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>

namespace hp = hyperparallel;

double milliseconds(const hp::moe_options& o, bool serialized = false) {
  constexpr hp::moe_layer full{.hidden = 7168, .intermediate = 2048, .experts = 64, .top_k = 8, .tokens = 8 * 4096};
  const hp::moe_plan plan =
      hp::make_moe_plan(full, 8, 1, hp::matrix384::device, hp::matrix384::expert_all_to_all, o, serialized).plan;
  hp::planned_flow flow(hp::moe_builder{plan}, hp::moe_machine(o, 1), {o.policy, o.synchronisation});
  assert(flow.verify().code == hp::verify_code::ok);
  return static_cast<double>(flow.simulate().result.makespan) / 1e9;
}

struct figure {
  int option;
  double stated;  ///< in the pages, to a microsecond
};

/// Prints what the options give, and holds it to what is stated.
void hold(const char* what, const figure& f, const hp::moe_options& o, bool serialized = false) {
  const double now = milliseconds(o, serialized);
  std::printf("%s %d: %.3f ms\n", what, f.option, now);
  assert(std::lround(now * 1000) == std::lround(f.stated * 1000));
}

int main() {
  {
    hp::moe_options o;
    o.tiling.lag = 16;  // or .vector_queues, .weight_buffers, .policy, .synchronisation
    std::printf("%.3f ms\n", milliseconds(o));
  }
  constexpr hp::priority upward = hp::priority::upward_rank;
  constexpr figure lags[] = {{0, 20.744}, {1, 14.260}, {2, 12.802}, {4, 11.637}, {8, 10.918},
                             {16, 9.926}, {24, 9.877}, {32, 9.870}, {48, 9.877}, {64, 9.863}};
  for (const figure& f : lags) hold("lag", f, {.tiling = {.lag = f.option}});
  constexpr figure queues[] = {{8, 9.850}, {12, 9.855}, {16, 9.962}, {24, 9.870}, {32, 10.020}, {48, 10.652}};
  for (const figure& f : queues) hold("vector queues", f, {.vector_queues = f.option});
  constexpr figure ranked_queues[] = {{24, 10.013}, {48, 10.203}};
  for (const figure& f : ranked_queues)
    hold("upward ranks, vector queues", f, {.vector_queues = f.option, .policy = upward});
  constexpr figure ranked_lags[] = {{8, 10.013}, {16, 10.013}};
  for (const figure& f : ranked_lags) hold("upward ranks, lag", f, {.tiling = {.lag = f.option}, .policy = upward});
  constexpr figure merges[] = {{12, 10.622}, {48, 9.871}};
  for (const figure& f : merges) hold("merge pieces", f, {.tiling = {.merge_pieces = f.option}});
  constexpr figure ranked_merges[] = {{12, 10.319}, {48, 9.869}};
  for (const figure& f : ranked_merges)
    hold("upward ranks, merge pieces", f, {.tiling = {.merge_pieces = f.option}, .policy = upward});
  constexpr figure buffers[] = {{1, 14.111}, {2, 10.197}, {3, 10.197}};
  for (const figure& f : buffers) hold("weight buffers", f, {.weight_buffers = f.option});
  constexpr figure copies[] = {{4, 9.856}, {32, 9.870}, {256, 10.231}};
  for (const figure& f : copies) hold("copy rows", f, {.tiling = {.copy_rows = f.option}});
  constexpr figure latencies[] = {{0, 9.858}, {2, 9.870}, {5, 9.888}, {10, 9.918}, {50, 10.158}, {150, 10.934}};
  for (const figure& f : latencies) hold("synchronisation, us", f, {.synchronisation = f.option * hp::microsecond});
  constexpr figure serial[] = {{0, 18.139}, {2, 18.155}, {5, 18.179}, {10, 18.219}, {50, 18.539}, {150, 19.339}};
  for (const figure& f : serial)
    hold("serialized, synchronisation, us", f, {.synchronisation = f.option * hp::microsecond}, true);
}
