// SPDX-License-Identifier: Apache-2.0
// docs/reference/macro-tasks.md
#include <hyperparallel/taskflow.hpp>

namespace hp = hyperparallel;

constexpr hp::machine_shape one_rank{1, {1, 1, 0, 0, 0}};

/// A product into a slot of its own, then a pointwise operator.
struct layer {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    using enum hp::access_mode;
    const int input = hp::add_slot(f, 0, 0, 0, 64), output = hp::add_slot(f, 0, 0, 64, 64);
    const int between = hp::add_slot(f, 0, 0, 128, 64), multiplied = hp::add_event(f, 0);
    hp::add_task(f, hp::resource::aic, 0, 100, 0, 0);
    hp::add_signal(f, multiplied);
    hp::add_access(f, input, 0, 64, read);
    hp::add_access(f, between, 0, 64, write);
    hp::add_task(f, hp::resource::aiv, 0, 20, 1, 0);
    hp::add_wait(f, multiplied);
    hp::add_access(f, between, 0, 64, read);
    hp::add_access(f, output, 0, 64, write);
  }
};
inline constexpr auto chain_flow = hp::build_fixed<hp::measure(layer{})>(layer{});
inline constexpr auto chain_schedule = hp::schedule_fixed<2>(chain_flow, one_rank);
inline constexpr hp::macro_place places[] = {{0}, {1}, {2}};  // each slot is a block of its own
inline constexpr std::int64_t bytes[] = {4096};
inline constexpr hp::tier_capacities memory{bytes, 1};

struct proved {
  hp::fixed_macro_contract<2, 3> contract;  // on 2 queues, with 3 blocks
  hp::macro_status status;
};
constexpr proved prove() {
  proved p;
  const hp::macro_chain chain{chain_flow, chain_schedule, places, p.contract};
  hp::describe_chain(chain, 3);
  p.status = hp::prove_chain(chain, memory);
  return p;
}
inline constexpr proved a_layer = prove();
static_assert(a_layer.status == hp::macro_status{} && a_layer.contract.queues == 2);

/// 61 layers: what one writes the next reads, and all use one slot between.
inline constexpr int layers = 61;
struct stack {
  bool waits = true;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    hp::add_slot(f, 0, 0, 0, 64, 3, 64);
    const int done = hp::add_event(f, 0, layers);
    for (int k = 0; k < layers; ++k) {
      const hp::macro_block blocks[] = {{k % 2}, {1 - k % 2}, {2}};
      hp::add_instance(
          f, a_layer.contract, k + 1, 0, blocks,
          [&](auto& g, int) {
            if (waits && k > 0) hp::add_wait(g, done + k - 1);
          },
          [&](auto& g, int) { hp::add_signal(g, done + k); });
    }
  }
};

/// The same as a table: chain 0, first task, first rank, first event, and where the blocks are listed.
struct instances {
  hp::macro_instance of[layers] = {};
  hp::macro_block blocks[6] = {{0}, {1}, {2}, {1}, {0}, {2}};
  constexpr explicit instances(int events) {
    for (int k = 0; k < layers; ++k) of[k] = {0, 4 * k, 0, events + k, k % 2 * 3};
  }
  constexpr hp::macro_table table() const { return {of, layers, blocks}; }
};

template <stack Stack>
constexpr hp::macro_status proof() {
  constexpr auto flow = hp::build_fixed<hp::measure(Stack)>(Stack);
  const instances all(flow.size.events);
  const auto schedule = hp::schedule_macro_tasks<2>(flow, one_rank, all.table(), a_layer.contract);
  return hp::prove_macro_tasks(flow, schedule, memory, all.table(), a_layer.contract);
}
static_assert(proof<stack{true}>() == hp::macro_status{});

constexpr hp::macro_status refused = proof<stack{false}>();
static_assert(refused.code == hp::macro_code::flow_is_unsafe);
static_assert(refused.safety == hp::verify_code::conflict_is_not_ordered && refused.task == 4 && refused.slot == 1);

int main() {}
