// SPDX-License-Identifier: Apache-2.0
// docs/how-to/add-a-lowering.md
#undef NDEBUG
#include <cassert>

#include <hyperparallel/mpmd.hpp>
#include <hyperparallel/taskflow.hpp>
#include <hyperparallel/world/taskflow_world.hpp>

namespace hp = hyperparallel;

constexpr int ranks = 4;

enum operation { twice, put, sum };
constexpr const char* operation_names[] = {"twice", "put", "sum"};

struct tensors {
  int own, doubled, arrived, total;
};

/// total = Σ 2 · own over all ranks, on every rank, one number each: an all-reduce of four ranks.
constexpr hp::tile_chain describe(tensors& t) {
  hp::tile_chain c;
  c.devices = c.ranks = ranks;
  const int space = hp::add_space(c, ranks, ranks);  // an item from each rank, all of them one group
  t.own = hp::add_tensor(c, space, hp::grain::group, 64);
  t.doubled = hp::add_tensor(c, space, hp::grain::group, 64);
  t.arrived = hp::add_tensor(c, space, hp::grain::item, 64);
  t.total = hp::add_tensor(c, space, hp::grain::group, 64);

  hp::tile_stage& first = hp::add_stage(c, twice, space, hp::grain::group, {hp::resource::aic, 1, 100});
  hp::add_read(first, t.own, hp::grain::group);
  hp::add_write(first, t.doubled);

  hp::tile_stage& send = hp::add_stage(c, put, space, hp::grain::item, {hp::resource::link, 1, 40});
  send.route = hp::stage_route::to_receiver;  // item i goes to the peer of step i + 1 of the rotation
  send.stay = {hp::resource::aiv, 1, 5};      // the last one stays
  hp::add_read(send, t.doubled, hp::grain::group);
  hp::add_write(send, t.arrived);

  hp::tile_stage& last = hp::add_stage(c, sum, space, hp::grain::group, {hp::resource::aiv, 1, 10});
  hp::add_read(last, t.arrived, hp::grain::group);
  hp::add_write(last, t.total);
  return c;
}

constexpr hp::tile_chain chain() {
  tensors t{};
  return describe(t);
}
static_assert(hp::check(chain()).code == hp::chain_code::ok);

struct all_sum {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    hp::lower_chain(chain(), f);
  }
  static constexpr const char* operation_name(int o) { return operation_names[o]; }
};

using plan = hp::static_taskflow<all_sum, hp::machine_shape{ranks, {1, 1, 1, 0, 0}}>;
static_assert(plan::safety.code == hp::verify_code::ok);
static_assert(plan::makespan == 100 + 3 * 40 + 10 && plan::certificate.ratio() == 10000);

struct running {
  hp::tile_chain chain;
  tensors tensor;
  hp::chain_places places;
  hp::taskflow_world* world;
  float& number(int rank, int t, int unit = 0) const {
    return world->data<float>(hp::slot_of(chain, places, rank, t, unit))[0];
  }
};
const running& at(const hp::kernel_call& c) { return *static_cast<const running*>(c.user); }

void run_twice(const hp::kernel_call& c) {
  at(c).number(c.rank, at(c).tensor.doubled) = 2 * at(c).number(c.rank, at(c).tensor.own);
}
void run_put(const hp::kernel_call& c) {
  const running& r = at(c);
  const int to = hp::receiver_of(r.chain, c.rank, c.item);
  r.number(to, r.tensor.arrived, c.item) = r.number(c.rank, r.tensor.doubled);
}
void run_sum(const hp::kernel_call& c) {  // in rank order on all ranks, so all get the same bits
  const running& r = at(c);
  float total = 0;
  for (int source = 0; source < ranks; ++source)
    for (int item = 0; item < ranks; ++item)
      if (hp::source_of(r.chain, c.rank, item) == source) total += r.number(c.rank, r.tensor.arrived, item);
  r.number(c.rank, r.tensor.total) = total;
}

int main() {
  running r{};
  r.chain = describe(r.tensor);
  hp::counting_taskflow sized;
  r.places = hp::lower_chain(r.chain, sized);  // where each tensor's slots are
  hp::taskflow_world_options options;
  options.execution.names = {operation_names, 3, nullptr, 0};
  hp::taskflow_world world(plan::flow, plan::schedule, options);
  r.world = &world;
  world.bind(twice, &run_twice, &r);
  world.bind(put, &run_put, &r);
  world.bind(sum, &run_sum, &r);
  for (int rank = 0; rank < ranks; ++rank) r.number(rank, r.tensor.own) = static_cast<float>(rank + 1);
  assert(world.run() == hp::run_result::complete);
  for (int rank = 0; rank < ranks; ++rank) assert(r.number(rank, r.tensor.total) == 20);
}
