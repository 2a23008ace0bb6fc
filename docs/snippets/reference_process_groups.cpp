// SPDX-License-Identifier: Apache-2.0
// docs/reference/process-groups.md
#undef NDEBUG
#include <cassert>
#include <string>

#include <hyperparallel/io/group_file.hpp>
#include <hyperparallel/model.hpp>
#include <hyperparallel/mpmd.hpp>

namespace hp = hyperparallel;

// docs/reference/process-groups.md: the model knows nothing of groups
constexpr hp::graph model() {
  hp::model_builder m;
  const int batch = m.dim("batch", 8), width = m.dim("width", 16), hidden = m.dim("hidden", 16);
  const int seen = hp::linear_layer{"vision.patch", {width}}(m, m.input("image", {batch, m.dim("values", 12)}));
  const int y = hp::linear_layer{"language.up", {hidden}}(m, seen);
  m.loss(m.apply<hp::ops::reduce>("language.sum", {y}, {.text = "*->"}));
  return static_cast<hp::graph&&>(m.graph);
}

struct omni : hp::process_groups<64, hp::named_group<"tower", hp::rank_range{0, 15}>,
                                 hp::named_group<"decoder", hp::rank_range{16, 63}>, hp::module_on<"vision", "tower">,
                                 hp::module_on<"language", "decoder">, hp::disjoint_groups> {};

static_assert(hp::claim_operators(model(), omni::table()).status.ok());
static_assert(omni::size<"tower"> == 16);

// docs/reference/process-groups.md: as a file
void reading() {
  const hp::group_tables file = hp::parse_group_file(R"({"devices_per_node": 8, "disjoint": true, "process_groups": {
      "decoder": {"nodes": ["2-7"], "module": "language"},
      "tower": {"nodes": [0, 1], "module": "vision"}}})",
                                                     "groups.json");
  const hp::group_table& t = file.table[0];
  assert(hp::rank_count(t.group[hp::find_group(t, "decoder")]) == 48);
  assert(hp::claim_operators(model(), t).status.ok());

  const char* const names[] = {"vision.patch", "head"};
  const hp::module_claims c = hp::claim_names(t, names, 2);
  assert(hp::text_of_refusal(c.status, t, names, 2) == "operator head belongs to none of the 2 modules");
}

// docs/reference/process-groups.md: sizes by load
void splitting() {
  hp::growing_array<hp::module_load> load(2);
  for (int n = 1; n <= 8; ++n) {
    load[0].choice.push({n, hp::ceil_divide(2800, 56 * n)});   // 5.6 requests a second on a device
    load[1].choice.push({n, hp::ceil_divide(2800, 100 * n)});  // 10
  }
  const char* const names[] = {"prefill", "decode"};
  const hp::device_split s = hp::split_devices(load, 3);
  assert(s.devices[0] == 2 && s.devices[1] == 1 && 2800 / s.time == 100);  // 10 requests a second
  assert(hp::is_least_split(load, 3, s));
  assert(hp::text_of_proof(s, names, 3) == "less than 28 takes 4 devices, more than 3: prefill 2, decode 2");
  assert(hp::check_groups(hp::groups_of_split(s, names, 3)).ok());
}

int main() {
  reading();
  splitting();
}
