// SPDX-License-Identifier: Apache-2.0
// What checks against silent corruption cost: a step of training with each of them over a step without.
//
//   bench_corruption [rounds]      default: 7
//
// A decoder whose products take most of the time, on 4 simulated ranks and as many threads as there are cores, under four
// strategies. In each round every variant runs a step, one after the other; a figure is the median of the rounds' ratios. At
// the end what checksums read in a second, for memory that is in the cache and for memory that is not.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <vector>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/block_checksum.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../../examples/command_line.hpp"
#include "../../examples/models/small_moe.hpp"

namespace {

namespace hp = hyperparallel;

constexpr struct {
  const char* name;
  hp::corruption_checks checks;
} variants[] = {
    {"none", {}},
    {"moves", {.moves = true}},
    {"state", {.state = true}},
    {"tasks", {.tasks = true}},
    {"tasks/8", {.tasks = true, .share = 8}},
    {"all", {.tasks = true, .moves = true, .state = true}},
    {"all/8", {.tasks = true, .moves = true, .state = true, .share = 8}},
};
constexpr int variant_count = static_cast<int>(std::size(variants));

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

hp::graph model() {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, {.batch = 32,
                              .sequence = 128,
                              .vocabulary = 256,
                              .layers = 1,
                              .hidden = 384,
                              .query_heads = 8,
                              .key_heads = 8,
                              .head_dim = 48,
                              .experts = 4,
                              .top_k = 2,
                              .expert_width = 384});
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return m.graph;
}

void compare(const char* strategy, int rounds) {
  std::vector<std::unique_ptr<hp::model_run<float>>> run;
  for (const auto& v : variants) {
    hp::model_run_options o;
    o.program.checks = v.checks;
    run.push_back(std::make_unique<hp::model_run<float>>(model(), hp::strategy_called(strategy, 4).strategy, o));
  }
  std::vector<std::vector<double>> ratio(variant_count);
  std::vector<double> plain;
  for (int round = -1; round < rounds; ++round) {
    double seconds[variant_count];
    for (int v = 0; v < variant_count; ++v) {
      hp::model_run<float>& one = *run[static_cast<std::size_t>(v)];
      one.set_random_inputs(static_cast<std::uint64_t>(round + 1));
      const auto begin = std::chrono::steady_clock::now();
      one.train_step([](int) {});
      seconds[v] = seconds_since(begin);
    }
    if (round < 0) continue;  // memory is touched for the first time
    plain.push_back(seconds[0]);
    for (int v = 0; v < variant_count; ++v) ratio[static_cast<std::size_t>(v)].push_back(seconds[v] / seconds[0]);
  }
  std::printf("%-8s %9.1f", strategy, 1e3 * median(plain));
  for (int v = 1; v < variant_count; ++v) std::printf(" %8.2f", median(ratio[static_cast<std::size_t>(v)]));
  std::printf("\n");
}

void measure_checksum(std::size_t bytes) {
  const std::vector<std::byte> block(bytes, std::byte{7});
  const int times = static_cast<int>((std::size_t{1} << 30) / bytes);
  std::uint64_t sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) sum = hp::detail::block_checksum(block.data(), static_cast<std::int64_t>(bytes), sum);
  const double seconds = seconds_since(begin);
  std::printf("checksum of %zu KiB: %.1f GB/s (%02x)\n", bytes / 1024, 1.073741824 / seconds,
              static_cast<unsigned>(sum & 0xFFu));
}

}  // namespace

int main(int argc, char** argv) {
  command_line::program app("What checks against silent corruption cost a step of training", "bench_corruption");
  int rounds = 7;
  app.add_option("rounds", rounds, "of one step of every variant (default: 7)").check(command_line::whole(1, 1000));
  return command_line::run(app, argc, argv, [&] {
    std::printf("%-8s %9s", "strategy", "none, ms");
    for (int v = 1; v < variant_count; ++v) std::printf(" %8s", variants[v].name);
    std::printf("\n");
    for (const char* const strategy : {"dp", "zero3", "tp-sp", "ep-tp"}) compare(strategy, rounds);
    measure_checksum(std::size_t{1} << 16);
    measure_checksum(std::size_t{1} << 26);
    return 0;
  });
}
