// SPDX-License-Identifier: Apache-2.0
// How long a world of a step of training takes to start, where the compiler has made its plan and where the world makes it.
//
//   bench_start [rounds]      default: 31
//
// The step: a language model of four layers on eight ranks, ZeRO-1, tensor and sequence parallel, in bf16 with masters of
// 32 bits. A start ends where the first task may run on two threads. All run in turn in every round:
//   planned at start    moves, addresses, order and proof are made when the program starts
//   constant plan       the world of the step's type; of that
//     image             the constant becomes a program, with arrays of its own
//     memory            memory is allocated, each page of it touched, parameters and states given their first values
//     rest              what is left of the whole without these two
//   beyond memory       image and rest: at most 5 ms
// The ratio is that of both starts.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/huge_pages.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/strategy_type.hpp>
#include <hyperparallel/world/world.hpp>

#include "../../examples/command_line.hpp"
#include "alternating.hpp"

namespace {

namespace hp = hyperparallel;

struct language_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), seq = m.dim("seq", 32);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 8, .key_heads = 4, .head_dim = 8, .rope_base = 10000.0},
        .feed_forward = {.width = 128}};
    int x = hp::token_embedding{.vocabulary = 256, .hidden = 64}(m, tokens);
    x = m.repeat("layers", 4, x, block);
    hp::language_head{.vocabulary = 256}(m, x, labels);
  }
};
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using strategy = hp::strategy<mesh, hp::fully_sharded<"dp", 1>, hp::tensor_parallel<"tp">, hp::sequence_parallel<"tp">>;
using step = hp::train_step<language_model, strategy, hp::adamw, hp::matrix384>;
static_assert(step::verified);

constexpr int threads = 2;
constexpr double most_beyond_memory = 5;  // ms

/// Makes the runs of a step of training; how many tasks they have.
template <class World>
int tasks_of(World& world) {
  return world.tasks(hp::micro_phases) + world.tasks(hp::update_phases);
}

int start_constant_plan() {
  hp::world<step> world({.execution = {.threads = threads}});
  return tasks_of(world.run().world());
}

int start_planning() {
  hp::step_settings settings = step::evaluated::settings();
  settings.build.unrolled = true;
  hp::model_run<float> run(
      hp::training_graph<language_model>(hp::adamw::value, settings), strategy::value,
      {.program = {.execution = {.threads = threads}, .topology = hp::interconnect_of(hp::matrix384::topology)}});
  return tasks_of(run.world());
}

int read_image() { return hp::program_of(step::planned::image).program.step.size; }

/// Memory like that of a world, whose pages are touched, and first values, in the memory of another world.
class memory_with_values {
 public:
  int operator()() {
    constexpr std::int64_t page = 4096;
    const std::int64_t bytes[] = {run_.world().planned_bytes()};
    const hp::arena_set arenas(run_.world().ranks(), bytes);
    for (int rank = 0; rank < arenas.ranks(); ++rank) {
      hp::prefer_huge_pages(arenas.address(rank, 0, 0), bytes[0]);
      for (std::int64_t at = 0; at < bytes[0]; at += page) *arenas.address(rank, 0, at) = std::byte{1};
    }
    run_.set_first_values();
    return arenas.ranks();
  }
  double mebibytes() const {
    return static_cast<double>(run_.world().planned_bytes() * run_.world().ranks()) / hp::MiB;
  }

 private:
  hp::model_run<float> run_{hp::program_of(step::planned::image)};
};

/// Milliseconds of `run`, which returns what cannot be 0.
template <class Run>
double time_ms(Run& run) {
  int done = 0;
  const double ns = bench::time_ns([&] { done = run(); });
  if (done == 0) throw std::runtime_error("nothing was done");
  return ns / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 31;
  command_line::program app("The start of a world whose plan is a constant, beside one that plans.", "bench_start");
  app.add_option("rounds", rounds, "samples of each").check(command_line::whole(1, 1'000'000));
  return command_line::run(app, argc, argv, [&] {
    if (start_constant_plan() != start_planning()) throw std::runtime_error("the two have not the same tasks");
    bench::quiet_gate gate(30);
    memory_with_values fill;
    bench::alternation all(gate);
    const std::size_t planning = all.add([] { return time_ms(start_planning); }),
                      constant = all.add([] { return time_ms(start_constant_plan); }),
                      image = all.add([] { return time_ms(read_image); }),
                      memory = all.add([&] { return time_ms(fill); });
    all.run(rounds);
    const auto print = [](const char* name, double median, double minimum, const char* verdict = "") {
      std::printf("  %-18s %8.3f ms (%.3f)%s\n", name, median, minimum, verdict);
    };
    const double beyond = all.median(constant) - all.median(memory),
                 least_beyond = all.minimum(constant) - all.minimum(memory);
    std::printf("start of a step of %d tasks, %.2f MiB of memory, %d threads, %d rounds: median (minimum)\n",
                start_constant_plan(), fill.mebibytes(), threads, rounds);
    print("planned at start", all.median(planning), all.minimum(planning));
    print("constant plan", all.median(constant), all.minimum(constant));
    print("  image", all.median(image), all.minimum(image));
    print("  memory", all.median(memory), all.minimum(memory));
    print("  rest", beyond - all.median(image), least_beyond - all.minimum(image));
    print("beyond memory", beyond, least_beyond,
          beyond <= most_beyond_memory ? "  at most 5 ms: met" : "  at most 5 ms: MISSED");
    std::printf("  %-18s %8.2f    (%.2f)\n", "ratio", all.median(planning) / all.median(constant),
                all.minimum(planning) / all.minimum(constant));
    std::printf("%d samples, %d of them while another task wanted a core\n", gate.samples(), gate.disturbed());
    return 0;
  });
}
