// SPDX-License-Identifier: Apache-2.0
// The body of measured_row.hpp.

#include "measured_row.hpp"

#include <algorithm>

#include <hyperparallel/planner/serving_estimate.hpp>
#include <hyperparallel/planner/stack_memory.hpp>
#include <hyperparallel/planner/stack_time_serving.hpp>

#include "../plan/words.hpp"
#include "devices.hpp"

namespace truth {

namespace {

/// Of prompts together: what they count stays within 64 bits.
constexpr hp::extent_t most_tokens = hp::extent_t{1} << 40;

bool is_on(const json& of, const char* name) { return field(of, name) == json(true); }

/// A decoder as the programs that were measured build it: gated, root mean square norms, rotated.
hp::decoder decoder_in(const json& m) {
  hp::decoder d;
  d.layers = size_needed(m, "layers");
  if (d.layers > 4096) throw not_predicted("its model has more than 4096 layers");
  d.hidden = size_needed(m, "hidden");
  d.vocabulary = size_needed(m, "vocabulary");
  d.tied = is_on(m, "tied");
  hp::attention_layer& a = d.attention;
  a.query_heads = size_needed(m, "heads");
  a.key_heads = size_in(m, {"kv_heads"}).or_else(a.query_heads);
  a.head_dim = size_in(m, {"head_dim"}).or_else(d.hidden / a.query_heads);
  a.rope_base = 1e4;
  a.query_key_value_bias = is_on(m, "attention_bias");
  a.query_key_norm = is_on(m, "qk_norm");
  const hp::extent_t expert = size_in(m, {"expert_ffn"}).or_else(0);
  d.feed_forward.width = size_in(m, {"ffn"}).or_else(expert);
  d.has_experts = size_in(m, {"experts"}).or_else(0) > 0;
  if (d.has_experts) {
    d.experts.experts = size_needed(m, "experts");
    d.experts.top_k = size_needed(m, "top_k");
    d.experts.width = expert;
  }
  if (d.feed_forward.width < 1 || a.key_heads < 1 || a.query_heads % a.key_heads != 0 || a.head_dim < 1)
    throw malformed_row("the sizes of the model do not make a decoder");
  return d;
}

hp::decoder_plan plan_in(const json& c) {
  for (const char* name : {"devices", "dp", "tp", "ep", "micro_batch", "micro_batches", "sequence"})
    if (size_in(c, {name}).or_else(1) > hp::largest_plan_number)
      throw malformed_row(std::string(name) + " is too large");
  const auto degree = [&](const char* name) { return static_cast<int>(size_in(c, {name}).or_else(1)); };
  hp::decoder_plan p;
  const int devices = degree("devices"), data = degree("dp");
  p.tp = degree("tp");
  p.ep = degree("ep");
  // dp counts all ranks that the batch is dealt to.
  if (p.ep > 1 && data * p.tp == devices && data % p.ep == 0)
    p.dp = data / p.ep;
  else
    p.dp = data;
  p.zero = static_cast<int>(size_in(c, {"zero"}).or_else(0));
  p.micro_batches = degree("micro_batches");
  p.recomputed = text_in(c, "recompute") == "full";
  p.sequence = size_needed(c, "sequence");
  p.batch = size_needed(c, "micro_batch") * p.micro_batches * p.dp * p.ep;
  if (hp::extent_t{p.dp} * p.ep * p.tp != devices) throw malformed_row("dp, tp and ep are not the devices");
  return p;
}

/// Of a step of decode that a graph launches, or of prompts, by the kernels of an eager program, without what waits for links; of a
/// decoder that these do not have, what hp serve says, prompts one after the other.
double serving_seconds(const json& row, const hp::decoder& d, bool is_decode, const hp::known_hardware& h) {
  const json& c = row.at("config");
  hp::serving_plan p;
  p.tp = static_cast<int>(std::min(size_in(c, {"tp"}).or_else(1), hp::largest_plan_number));
  p.batch = is_decode ? size_needed(c, "batch") : 1;
  p.context = size_needed(c, is_decode ? "context" : "sequence");
  if (const hp::decoder_plan_status s = hp::check_serving(d, p, p.tp); !s.ok())
    throw not_predicted("the plan cannot be: " + decoder_plans::cause_text(s));
  const hp::serving_estimate e = hp::estimate_serving(d, p, h.device, h.links);
  const hp::serving_phase& phase = is_decode ? e.decode : e.prefill;
  if (!phase.ok()) throw not_predicted("the plan has no price");
  const hp::extent_t sequences = size_needed(c, "batch");
  if (hp::has_serving_kernels(d, p.tp) && sequences <= most_tokens / p.context) {
    const hp::stack_serving_time t = is_decode ? hp::stack_decode_time(d, p.tp, sequences, p.context, h.device)
                                               : hp::stack_prefill_time(d, p.tp, sequences, p.context, h.device);
    if (!t.ok()) throw not_predicted("the plan has no price");
    return seconds_of(is_decode ? t.device : t.eager);
  }
  const double seconds = seconds_of(phase.time - phase.of(hp::serving_roof::links));
  return is_decode ? seconds : seconds * static_cast<double>(sequences);
}

/// What the program that was measured keeps, gathers and copies.
const hp::stack_rules& stack_of(const json& row) {
  const json& c = row.at("config");
  std::string name = text_in(row, "program");
  if (is_on(c, "compiled")) name += "_compiled";
  const std::string format = text_in(c, "precision");
  if (format == "amp") name += "_amp";
  const hp::stack_rules* const rules = hp::find_stack(name.c_str());
  if (rules == nullptr) throw not_predicted("no stack is called " + name);
  if (!format.empty() && format != "amp" && format != "bf16") throw not_predicted("a stack in " + format);
  return *rules;
}

prediction training_step(const json& row, const hp::decoder& d, const hp::known_hardware& h) {
  const json& c = row.at("config");
  const hp::stack_rules& stack = stack_of(row);
  const std::string words = text_in(c, "recompute");
  if (!words.empty() && words != "full" && words != "none") throw not_predicted("recomputation of " + words);
  const hp::decoder_plan p = plan_in(c);
  if (const hp::decoder_plan_status s = hp::check_plan(d, p, hp::device_count_of(p)); !s.ok())
    throw not_predicted("the plan cannot be: " + decoder_plans::cause_text(s));
  if (const hp::stack_code s = hp::check_stack(d, p, stack); s != hp::stack_code::ok)
    throw not_predicted(std::string("the stack ") + stack.name + " has no rule for " + hp::name_of(s));
  prediction out = predict(d, p, h);
  const hp::stack_memory memory = hp::stack_memory_of(d, p, stack);
  out.peak_bytes = static_cast<double>(memory.peak);
  out.after_forward_bytes = static_cast<double>(memory.after_forward);
  out.reserved_bytes = static_cast<double>(memory.reserved);
  const hp::stack_time time = hp::stack_time_of(d, p, stack, h.device);
  if (!time.ok()) throw not_predicted("the plan has no price");
  out.compute_seconds = seconds_of(time.total());
  return out;
}

}  // namespace

measured_row read_measured_row(const json& row, const std::string& device) {
  measured_row r;
  r.id = text_in(row, "id");
  r.kind = text_in(row, "kind");
  r.program = text_in(row, "program");
  if (r.id.empty()) throw malformed_row("key 'id' is missing");
  if (r.kind.empty()) throw malformed_row("key 'kind' is missing");
  const bool has_run = field(row, "model").is_object() && field(row, "config").is_object();
  r.is_operator = r.kind != "training" && !has_run;
  r.model = text_in(field(row, "model"), "name");
  if (r.is_operator) {
    r.said.why_not = r.kind == "device" ? "the device itself" : "one operator";
    return r;
  }
  const json& measured = field(row, "measured");
  if (!has_run || !measured.is_object()) throw malformed_row("a step needs model, config and measured");
  const bool is_decode = r.kind == "decode", is_prefill = r.kind == "prefill";
  double serving = 0;
  try {
    if (!is_decode && !is_prefill && r.kind != "training") throw not_predicted("no step that is known: " + r.kind);
    const hp::decoder d = decoder_in(row.at("model"));
    std::vector<std::string> of_preset;
    const hp::known_hardware h = hardware_of(json::object(), device, of_preset);
    if (is_decode || is_prefill) {
      serving = serving_seconds(row, d, is_decode, h);
      r.program = r.kind;
    } else {
      r.said = training_step(row, d, h);
    }
  } catch (const not_predicted& e) {
    r.said.why_not = e.what();
    return r;
  }
  const auto add = [&](const char* name, const char* measured_name, double predicted) {
    if (const double m = number_in(measured, measured_name); m > 0) r.amounts.push_back({name, m, predicted});
  };
  if (is_decode || is_prefill) {
    add("seconds", is_decode ? "graph_s" : "s", serving);
    return r;
  }
  add("peak_bytes", "peak_bytes", r.said.peak_bytes);
  add("after_forward_bytes", "after_forward_bytes", r.said.after_forward_bytes);
  add("reserved_bytes", "reserved_bytes", r.said.reserved_bytes);
  add("compute_seconds", "step_s", r.said.compute_seconds);
  return r;
}

}  // namespace truth
