// SPDX-License-Identifier: Apache-2.0
// docs/reference/process-groups.md
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <string>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/io/group_file.hpp>
#include <hyperparallel/model.hpp>
#include <hyperparallel/mpmd.hpp>
#include <hyperparallel/search/group_search.hpp>
#include <hyperparallel/train.hpp>

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

// docs/reference/process-groups.md: sub-models
void training() {
  hp::group_table t;
  t.world = 6;
  hp::add_group(t, "tower", hp::rank_range{0, 1});
  hp::add_group(t, "decoder", hp::rank_range{2, 5});
  hp::add_module(t, "vision", "tower");
  hp::add_module(t, "language", "decoder");
  t.placed[0].frozen = true;

  hp::graph g = model();
  assert(hp::freeze_modules(g, t).ok());  // before gradients are made
  g.micro_batches = 4;
  hp::differentiate(g);
  hp::append_optimizer(g, {});

  hp::submodel_plan plan{t, {}};  // strategies of the groups, in their order
  plan.strategy.push(hp::strategy_called("dp", 2).strategy);
  plan.strategy.push(hp::strategy_called("zero1", 4).strategy);
  hp::model_run<float> run(g, plan);
  run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(micro)); });
  assert(hp::ranks_of(run.world().program()) == 6);

  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  const hp::group_search r = hp::search_groups(g, t, 4, hp::h100::device, links);  // the groups of t are not looked at
  assert(r.ok() && r.certificate.complete && r.certificate.lower_bound == r.best[0].times.makespan);
  assert(r.certificate.by_bound + r.certificate.played == r.certificate.plans);
  hp::model_run<float> fastest(g, r.best[0].plan);
}

int main() {
  reading();
  splitting();
  training();
}
