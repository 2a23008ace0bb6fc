// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a config or a device has and no figure of hp plan and hp serve: a line each.

#include <optional>
#include <string>
#include <vector>

#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>
#include <hyperparallel/report/format_units.hpp>

#include "choice.hpp"
#include "launch/launch_plan.hpp"

namespace decoder_plans {

/// A line that names the fields of the config that no figure heeds, or nothing.
inline std::string set_aside_text(const hp::model_config& c) {
  std::string names;
  for (const std::string& name : c.set_aside) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "" : "set aside, since no shape depends on it: " + names + "\n";
}

/// A line of the format that a file stores weights in, since training does not; or nothing.
inline std::string trained_text(const hp::model_config& c) {
  return c.weights.method.empty() ? ""
                                  : "the file is " + c.weights.method +
                                        "; a step trains f32 parameters, gradients and states, with products in bf16\n";
}

/// What is there and in no figure, each in words.
inline std::vector<std::string> left_out(const hp::model_config& c, const usable_memory& m) {
  std::vector<std::string> out;
  if (const hp::extent_t modules = c.model.prediction_modules; modules > 0)
    out.push_back(fmt::format("multi-token prediction ({} of {} parameters in all)",
                              modules == 1 ? "a module" : fmt::format("{} modules", modules),
                              hp::parameters_of(c.model).prediction));
  if (const hp::extent_t keys = c.model.indexer.top_k; c.model.indexer.heads > 0)
    out.push_back(fmt::format("the indexer that picks {} keys ({} parameters): attention is to all keys", keys,
                              hp::parameters_of(c.model).indexers));
  std::string towers;
  for (const std::string& name : c.towers) towers += (towers.empty() ? "" : ", ") + name;
  if (!towers.empty()) out.push_back("the parameters of " + towers + ", beside the text");
  if (c.model.has_experts) out.push_back("buffers of routers beyond even loads of experts");
  if (!m.is_reported && !m.is_asked)
    out.push_back("memory that driver and context keep (--memory says what a device reports)");
  return out;
}
inline std::string not_counted_text(const hp::model_config& c, const usable_memory& m, hp::extent_t usable) {
  std::string out, items;
  if (m.is_reported)
    out = fmt::format("a device of {} reports {}\n", to_text(hp::report::byte_count{m.stated}),
                      to_text(hp::report::byte_count{usable}));
  for (const std::string& each : left_out(c, m)) items += (items.empty() ? "" : ", ") + each;
  return items.empty() ? out : out + "not counted: " + items + "\n";
}

/// What --from said that no figure heeds, what stands twice, and what the framework pads.
inline std::string launch_text(const std::optional<hp_tool::launch::launch_plan>& l) {
  if (!l) return "";
  std::string out;
  for (const std::string& each : l->unheeded) out += (out.empty() ? "not heeded: " : "; ") + each;
  if (!out.empty()) out += "\n";
  for (const std::string& each : l->notes) out += each + "\n";
  if (l->vocabulary > 0) out += fmt::format("the vocabulary is padded to {}\n", l->vocabulary);
  return out;
}

/// A line where sequences are longer than the model is made for, or nothing.
inline std::string beyond_text(const hp::model_config& c, hp::extent_t tokens) {
  if (!c.positions.is_known() || tokens <= c.positions.positions) return "";
  return fmt::format("{} tokens are more than the model's {} positions: {}\n", tokens, c.positions.positions,
                     c.positions.source);
}

}  // namespace decoder_plans
