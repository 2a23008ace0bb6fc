// SPDX-License-Identifier: Apache-2.0
// docs/reference/offload.md
#undef NDEBUG
#include <cassert>
#include <memory>
#include <string>
#include <vector>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/lowering/offloaded_program.hpp>
#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/lowering/step_durations.hpp>
#include <hyperparallel/offload/offload_planner.hpp>
#include <hyperparallel/offload/offload_rules.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/tiers/saved_tensors.hpp>

namespace hp = hyperparallel;

// docs/reference/offload.md: a period, and its plan as a constant
constexpr hp::offload_program three_layers(hp::extent_t budget) {
  hp::offload_program p;
  p.link.push({1'000'000'000'000, 0});                           // a byte takes a picosecond
  p.tier.push({.capacity = budget});                             // where operators run
  p.tier.push({.capacity = 1000, .in_link = 0, .out_link = 0});  // half duplex
  for (int q = 0; q < 6; ++q) p.op.push({.duration = 100});      // forward 0 1 2, backward 3 4 5
  for (int l = 0; l < 3; ++l) {                                  // a layer leaves 40 bytes for its backward
    p.storage.push({.bytes = 40, .first_access = p.access.size, .access_count = 2, .label = l});
    p.access.push({.op = l, .writes = true});
    p.access.push({.op = 5 - l, .reads = true});
  }
  return p;
}
constexpr hp::offload_certificate certificate_of(hp::extent_t budget) {
  return hp::plan_offload(three_layers(budget)).certificate;
}

static_assert(certificate_of(120).bytes_in == 0);  // everything fits
static_assert(certificate_of(80).bytes_in == 40 && certificate_of(80).bytes_in_bound == 40);
static_assert(certificate_of(80).time == 600 && certificate_of(80).exposed == 0);     // hidden
static_assert(certificate_of(40).feasible && certificate_of(40).least_budget == 40);  // at a price
static_assert(!certificate_of(39).feasible);

// docs/reference/offload.md: rules
constexpr const char* name_of(int label) {
  constexpr const char* names[] = {"layers.0.hidden", "layers.1.hidden", "layers.2.hidden"};
  return names[label];
}
constexpr hp::offload_rule rules[] = {{"layers.*", hp::offload_control::keep},
                                      {"layers.0.*", hp::offload_control::offload}};

void control() {
  hp::offload_program p = three_layers(120);
  assert(hp::apply_rules(p, rules, 2, name_of).code == hp::offload_rule_code::ok);
  assert(p.storage[0].control == hp::offload_control::offload && p.storage[1].control == hp::offload_control::keep);
  assert(hp::plan_offload(p).certificate.bytes_in == 40);  // though everything would fit

  constexpr hp::offload_rule misspelt[] = {{"layer.*", hp::offload_control::keep}};
  assert(hp::apply_rules(p, misspelt, 1, name_of).code == hp::offload_rule_code::pattern_matches_nothing);
}

struct language_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), seq = m.dim("seq", 16);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 4, .key_heads = 4, .head_dim = 8, .rope_base = 10000.0},
        .feed_forward = {.width = 64}};
    int x = hp::token_embedding{.vocabulary = 64, .hidden = 32}(m, tokens);
    x = m.repeat("layers", 4, x, block);
    hp::language_head{.vocabulary = 64}(m, x, labels);
  }
};

hp::sharded_program training_program() {
  hp::graph g = hp::build_model<language_model>({.unrolled = true});
  hp::differentiate(g);
  hp::append_optimizer(g, {.kind = hp::optimizer_kind::adamw});
  return hp::partition(g, hp::strategy_called("dp", 2).strategy);
}

void program() {
  const hp::sharded_program p = training_program();
  const hp::extent_t whole = hp::plan_addresses(p).high_water[0];
  hp::tier_hardware hardware;
  hardware.link.push({4'000'000'000, 10 * hp::microsecond});
  hardware.tier.push({.capacity = whole / 2});
  hardware.tier.push({.capacity = hp::GiB, .in_link = 0, .out_link = 0});
  const hp::offloaded_program o =
      hp::offload(p, hp::step_durations(p, hp::kinds_of_moves(p)), hardware, {{.effort = 1'000'000}});
  assert(o.ok() && o.addresses.high_water[0] <= whole / 2);
  assert(hp::check_program(o.program).code == hp::program_code::ok);
  assert(o.planned.certificate.bytes_in >= o.planned.certificate.bytes_in_bound);
}

// docs/reference/offload.md: a step of training
struct mesh : hp::device_matrix<hp::axis{"dp", 2}> {};

using strategy = hp::strategy<mesh, hp::fully_sharded<"dp", 3>>;
using whole = hp::train_step<language_model, strategy, hp::adamw, hp::matrix384>;
using step = hp::train_step<language_model, strategy, hp::adamw, hp::matrix384,
                            hp::offloaded_within<whole::peak * 3 / 4>,          // bytes of tier 0
                            hp::keeping<"head.*">, hp::offloading<"*moment*">,  // never leave; always leave
                            hp::making_again<"layers.*">,                       // run again in backward
                            hp::planning_effort<24, 2000>>;
static_assert(step::offload.ok() && step::peak <= whole::peak * 3 / 4);
static_assert(step::offload.step_time >= step::account.times.total.picoseconds);

constexpr hp::offload_shares states = step::offload.share[static_cast<int>(hp::memory_class::states)];
static_assert(states.offloaded > states.kept && step::offload.bytes_in >= states.offloaded);

void session() {
  const hp::offload_link link{20 * hp::gigabyte, 10 * hp::microsecond};
  hp::offload_session s({{"hbm", 4096}, {"dram", hp::MiB, link, link}});
  const hp::session_tensor x = s.add("x", 4096), y = s.add("y", 4096);
  s.use(x, hp::tensor_access::overwrite).as<float>()[0] = 3.0F;
  s.store(x, 1);
  s.detach(x);                                                   // returns at once
  s.use(y, hp::tensor_access::overwrite).as<float>()[0] = 4.0F;  // waits until x has left
  s.store(y, 1);
  s.detach(y);
  s.prefetch(x);
  assert(s.use(x).as<const float>()[0] == 3.0F);  // waits for the bytes
  assert(s.memory(0).high_water() == 4096 && s.copies_in(1).bytes == 4096);
}

void hooks() {
  hp::offload_session s({{"hbm", 8192}, {"dram", hp::MiB}});
  std::vector<hp::packed_tensor> saved;
  {
    const hp::saved_tensors_scope scope(std::make_shared<hp::offload_hooks>());
    for (int l = 0; l < 4; ++l) {
      const hp::session_tensor x = s.add("layers." + std::to_string(l) + ".x", 4096);
      s.use(x, hp::tensor_access::overwrite).as<float>()[0] = static_cast<float>(l);
      saved.push_back(hp::save_for_backward(s, x));  // after its last forward use
    }
  }
  for (int l = 3; l >= 0; --l) {
    {
      const hp::use_guard x = saved.back().unpack();  // brings the next one along
      assert(x.as<const float>()[0] == static_cast<float>(l));
    }
    s.remove(saved.back().tensor());
    saved.pop_back();
  }
}

int main() {
  control();
  program();
  session();
  hooks();
}
