// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/operators.hpp>
#include <hyperparallel/report/format_layout.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/table.hpp>

#include "layer.hpp"
#include "run.hpp"

namespace moe_layer {
namespace {

// What a training stack's CI would hold. A change of model or cluster that breaks one of these does not build.
static_assert(program::verified, "every interleaving of the taskflow is safe");
static_assert(program::dispatch::kind == hp::plan_kind::all_to_all && program::dispatch::steps == 1);
static_assert(program::dispatch::bytes_received == program::dispatch::lower_bound);
static_assert(program::combine::bytes_received == program::combine::lower_bound);
static_assert(hp::local_shape_of<program::by_expert, program::routed> == hp::shape{8, 1, 4096, 7168});
static_assert(program::certificate.ratio() <= 10100, "makespan within 1 % of its lower bound");
static_assert(program::makespan <= 9900 * hp::microsecond);
static_assert(program::communication.exposed_share(program::makespan) <= 100, "at most 1 % exposed communication");
static_assert(program::utilised(hp::resource::aic) >= 9500, "matrix cores at least 95 % busy");

// The grouped matmul keeps the expert layout, so between dispatch and combine nothing moves.
using gate_up_result = hp::result_layout<hp::ops::grouped_matmul, program::by_expert, program::by_expert>;
static_assert(std::is_same_v<gate_up_result, program::by_expert>);

template <class Layout, class Tensor>
void add_tensor(hp::report::table& t, const char* name) {
  const hp::shape local = hp::local_shape_of<Layout, Tensor>;
  t.row({name, fmt::format("{}", Tensor::shape), fmt::format("{}", hp::named(Layout::value, mesh::value)),
         fmt::format("{}", local),
         fmt::format("{}", hp::report::byte_count{hp::element_count(local).value * hp::bytes_of(Tensor::type)})});
}

template <class Move>
void add_move(hp::report::table& t, const char* name) {
  t.row({name, hp::name_of(Move::kind), std::to_string(Move::steps), std::to_string(Move::messages),
         fmt::format("{}", hp::report::byte_count{Move::bytes_received}),
         fmt::format("{}", hp::report::byte_count{Move::lower_bound}),
         fmt::format("{:.4f}", static_cast<double>(Move::bytes_received) / static_cast<double>(Move::lower_bound))});
}

/// One line of the timeline table. `busy` are utilisations in 1/10 000.
void add_timeline(hp::report::table& t, const std::string& name, const hp::simulation_result& r,
                  const hp::machine_shape& m, const hp::exposure& e, std::int64_t bound) {
  using hp::report::duration, hp::report::percent, hp::report::ratio;
  t.row({name, fmt::format("{}", duration{r.makespan}),
         fmt::format("{}", percent{hp::utilisation(r, m, hp::resource::aic)}),
         fmt::format("{}", percent{hp::utilisation(r, m, hp::resource::aiv)}),
         fmt::format("{}", percent{hp::utilisation(r, m, hp::resource::link)}), fmt::format("{}", duration{e.exposed}),
         fmt::format("{}", percent{e.masked_share()}), fmt::format("{}", duration{bound}),
         fmt::format("{}", ratio{hp::makespan_certificate{r.makespan, bound}.ratio()})});
}

/// Plans at run time with the compiler's own functions and adds the line.
std::int64_t add_planned(hp::report::table& t, const std::string& name, const hp::moe_options& options,
                         bool serialized) {
  const hp::moe_plan plan = hp::make_moe_plan(full_size, program::devices, 1, hp::matrix384::device,
                                              hp::matrix384::expert_all_to_all, options, serialized)
                                .plan;
  hp::planned_flow flow(hp::moe_builder{plan}, hp::moe_machine(options, 1), {options.policy, options.synchronisation});
  const hp::simulated_figures figures = flow.simulate();
  const bool safe = flow.verify().code == hp::verify_code::ok;
  add_timeline(t, safe ? name : name + " (UNSAFE)", figures.result, flow.schedule().machine, figures.communication,
               flow.bound().value);
  return figures.result.makespan;
}

}  // namespace

void print_plan() {
  using hp::report::byte_count, hp::report::duration, hp::report::ratio;
  fmt::print("Planned by the compiler: a mixture-of-experts layer on {} Ascend 910C dies of a Matrix384\n",
             program::devices);
  fmt::print("  hidden {}, intermediate {}, {} experts, top-{}, {} tokens a rank, bf16, expert parallelism {}\n\n",
             full_size.hidden, full_size.intermediate, full_size.experts, full_size.top_k,
             full_size.tokens / program::devices, program::devices);

  hp::report::table tensors({"tensor", "global shape", "layout", "local shape", "bytes"});
  add_tensor<program::by_token, program::tokens>(tensors, "tokens");
  add_tensor<program::by_source, program::routed>(tensors, "routed rows, by source");
  add_tensor<program::by_expert, program::routed>(tensors, "routed rows, by expert");
  add_tensor<program::by_expert, program::gate_up_weight>(tensors, "W1 (gate|up)");
  add_tensor<gate_up_result, program::gate_up>(tensors, "gate|up");
  add_tensor<program::by_expert, program::down_weight>(tensors, "W2 (down)");
  fmt::print("{}\n", tensors.text());

  hp::report::table moves({"redistribution", "kind", "steps", "messages", "received", "lower bound", "ratio"});
  add_move<program::dispatch>(moves, "dispatch");
  add_move<program::combine>(moves, "combine");
  fmt::print("{}\n", moves.text());

  fmt::print("taskflow: {} tasks, {} events, {} signals, {} slot accesses; safe in every interleaving: {}\n",
             program::tasks, program::events, program::stages::size.signal_uses, program::stages::size.access_uses,
             name_of(program::verified));
  fmt::print(
      "timeline of one die, synchronisation {}, GMM efficiency {:.3f} cold (serialized) and {:.3f} warm (both "
      "fitted):\n\n",
      duration{program::options.synchronisation},
      static_cast<double>(hp::matrix384::device.gmm_cold.parts_per_million) / 1e6,
      static_cast<double>(hp::matrix384::device.gmm_warm.parts_per_million) / 1e6);
  hp::report::table lines({"plan", "makespan", "AIC", "AIV", "link", "exposed", "masked", "bound", "ratio"});
  const std::int64_t serialized = add_planned(lines, "serialized operators", program::options, true);
  add_timeline(lines, "tile taskflow", program::stages::timeline.result, program::stages::machine,
               program::communication, program::stages::bound.value);
  hp::moe_options cold = program::options, windowed = program::options;
  cold.cold = true;
  add_planned(lines, "tile taskflow, GMM cold", cold, false);
  windowed.weight_buffers = 2;
  add_planned(lines, "taskflow, weights in DRAM", windowed, false);
  fmt::print("{}\n", lines.text());
  fmt::print("the first and second line differ in order and in GMM efficiency, the first and third in order alone\n");
  fmt::print("the taskflow is {:.2f} times as fast as the serialized operators, at {} of its lower bound\n",
             static_cast<double>(serialized) / static_cast<double>(program::makespan),
             ratio{program::certificate.ratio()});
  const hp::extent_t expert = (hp::gate_up_elements(full_size) + hp::down_elements(full_size)) * 2;
  fmt::print("with weights in DRAM a die holds 2 of its {} experts in HBM: {} instead of {}\n",
             full_size.experts / program::devices, byte_count{2 * expert},
             byte_count{full_size.experts / program::devices * expert});
}

}  // namespace moe_layer
