// SPDX-License-Identifier: Apache-2.0
// docs/troubleshooting.md, part 2: every text that a run can end with, as it really reads.
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/program/planned_flow.hpp>
#include <hyperparallel/runtime/moe_world.hpp>
#include <hyperparallel/runtime/world.hpp>

namespace hp = hyperparallel;

// What `work` throws as an `Error`, in its own words.
template <class Error, class Work>
std::string text_of(const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// Task 0 writes a block and signals, task 1 waits and reads it.
struct chain {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int done = hp::add_event(f, 0), block = hp::add_slot(f, 0, 0, 0, 64);
    hp::add_task(f, hp::resource::aic, 0, 10, 0, 0);
    hp::add_signal(f, done);
    hp::add_access(f, block, 0, 64, hp::access_mode::write);
    hp::add_task(f, hp::resource::aic, 0, 10, 1, 0);
    hp::add_wait(f, done);
    hp::add_access(f, block, 0, 64, hp::access_mode::read);
  }
};

constexpr hp::machine_shape one_core{1, {1, 0, 0, 0, 0}};
constexpr auto flow = hp::build_fixed<hp::measure(chain{})>(chain{});
constexpr auto good = hp::schedule_fixed<1>(flow, one_core);

constexpr auto swapped() {
  auto s = good;
  s.queue_task[0] = s.order[0] = 1;
  s.queue_task[1] = s.order[1] = 0;
  return s;
}
constexpr auto bad = swapped();
static_assert(hp::verify(flow, bad).code == hp::verify_code::wait_is_never_satisfied);

constexpr const char* operations[] = {"GMM1", "SwiGLU"};
constexpr const char* slots[] = {"gate_up[0]"};

void work(const hp::kernel_call&) {}
void fail(const hp::kernel_call&) { throw std::runtime_error("the tile is all NaN"); }

hp::world_options named() {
  hp::world_options o;
  o.execution.names = {operations, 2, slots, 1};
  return o;
}

void task_error() {
  hp::world world(flow, good, named());
  world.bind(0, &fail);
  world.bind(1, &work);
  assert(text_of<hp::task_error>([&] { world.run(); }) ==
         "task 0 on rank 0: GMM1 writing gate_up[0] failed: the tile is all NaN");
  world.bind(0, &work);
  assert(world.run() == hp::run_result::complete);  // the world is as good as new
}

void deadlock_error() {
  hp::world world(flow, bad, named());
  world.bind(0, &work);
  world.bind(1, &work);
  assert(text_of<hp::deadlock_error>([&] { world.run(); }) ==
         "no task can run: task 1 on rank 0 (SwiGLU) waits for event 0, which has 0 of 1 signals");
}

void bind_error() {
  hp::world world(flow, good, named());
  world.bind(0, &work);
  assert(text_of<hp::bind_error>([&] { world.run(); }) == "no kernel is bound to SwiGLU");
}

void arena_error() {
  const std::vector<std::int64_t> tiers = {32};
  hp::world_options small = named();
  small.tier_bytes = tiers;
  assert(text_of<hp::arena_error>([&] { hp::world world(flow, good, small); }) ==
         "arena of rank 0, tier 0: 64 bytes asked at offset 0, 32 bytes free");
}

void plan_error() {
  constexpr hp::moe_layer layer{.hidden = 16, .intermediate = 8, .experts = 8, .top_k = 2, .tokens = 24};
  hp::moe_options choices{.matrix_queues = 1, .vector_queues = 1};
  assert(text_of<hp::plan_error>([&] { hp::moe_world<> world(layer, 3, choices); }) ==
         "the experts do not divide over the devices");
  assert(text_of<hp::plan_error>([&] { hp::moe_world<> world(layer, 65, choices); }) ==
         "65 devices are more than the 64 that one process simulates");
}

void moe_input() {
  constexpr hp::moe_layer layer{.hidden = 16, .intermediate = 8, .experts = 8, .top_k = 2, .tokens = 24};
  hp::moe_world<> world(layer, 1, {.matrix_queues = 1, .vector_queues = 1});
  const std::vector<float> ten(10);
  std::vector<float> out(10);
  assert(text_of<std::invalid_argument>([&] { world.set_router(ten); }) ==
         "the router's weight has 10 numbers, not 128");
  assert(text_of<std::out_of_range>([&] { world.set_expert(8, ten, ten); }) == "expert 8 of 8");
  assert(text_of<std::invalid_argument>([&] { world.run(ten, out); }) ==
         "a step takes at most 24 tokens of 16 numbers, not 10 numbers");
}

void io_error() {
  assert(text_of<hp::io_error>([] { hp::read_bytes("missing.txt"); }) ==
         "cannot read 'missing.txt': No such file or directory");
  assert(text_of<hp::io_error>([] { hp::atomic_file file("missing/trace.json"); }) ==
         "cannot write 'missing/trace.json': No such file or directory");
}

int main() {
  task_error();
  deadlock_error();
  bind_error();
  arena_error();
  plan_error();
  moe_input();
  io_error();
}
