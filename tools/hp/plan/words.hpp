// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans and what is said of them in words.

#include <cstddef>
#include <string>

#include <hyperparallel/planner/memory_comparison.hpp>
#include <hyperparallel/planner/neighbours.hpp>
#include <hyperparallel/report/format_pipeline.hpp>
#include <hyperparallel/report/format_units.hpp>

#include "../refusals.hpp"

namespace decoder_plans {

namespace hp = hyperparallel;

/// "tp+cp": the degrees beside ep that experts are dealt along.
inline std::string experts_along_text(const hp::decoder_plan& p) {
  return !p.experts_along_tp ? "cp" : p.experts_along_cp ? "tp+cp" : "tp";
}

/// "none", "full", "selective", or modules, "layernorm+moe_act".
inline std::string recomputation_text(const hp::decoder_plan& p) {
  if (p.recomputed) return p.selective ? "selective" : "full";
  std::string out;
  hp::visit_modules(p.modules,
                    [&](const hp::recomputed_module& m) { out += (out.empty() ? "" : "+") + std::string(m.name); });
  return out.empty() ? "none" : out;
}

/// "tp=8,dp=2,zero=1": as --fix reads it; degrees and options that are as if not named are left out, but dp.
inline std::string fixes_of(const hp::decoder_plan& p) {
  std::string out;
  for (const hp::plan_degree& d : hp::plan_degrees)
    if (p.*d.of > 1) out += std::string(d.name) + "=" + std::to_string(p.*d.of) + ",";
  if (p.dp == 1) out += "dp=1,";
  if (p.zero > 0) out += "zero=" + std::to_string(p.zero) + ",";
  if (p.copies > 1) out += "copies=" + std::to_string(p.copies) + ",";
  if (p.micro_batches > 1) out += "micro_batches=" + std::to_string(p.micro_batches) + ",";
  if (const std::string again = recomputation_text(p); again != "none") out += "recompute=" + again + ",";
  if (p.adapter_rank > 0) out += "lora=" + std::to_string(p.adapter_rank) + ",";
  if (p.adapter_rank > 0 && p.adapted == hp::adapted_products::attention_inputs) out += "lora_on=qkv,";
  if (p.optimizer != hp::optimizer_kind::adamw) out += "optimizer=" + std::string(name_of(p.optimizer)) + ",";
  if (p.host_states > 0) out += "host_states=" + std::to_string(p.host_states) + ",";
  if (!p.sequence_parallel) out += "sp=off,";
  if (p.experts_along_tp || p.experts_along_cp) out += "experts_along=" + experts_along_text(p) + ",";
  if (!hp::is_1f1b(p)) out += "schedule=" + std::string(hp::schedule_of(p).name) + ",";
  if (p.chunks > 1) out += "chunks=" + std::to_string(p.chunks) + ",";
  out.pop_back();
  return out;
}

/// "1, 2, 4, 8": those nearest to `pieces`.
inline std::string divisors_text(hp::extent_t extent, hp::extent_t pieces) {
  constexpr int most = 8;
  const hp::growing_array<hp::extent_t> all = hp::divisors_of(extent);
  int first = 0;
  while (first + most < all.size && all[first + most / 2] < pieces) ++first;
  std::string out = first > 0 ? "…, " : "";
  for (int i = first; i < all.size && i < first + most; ++i) out += (i == first ? "" : ", ") + std::to_string(all[i]);
  return first + most < all.size ? out + ", …" : out;
}

/// Why a plan cannot be, in one line.
inline std::string cause_text(const hp::decoder_plan_status& s) {
  const std::string degree = s.degree, extent = std::to_string(s.extent), pieces = std::to_string(s.pieces);
  switch (s.code) {
    case hp::decoder_plan_code::number_is_out_of_range:
      return degree + " is " + extent + "; expected at most " + pieces;
    case hp::decoder_plan_code::degrees_are_not_the_devices:
      return "the degrees are " + extent + " devices; there are " + pieces;
    case hp::decoder_plan_code::model_has_no_experts:
      return degree + (s.pieces > 1 ? "=" + pieces : "") + " cuts experts; the model has none";
    case hp::decoder_plan_code::fewer_layers_than_stages:
      return degree + "=" + pieces + " are more stages than " + s.dim + ", " + extent;
    case hp::decoder_plan_code::schedule_is_refused:
      return to_text(hp::pipeline_status{.code = s.schedule, .needed = static_cast<int>(s.extent)}, degree, s.shape);
    case hp::decoder_plan_code::schedule_holds_stages_twice:
      return "schedule=" + degree + " holds each stage twice; a plan of a decoder holds it once";
    case hp::decoder_plan_code::dim_does_not_divide:
      return degree + "=" + pieces + " does not divide " + s.dim + ", " + extent +
             "; these do: " + divisors_text(s.extent, s.pieces);
    case hp::decoder_plan_code::copies_of_nothing:
      return "copies=" + pieces + " are of what ZeRO shards; zero=0 shards nothing";
    case hp::decoder_plan_code::model_has_no_module:
      return degree + ": no layer of the model has " + std::string(s.dim);
    case hp::decoder_plan_code::modules_of_recomputed_layers:
      return degree + ": modules of layers that are computed again whole";
    case hp::decoder_plan_code::muon_on_the_host:
      return "host_states=" + extent +
             ": matrices are not orthogonalised on a host; optimizer=adamw and sgd are updated there";
    case hp::decoder_plan_code::ok:
      break;
  }
  return "the plan can be";
}

/// Why a convention says nothing of a plan, in one line.
inline std::string undefined_text(const hp::memory_comparison& c) {
  switch (c.code) {
    case hp::convention_code::model_has_experts:
      return "is not defined for models with experts";
    case hp::convention_code::model_has_latents:
      return "is not defined for attention with latents";
    case hp::convention_code::model_has_linear_attention:
      return "is not defined for linear attention";
    case hp::convention_code::degree_is_unknown:
      return std::string("has no ") + c.degree;
    case hp::convention_code::too_large:
      return "leaves 64 bits";
    case hp::convention_code::ok:
      break;
  }
  return "is defined";
}

}  // namespace decoder_plans
