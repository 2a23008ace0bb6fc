// SPDX-License-Identifier: Apache-2.0
// docs/how-to/serve-a-model.md, docs/reference/strategy-search.md
#undef NDEBUG
#include <cassert>

#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/longest_context.hpp>

namespace hp = hyperparallel;

constexpr hp::decoder llama3{.vocabulary = 128256,
                             .hidden = 4096,
                             .layers = 32,
                             .attention = {.query_heads = 32, .key_heads = 8, .head_dim = 128, .rope_base = 500000.0},
                             .feed_forward = {.width = 14336}};

constexpr hp::serving_plan plan{.tp = 8, .batch = 16, .context = 32768};
static_assert(hp::check_serving(llama3, plan, 8).ok());
constexpr hp::serving_estimate e =
    hp::estimate_serving(llama3, plan, hp::h100::device, hp::interconnect_of(hp::h100::topology));
static_assert(e.decode.bound() == hp::serving_roof::hbm_bytes);

int main() {
  const hp::known_hardware& machine = *hp::find_hardware("matrix384");
  const hp::device_value die = hp::device_in_pool(machine);
  hp::serving_plan one;
  const hp::context_limit in_hbm = hp::longest_context(llama3, one, die, {});
  const hp::context_limit hidden =
      hp::longest_hidden_context(llama3, one, die, machine.links, {}, hp::serving_step::prefill);
  assert(in_hbm.bound == hp::context_bound::hbm_size && hidden.tokens > in_hbm.tokens);
}
