// SPDX-License-Identifier: Apache-2.0
// docs/tutorial/from-layout-to-running-layer.md, part 5: a taskflow planned by the compiler and again at run time.
#undef NDEBUG
#include <cassert>
#include <cstdio>

#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

enum operation { fetch, multiply, activate };

// Four tiles: a link brings a tile, a matrix core multiplies it, a vector core activates the product.
struct tiles {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    int arrived[4] = {}, multiplied[4] = {}, input[4] = {}, product[4] = {};
    for (int i = 0; i < 4; ++i) {
      arrived[i] = hp::add_event(f, /*rank=*/0);
      multiplied[i] = hp::add_event(f, 0);
      input[i] = hp::add_slot(f, 0, /*tier=*/0, /*offset=*/i * 128, /*bytes=*/64);
      product[i] = hp::add_slot(f, 0, 0, i * 128 + 64, 64);
    }
    for (int i = 0; i < 4; ++i) {
      hp::add_task(f, hp::resource::link, 0, /*picoseconds=*/20, fetch, i);
      hp::add_signal(f, arrived[i]);
      hp::add_access(f, input[i], 0, 64, hp::access_mode::write);

      hp::add_task(f, hp::resource::aic, 0, 50, multiply, i);
      hp::add_wait(f, arrived[i]);
      hp::add_signal(f, multiplied[i]);
      hp::add_access(f, input[i], 0, 64, hp::access_mode::read);
      hp::add_access(f, product[i], 0, 64, hp::access_mode::write);

      hp::add_task(f, hp::resource::aiv, 0, 30, activate, i);
      hp::add_wait(f, multiplied[i]);
      hp::add_access(f, product[i], 0, 64, hp::access_mode::write);
    }
  }
};

constexpr hp::machine_shape one_rank{1, {/*aic=*/1, /*aiv=*/1, /*link=*/1, /*copy=*/0, /*host=*/0}};

constexpr auto flow = hp::build_fixed<hp::measure(tiles{})>(tiles{});
constexpr auto schedule = hp::schedule_fixed<hp::queue_count(one_rank)>(flow, one_rank);
static_assert(hp::verify(flow, schedule).code == hp::verify_code::ok);  // safe in every interleaving

constexpr auto run = hp::simulate_fixed(flow, schedule);
static_assert(run.result.makespan == 20 + 4 * 50 + 30);  // the link and the vector core hide behind the matrix core
static_assert(run.communication.busy == 80 && run.communication.exposed == 20);  // only the first tile is waited for

int main() {
  hp::planned_flow again(tiles{}, one_rank, {});  // the same builder at run time, on memory it owns
  assert(again.verify() == hp::verify(flow, schedule));
  assert(again.simulate().result == run.result);
  assert(again.bound().value == run.result.makespan);  // fill + work + drain: nothing can be faster
  std::printf(
      "%d tasks, safe in every interleaving: %lld ps, the bound is %lld ps, %lld of %lld ps on the link are exposed\n",
      again.flow().size.tasks, static_cast<long long>(run.result.makespan), static_cast<long long>(again.bound().value),
      static_cast<long long>(run.communication.exposed), static_cast<long long>(run.communication.busy));
}
