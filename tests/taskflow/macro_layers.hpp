// SPDX-License-Identifier: Apache-2.0
#pragma once
// A layer of 300 tasks as a chain, and stacks of layers as its instances, for constant expressions and at run time.

#include <hyperparallel/taskflow/list_schedule.hpp>
#include <hyperparallel/taskflow/macro_proof.hpp>
#include <hyperparallel/taskflow/macro_schedule.hpp>

namespace taskflow_test {

namespace hp = hyperparallel;

inline constexpr hp::machine_shape layer_machine{1, {2, 1, 1, 0, 0}};
inline constexpr int layer_queues = hp::queue_count(layer_machine);

/// 30 row blocks: dispatch, 4 gate-up tiles, 2 SwiGLU, 2 down tiles, combine, from one slot into another.
struct macro_layer {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using enum hp::access_mode;
    using enum hp::resource;
    const int input = hp::add_slot(f, 0, 0, 0, 32), output = hp::add_slot(f, 0, 0, 32, 32);
    const int x = hp::add_slot(f, 0, 0, 64, 8, 120, 8), e = hp::add_event(f, 0, 120);
    hp::task_draft d;
    d.accesses = 2;
    const auto stage = [&](hp::resource kind, int operation, std::int64_t duration, int event, hp::access reads,
                           hp::access writes, int tiles) {
      d.task.kind = kind;
      d.task.operation = operation;
      d.task.duration = duration;
      d.waits = operation == 0 ? 0 : 1;
      d.signals = operation == 4 ? 0 : 1;
      d.wait[0] = {event - 1, hp::all_signals};
      d.signal[0] = event;
      d.access[0] = reads;
      d.access[1] = writes;
      hp::append(f, d, tiles);
    };
    for (int b = 0; b < 30; ++b) {
      const int v = e + 4 * b, s = x + 4 * b;
      const std::int64_t longer = b * 7919 % 13 * 1000;
      d.task.item = b;
      stage(link, 0, 5000 + longer, v, {input, b, b + 1, read}, {s, 0, 8, write}, 1);
      stage(aic, 1, 300000 + longer, v + 1, {s, 0, 8, read}, {s + 1, 0, 1, write, 1}, 4);
      stage(aiv, 2, 100000 + longer, v + 2, {s + 1, 0, 4, read}, {s + 2, 0, 1, write, 1}, 2);
      stage(aic, 3, 250000 + longer, v + 3, {s + 2, 0, 2, read}, {s + 3, 0, 1, write, 1}, 2);
      stage(link, 4, 5000 + longer, v + 4, {s + 3, 0, 2, read}, {output, b, b + 1, write}, 1);
    }
  }
};
inline constexpr hp::taskflow_size layer_size = hp::measure(macro_layer{});
inline constexpr auto layer_flow = hp::build_fixed<layer_size>(macro_layer{});
inline constexpr auto layer_schedule = hp::schedule_fixed<layer_queues>(layer_flow, layer_machine);
inline constexpr std::int64_t layer_tier[] = {1 << 20};
inline constexpr hp::tier_capacities layer_tiers{layer_tier, 1};

/// Blocks: input, output, and all that is between.
struct layer_places {
  hp::macro_place of[layer_size.slots];
  constexpr layer_places() : of{} {
    of[1].block = 1;
    for (int s = 2; s < layer_size.slots; ++s) of[s] = {2, 8 * (s - 2), 8 * (s - 1)};
  }
};
inline constexpr layer_places layer_place;

struct described_layer {
  hp::fixed_macro_contract<layer_queues, 3> contract;
  hp::macro_status status;
};
constexpr described_layer describe_layer() {
  described_layer d;
  const hp::macro_chain chain{layer_flow, layer_schedule, layer_place.of, d.contract};
  hp::describe_chain(chain, 3);
  d.status = hp::prove_chain(chain, layer_tiers);
  return d;
}
inline constexpr described_layer proved_layer = describe_layer();

/// Layers in a row: two slots for what goes in and out in turn, one for what is between. `waits`: for the layer before.
template <int Layers, bool Waits = true>
struct layer_stack {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    hp::add_slot(f, 0, 0, 0, 1024, 3, 1024);
    const int done = hp::add_event(f, 0, Layers);
    for (int k = 0; k < Layers; ++k) {
      const hp::macro_block block[] = {{k % 2, 0}, {1 - k % 2, 0}, {2, 0}};
      hp::add_instance(
          f, proved_layer.contract, k + 1, 0, block,
          [&](auto& g, int) {
            if (Waits && k > 0) hp::add_wait(g, done + k - 1);
          },
          [&](auto& g, int) { hp::add_signal(g, done + k); });
    }
  }
};

template <int Layers>
struct layer_table {
  hp::macro_instance instance[Layers];
  hp::macro_block block[6] = {{0, 0}, {1, 0}, {2, 0}, {1, 0}, {0, 0}, {2, 0}};
  constexpr explicit layer_table(int events) : instance{} {
    for (int k = 0; k < Layers; ++k)
      instance[k] = {0, k * 2 * proved_layer.contract.queues, 0, events + k * layer_size.events, k % 2 * 3};
  }
  constexpr hp::macro_table table() const { return {instance, Layers, block}; }
};

}  // namespace taskflow_test
