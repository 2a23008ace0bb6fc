// SPDX-License-Identifier: Apache-2.0
// docs/reference/programs-beside-each-other.md
#undef NDEBUG
#include <cassert>
#include <cstdio>

#include <hyperparallel/mpmd.hpp>

namespace hp = hyperparallel;

// docs/reference/programs-beside-each-other.md: the graph
hp::group_table groups() {
  hp::group_table t;
  t.world = 128;
  hp::add_group(t, "generation", hp::rank_range{0, 63});
  hp::add_group(t, "training", hp::rank_range{64, 127});
  return t;
}

hp::program_graph learning(int ahead) {
  hp::program_graph g;
  const int rollout = hp::add_program(g, "rollout", "generation", 12'847);  // in 10 ms
  const int train = hp::add_program(g, "train", "training", 9'877);
  hp::connect(g, {.name = "samples", .from = rollout, .to = train, .ready = 0, .room = 1 + ahead});
  hp::connect(g, {.name = "weights",
                  .from = train,
                  .to = rollout,
                  .ready = 1 + ahead,
                  .room = 2 + ahead,
                  .move = 410,
                  .reads = hp::edge_reads::newest,
                  .behind = ahead});
  g.row = hp::rows_of(g, groups());
  return g;
}

void periods() {
  const hp::program_graph serial = learning(0), ahead = learning(1);
  assert(hp::check_programs(ahead, groups()).ok());
  const hp::program_period p = hp::period_of(serial), q = hp::period_of(ahead);
  assert(hp::text_of_period(serial, p) == "23134 = rollout 12847 + train 9877 + weights 410, 1 firing");
  assert(q.time == 12'847 && hp::is_least_period(ahead, q));
  assert(hp::utilisation_of_row(ahead, q, 1) == 768'817);  // training, in millionths
  assert(hp::staleness_of(ahead, hp::find_edge(ahead, "weights")).behind == 1);
  const hp::program_times t = hp::play_programs(ahead, 10);
  assert(t.makespan == 10 * 12'847 + 9'877);
}

void waiting() {
  hp::program_graph g = learning(0);
  g.edge[1].ready = 0;
  assert(hp::text_of_refusal(hp::check_programs(g), g) ==
         "programs wait for each other: rollout waits for weights of train, train waits for samples of rollout");
  g = learning(1);
  g.edge[1].behind = 0;
  assert(hp::text_of_refusal(hp::check_programs(g), g) ==
         "edge weights claims to be at most 0 firings behind, and its versions are used up to 1 behind");
}

// docs/reference/programs-beside-each-other.md: placements
struct colocated
    : hp::placed_programs<16, hp::named_group<"all", hp::rank_range{0, 15}>,
                          hp::program_on<"rollout", "all", 12'847, 40'000, 20'000, hp::residence::swapped>,
                          hp::program_on<"train", "all", 9'877, 60'000, 30'000>,
                          hp::edge_between<"samples", "rollout", "train", 0, 1>,
                          hp::edge_between<"weights", "train", "rollout", 1, 2, hp::edge_reads::newest, 410>,
                          hp::bytes_of_device<120'000>, hp::rate_of_swaps<500>, hp::colocated_placement> {};

static_assert(colocated::period.time == 12'847 + 2 * 80 + 9'877 + 410);

void transition() {
  const hp::actor_transition c = hp::transition_of({4, 8, 2}, 1, 4);  // pipeline 4, tensor 8, data 2 -> 1 and 4
  assert(c.received(1 << 20) == (1 << 20) / 4 - (1 << 20) / 32);
  assert(hp::transition_of({4, 1, 1}, 1, 2).code == hp::transition_code::grouping_is_impossible);
}

int main() {
  periods();
  waiting();
  transition();
}
