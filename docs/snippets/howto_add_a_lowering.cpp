// SPDX-License-Identifier: Apache-2.0
// docs/how-to/add-a-lowering.md
#undef NDEBUG
#include <cassert>

#include <hyperparallel/program/planned_flow.hpp>
#include <hyperparallel/runtime/world.hpp>

namespace hp = hyperparallel;

enum operation { twice, put, sum };
constexpr const char* operation_names[] = {"twice", "put", "sum"};

// Slots of one rank, in the order in which the builder adds them.
enum slot_of_rank { own, inbox, out, slots_per_rank };

/// out[r] = 2 · own[0] + 2 · own[1] on every rank r, one number each: an all-reduce of two ranks.
struct pair_sum {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    int doubled[2] = {}, arrived[2] = {}, first[2] = {};
    for (int r = 0; r < 2; ++r) {
      doubled[r] = hp::add_event(f, r);
      arrived[r] = hp::add_event(f, r);
      first[r] = hp::add_slot(f, r, 0, 0, 64);
      hp::add_slot(f, r, 0, 64, 64);
      hp::add_slot(f, r, 0, 128, 64);
    }
    for (int r = 0; r < 2; ++r) {
      hp::add_task(f, hp::resource::aic, r, 100, twice, 0);
      hp::add_signal(f, doubled[r]);
      hp::add_access(f, first[r] + own, 0, 64, hp::access_mode::write);
    }
    for (int r = 0; r < 2; ++r) {  // the sender's link writes the peer's inbox and signals there
      hp::add_task(f, hp::resource::link, r, 40, put, 0);
      hp::add_wait(f, doubled[r]);
      hp::add_signal(f, arrived[1 - r]);
      hp::add_access(f, first[r] + own, 0, 64, hp::access_mode::read);
      hp::add_access(f, first[1 - r] + inbox, 0, 64, hp::access_mode::write);
    }
    for (int r = 0; r < 2; ++r) {
      hp::add_task(f, hp::resource::aiv, r, 10, sum, 0);
      hp::add_wait(f, doubled[r]);
      hp::add_wait(f, arrived[r]);
      hp::add_access(f, first[r] + own, 0, 64, hp::access_mode::read);
      hp::add_access(f, first[r] + inbox, 0, 64, hp::access_mode::read);
      hp::add_access(f, first[r] + out, 0, 64, hp::access_mode::write);
    }
  }
};

constexpr hp::machine_shape two_ranks{2, {1, 1, 1, 0, 0}};
constexpr auto flow = hp::build_fixed<hp::measure(pair_sum{})>(pair_sum{});
constexpr auto schedule = hp::schedule_fixed<hp::queue_count(two_ranks)>(flow, two_ranks);
static_assert(hp::verify(flow, schedule).code == hp::verify_code::ok);
static_assert(hp::simulate_fixed(flow, schedule).result.makespan == 100 + 40 + 10);

float& number(const hp::kernel_call& call, int rank, slot_of_rank which) {
  return *static_cast<hp::world*>(call.user)->data<float>(rank * slots_per_rank + which).data();
}
void run_twice(const hp::kernel_call& c) { number(c, c.rank, own) *= 2; }
void run_put(const hp::kernel_call& c) { number(c, 1 - c.rank, inbox) = number(c, c.rank, own); }
void run_sum(const hp::kernel_call& c) {  // in rank order on both ranks, so both get the same bits
  const float mine = number(c, c.rank, own), theirs = number(c, c.rank, inbox);
  number(c, c.rank, out) = c.rank == 0 ? mine + theirs : theirs + mine;
}

int main() {
  hp::world_options options;
  options.execution.names = {operation_names, 3, nullptr, 0};
  hp::world world(flow, schedule, options);
  world.bind(twice, &run_twice, &world);
  world.bind(put, &run_put, &world);
  world.bind(sum, &run_sum, &world);
  world.data<float>(0 * slots_per_rank + own)[0] = 3;
  world.data<float>(1 * slots_per_rank + own)[0] = 4;
  assert(world.run() == hp::run_result::complete);
  assert(world.data<float>(0 * slots_per_rank + out)[0] == 14 && world.data<float>(1 * slots_per_rank + out)[0] == 14);
}
