// SPDX-License-Identifier: Apache-2.0
// A training that survives the loss of processes: it keeps a set every few steps, and goes on from the newest one on as many
// processes as it is started with, under the strategy for that number.
//
//   scripts/elastic -n 4 mpi_elastic runs 100                         4 processes, then 3 where one is lost, …
//   scripts/elastic -n 4 mpi_elastic runs 100 --lose 2/4 30 500       process 2 of 4 is killed 500 microseconds into step 30
//   mpi_elastic runs 100 --threads 3                                  the same on simulated ranks; keeps nothing
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "standard_output.hpp"

#include <hyperparallel/checkpoint/run_checkpoints.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/mpi.hpp>
#include <hyperparallel/mpi/program_world.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

namespace hp = hyperparallel;
using namespace std::chrono_literals;

namespace {

struct elastic_options {
  std::string folder = "runs";
  long steps = 12;
  int keep = 3;
  long every = 3;                   ///< steps from one set to the next
  int threads = 0;                  ///< simulated ranks; 0: processes
  int lost = -1, lost_of = 0;       ///< the process that is killed, where there are so many
  long lost_step = 0, lost_at = 0;  ///< in this step, after so many microseconds
};

long number(const char* text) {
  long value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < 0) {
    std::fprintf(stderr, "mpi_elastic: '%s' is no number\n", text);
    std::exit(2);
  }
  return value;
}

elastic_options options_of(int argc, char** argv) {
  elastic_options o;
  int place = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--threads" && i + 1 < argc) {
      o.threads = static_cast<int>(number(argv[++i]));
    } else if (word == "--keep" && i + 1 < argc) {
      o.keep = static_cast<int>(number(argv[++i]));
    } else if (word == "--every" && i + 1 < argc) {
      o.every = std::max(1L, number(argv[++i]));
    } else if (word == "--lose" && i + 3 < argc) {
      const std::string which = argv[i + 1];
      const std::size_t slash = std::min(which.find('/'), which.size() - 1);
      o.lost = static_cast<int>(number(which.substr(0, slash).c_str()));
      o.lost_of = static_cast<int>(number(which.substr(slash + 1).c_str()));
      o.lost_step = number(argv[i + 2]);
      o.lost_at = number(argv[i + 3]);
      i += 3;
    } else if (place++ == 0) {
      o.folder = word;
    } else {
      o.steps = number(argv[i]);
    }
  }
  return o;
}

/// Each number of ranks has a strategy of its own.
hp::strategy_value strategy_for(int ranks) {
  constexpr const char* names[] = {"single", "single", "tp", "zero3", "dp-tp"};
  return hp::strategy_called(ranks < 5 ? names[ranks] : "zero3", ranks).strategy;
}

/// Of so many processes those that divide the batch have a rank, the others look on.
std::vector<int> homes_on(int processes) {
  while (24 % processes != 0) --processes;
  std::vector<int> homes;
  for (int p = 0; p < processes; ++p) homes.push_back(p);
  return homes;
}

hp::graph training_step() {
  hp::model_builder m({.unrolled = true});
  const int batch = m.dim("batch", 24), sequence = m.dim("seq", 16);
  const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
  const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
      .attention = {.query_heads = 4, .key_heads = 4, .head_dim = 8, .rope_base = 10000.0},
      .feed_forward = {.width = 48}};
  int x = hp::token_embedding{.vocabulary = 64, .hidden = 24}(m, tokens);
  x = m.repeat("layers", 2, x, block);
  hp::language_head{.vocabulary = 64}(m, x, labels);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return m.graph;
}

/// Trains to the end from where the folder is, and keeps sets where that is asked for.
template <class Run>
void train(Run& run, const elastic_options& o, int process, int ranks, bool is_kept) {
  hp::run_checkpoints kept(o.folder, run, {.keep = o.keep});
  const auto from = kept.load();
  if (process == 0) std::printf("from step %lld on %d ranks\n", static_cast<long long>(from ? from->steps : 0), ranks);
  while (run.steps() < o.steps) {
    if (process == o.lost && ranks == o.lost_of && run.steps() + 1 == o.lost_step)
      std::thread([at = o.lost_at] {
        std::this_thread::sleep_for(std::chrono::microseconds(at));
        std::raise(SIGKILL);
      }).detach();
    const auto loss = run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(run.steps())); });
    if (process == 0)
      std::printf("step %lld: loss %a\n", static_cast<long long>(run.steps()), static_cast<double>(loss));
    std::fflush(stdout);
    if (is_kept && run.steps() % o.every == 0) kept.save_later();
    kept.poll();
  }
  kept.wait();
  if (process == 0) std::printf("done\n");
}

}  // namespace

int main(int argc, char** argv) {
  const elastic_options o = options_of(argc, argv);
  const int status = hp::mpi_main(argc, argv, [&] {
    const hp::graph graph = training_step();
    if (o.threads > 0) {
      hp::model_run<float> run(graph, strategy_for(o.threads));
      return train(run, o, 0, o.threads, false);
    }
    int processes = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    const hp::mpi_world world(MPI_COMM_WORLD, homes_on(processes), hp::mpi_options{.timeout = 2s});
    hp::model_run<float, hp::mpi_program_world<float>> run(world, graph, strategy_for(world.ranks()));
    train(run, o, world.process(), world.ranks(), true);
  });
  return finished("mpi_elastic", status);
}
