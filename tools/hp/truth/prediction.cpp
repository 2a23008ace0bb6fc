// SPDX-License-Identifier: Apache-2.0
// The body of prediction.hpp.

#include "prediction.hpp"

#include <algorithm>

#include <hyperparallel/planner/memory_comparison.hpp>
#include <hyperparallel/planner/sheet_bound.hpp>
#include <hyperparallel/planner/simulation.hpp>
#include <hyperparallel/planner/stack_time.hpp>
#include <hyperparallel/report/format_hardware.hpp>

#include "../plan/words.hpp"
#include "devices.hpp"
#include "row_plan.hpp"

namespace truth {

namespace {

/// What a device holds when the last forward has ended: homes, and what is kept for backward.
double after_forward(const hp::decoder& d, const hp::decoder_plan& p) {
  const hp::sharded_program program = hp::planned_program(d, p);
  hp::extent_t bytes = 0;
  hp::visit_kept_memory(program, hp::pipeline_form(program.graph, p.pp),
                        [&](int, int, hp::extent_t held) { bytes += held; });
  return static_cast<double>(bytes);
}

}  // namespace

prediction predict(const hp::decoder& d, const hp::decoder_plan& p, const hp::known_hardware& h,
                   const hp::stack_rules& stack, bool for_time) {
  if (const hp::hardware_status s = hp::check_hardware(h.device, h.links, static_cast<int>(hp::device_count_of(p)));
      !s.ok())
    throw not_predicted("the hardware: " + to_text(s));
  hp::plan_prices prices(h.device, h.links);
  hp::plan_estimate e = hp::estimate_plan(d, p, prices, stack);
  if (e.evaluation.code == hp::cost_code::overflow)
    throw not_predicted("not counted: a step takes 26 days or more, or a micro-batch leaves 64 bits");
  if (!e.ok()) throw not_predicted("the plan has no price");
  const hp::memory_reserve reserve;
  e.simulated = hp::simulate_plan(d, p, prices,
                                  for_time ? hp::largest_simulated_memory : reserve.most_peak(h.device.tier[0].bytes));
  const hp::plan_estimate held = e;
  if (!e.simulated.ok())
    e.simulated = hp::simulate_plan(d, p, prices, hp::largest_simulated_memory);  // what ran did fit
  prediction out;
  out.fix = decoder_plans::fixes_of(p);
  out.step_seconds = seconds_of(e.time());
  out.exposed = e.exposed();
  out.skew_seconds = seconds_of(e.simulated.skew);
  out.bound_seconds = seconds_of(hp::sheet_bound(d, p, h.device, h.links).picoseconds());
  out.compute_seconds = seconds_of(e.computing());
  out.peak_bytes = static_cast<double>(held.memory());
  out.needed_bytes = static_cast<double>(reserve.needed(held.memory()));
  out.after_forward_bytes = after_forward(d, p);
  out.verdict = hp::verdict_of(held.memory(), reserve, h.device.tier[0].bytes);
  return out;
}

namespace {

/// Of a plan dealt as FSDP: the memory of PyTorch's stack, compiled where the row says so, and in bf16 its time of computing, if it has rules
/// for the plan.
void note_sharded(const published_row& r, const hp::decoder& d, const hp::decoder_plan& p, const hp::known_hardware& h,
                  prediction& out) {
  if (p.zero < 2 || !h.device.as_measured) return;
  const hp::stack_rules& stack =
      *hp::find_stack(field(r.config(), "compile") == json(true) ? "fsdp2_compiled" : "fsdp2");
  if (p.formats.product_bits() == 0 && hp::check_stack(d, p, stack, hp::stack_question::time) == hp::stack_code::ok)
    if (const hp::stack_time time = hp::stack_time_of(d, p, stack, h.device); time.ok()) {
      out.step_seconds = seconds_of(time.total() + out.exposed);
      out.compute_seconds = seconds_of(time.total());
      out.open.push_back(std::string("computing of the stack ") + stack.name);
    }
  if (hp::check_stack(d, p, stack, hp::stack_question::memory) != hp::stack_code::ok) return;
  const hp::stack_memory memory = hp::stack_memory_of(d, p, stack);
  out.peak_bytes = static_cast<double>(memory.peak);
  out.after_forward_bytes = static_cast<double>(memory.after_forward);
  out.reserved_bytes = out.needed_bytes = static_cast<double>(memory.reserved);
  out.open.push_back(std::string("memory of the stack ") + stack.name);
}

/// Of Megatron's GPT, whose blocks keep scores of attention and masks of dropout: the peak by the closed forms of megatron_2022, activations as
/// often as the schedule keeps them at once, and 18 bytes for each entry of the tables.
void note_gpt_memory(const published_row& r, const hp::decoder& d, const hp::decoder_plan& p, prediction& out) {
  const bool is_gpt = d.positions > 0 && d.norm == hp::norm_form::layer && !hp::is_gated(d.form) && !d.has_experts;
  if (r.quantity != "peak_memory_per_gpu" || p.zero > 1 || p.cp > 1 || !is_gpt) return;
  const hp::memory_by_part m = hp::megatron_2022(
      {.layers = d.layers, .hidden = d.hidden, .heads = d.attention.query_heads}, hp::megatron_plan_of(p));
  const hp::pipeline_shape shape = hp::pipeline_of(p);
  const hp::pipeline_account a = hp::detail::replay_listed(p.schedule, shape, {});
  if (m.total() == hp::not_counted || !a.ok()) return;
  // Where embedding and head count as layers, the second stage has more of them than the first, and no table.
  const bool is_second = hp::ends_count_as_layers(d.layers, shape.stages());
  const int most = is_second ? a.rank[1].peak_until_weight_gradient : a.peak_until_weight_gradient();
  const double at_once =
      static_cast<double>(most) / static_cast<double>(shape.chunks * std::min(shape.ranks, shape.micro_batches));
  const double tables = is_second ? 0.0 : 18.0 * static_cast<double>((d.vocabulary + d.positions) * d.hidden) / p.tp;
  const double peak = static_cast<double>(m.states()) + at_once * static_cast<double>(m.activations()) + tables;
  out.peak_bytes = peak;
  out.needed_bytes = static_cast<double>(hp::memory_reserve{}.needed(static_cast<hp::extent_t>(peak)));
  out.open.push_back("memory by megatron_2022");
}

}  // namespace

prediction predict(const published_row& r, hp::efficiency share) {
  prediction out;
  try {
    const row_decoder d = decoder_of(r.model, r.run.sequence);
    row_plan p = plan_of(r, d.model);
    hp::known_hardware h = hardware_of(r.source.at("hardware"), r.device, p.open);
    if (share.parts_per_million > 0) h.device.gmm_cold = share;
    h.links = hp::dealt_evenly(h.links, hp::device_count_of(p.plan));
    out = predict(d.model, p.plan, h, *hp::find_stack(p.is_overlapped ? "megatron" : "library"), p.plan.zero >= 2);
    note_sharded(r, d.model, p.plan, h, out);
    note_gpt_memory(r, d.model, p.plan, out);
    if (p.steps_are_skewed) out.step_seconds -= out.skew_seconds;
    out.open = p.open;
    if (!r.model.sizes_from.empty()) out.open.push_back("sizes of " + r.model.sizes_from);
    if (d.assumed_vocabulary) out.open.push_back("vocabulary " + std::to_string(assumed_vocabulary));
  } catch (const not_predicted& e) {
    out.why_not = e.what();
  }
  return out;
}

}  // namespace truth
