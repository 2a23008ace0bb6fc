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

int main() { reading(); }
