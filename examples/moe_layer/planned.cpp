// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/table.hpp>
#include <hyperparallel/step/training_step.hpp>

#include "layer.hpp"
#include "run.hpp"

namespace moe_layer {
namespace {

struct model {
  static constexpr void build(hp::model_builder& m) { moe_layer::build(m, full_size); }
};
struct mesh : hp::device_matrix<hp::axis{"ep", devices}> {};
using strategy = hp::strategy<mesh, hp::expert_parallel<"ep">, hp::data_parallel<"ep">>;

/// A step of training at full size, derived by the compiler: layouts, moves, tiles, queues, proof, timeline.
using operators = hp::train_step<model, strategy, hp::adamw, hp::matrix384>;
using tiles = hp::train_step<model, strategy, hp::adamw, hp::matrix384, hp::tiled<tiled_operators>>;

// What a training stack's CI would hold. A change of model or cluster that breaks one of these does not build.
static_assert(operators::verified && tiles::verified, "every interleaving of the tasks is safe");
static_assert(tiles::clock.makespan * 8 <= operators::clock.makespan * 7, "tiles make a step one seventh faster");
static_assert(tiles::clock.exposed * 5 <= operators::clock.exposed, "four fifths of what moves cost is hidden");
static_assert(hp::fits<tiles, 32 * hp::GiB>());

template <class Step>
void add_line(hp::report::table& t, const char* name) {
  using hp::report::duration, hp::report::percent;
  const hp::run_times& c = Step::clock;
  t.row({name, fmt::format("{}", duration{c.makespan}), fmt::format("{}", duration{c.bound.links}),
         fmt::format("{}", duration{c.exposed}), fmt::format("{}", percent{c.exposed * 10000 / c.makespan}),
         fmt::format("{:.3f}", static_cast<double>(c.makespan) / static_cast<double>(c.bound.most()))});
}

}  // namespace

void print_plan() {
  fmt::print("Planned by the compiler: a mixture-of-experts layer on {} Ascend 910C dies of a Matrix384\n", devices);
  fmt::print("  hidden {}, width {}, {} experts, top-{}, {} tokens a die, bf16, expert parallelism {}\n\n",
             full_size.hidden, full_size.width, full_size.experts, full_size.top_k, full_size.tokens, devices);
  hp::report::table lines({"a step of training", "makespan", "moves", "not computing", "share", "of its bound"});
  add_line<operators>(lines, "operators");
  add_line<tiles>(lines, "experts in tiles");
  fmt::print("{}\nsafe in every interleaving: {}\n", lines.text(), tiles::verified ? "yes" : "no");
}

}  // namespace moe_layer
