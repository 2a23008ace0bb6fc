// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hp serve found, as JSON: the figures of its text.

#include <string>
#include <utility>

#include "../json_amounts.hpp"
#include "text.hpp"

namespace serving {

using hp_tool::json, hp_tool::seconds_or_null;

inline json json_of(const answer& a, const hp::serving_phase& p) {
  return {{"seconds", seconds_or_null(p.time)},
          {"tokens_per_second", p.tokens_per_second},
          {"operations_seconds", seconds_or_null(p.of(hp::serving_roof::operations))},
          {"hbm_seconds", seconds_or_null(p.of(hp::serving_roof::hbm_bytes))},
          {"dram_seconds", seconds_or_null(p.of(hp::serving_roof::dram_bytes))},
          {"links_seconds", seconds_or_null(p.of(hp::serving_roof::links))},
          {"bound_by", a.name_of(p.bound())}};
}

inline json memory_json(const answer& a) {
  const hp::serving_memory& m = a.estimate.memory;
  const hp::extent_t needed = a.reserve.needed(m.peak());
  return {{"weights_bytes", m.weights},
          {"cache_bytes", m.cache},
          {"buffer_bytes", m.buffers},
          {"activation_bytes", m.activations},
          {"peak_bytes", m.peak()},
          {"allocator_bytes", needed - m.peak() - a.reserve.library_bytes},
          {"library_bytes", a.reserve.library_bytes},
          {"needed_bytes", hp_tool::bytes_or_null(needed)},
          {"device_bytes", a.device.tier[0].bytes},
          {"dram_cache_bytes", a.estimate.offloaded},
          {"token_cache_bytes", a.estimate.token_cache_bytes}};
}

inline json json_of(const answer& a, const place& p) {
  return {{"cache_in", p.key},
          {"offloaded_layers", p.longest.offloaded_layers},
          {"longest_context", p.longest.tokens},
          {"all_contexts_up_to", p.longest.unbroken},
          {"bound_by", a.name_of(p.longest.bound)},
          {"peak_bytes", p.estimate.memory.peak()},
          {"prefill_seconds", seconds_or_null(p.estimate.prefill.time)},
          {"decode_seconds", seconds_or_null(p.estimate.decode.time)}};
}

inline json json_of(const answer& a) {
  const hp::serving_plan& p = a.plan;
  json out = {{"kind", "estimate"},
              {"family", a.config.family},
              {"parameters", hp::parameters_of(a.config.model).total()},
              {"not_counted", decoder_plans::left_out(a.config, a.memory)},
              {"positions", a.config.positions.is_known() ? json(a.config.positions.positions) : json()},
              {"weight_format", p.weights.empty() ? json() : json(a.config.weights.method)},
              {"towers", a.config.towers},
              {"set_aside", a.config.set_aside},
              {"hardware", a.hardware.name.text},
              {"devices", a.devices},
              {"plan",
               {{"tp", p.tp},
                {"pp", p.pp},
                {"dp", p.dp},
                {"ep", p.ep},
                {"batch", p.batch},
                {"context", p.context},
                {"chunk", p.chunk},
                {"weight_bits", p.weights.empty() ? json(p.weight_bits) : json(a.mean_weight_bits())},
                {"cache_bits", p.cache_bits},
                {"offloaded_layers", p.offloaded_layers}}},
              {"plans_estimated", a.legal_plans == 0 ? 1 : a.legal_plans},
              {"legal", a.status.ok()}};
  if (!a.status.ok()) {
    out["why"] = decoder_plans::cause_text(a.status);
    return out;
  }
  out["verdict"] = name_of(a.verdict());
  out["memory"] = memory_json(a);
  json places = json::array();
  for (const place& each : a.places) places.push_back(json_of(a, each));
  out["caches"] = std::move(places);
  out["prefill"] = json_of(a, a.estimate.prefill);
  out["decode"] = json_of(a, a.estimate.decode);
  if (a.has_kernels()) {
    const hp::stack_serving_time decode = a.decode_kernels(), prefill = a.prefill_kernels();
    out["kernels"] = {
        {"by", decode.measured ? "operators measured on one H100" : "operators of one H100, scaled by peaks"},
        {"decode_graph_seconds", seconds_or_null(decode.device)},
        {"decode_eager_seconds", seconds_or_null(decode.eager)},
        {"prefill_seconds", seconds_or_null(prefill.eager)},
        {"decode_kernels", decode.kernels}};
  }
  return out;
}

}  // namespace serving
