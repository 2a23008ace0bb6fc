// SPDX-License-Identifier: Apache-2.0
// The body of config_kinds.hpp: a unit of its own, for no other kind knows layers.

#include "config_kinds.hpp"

#include <hyperparallel/io/model_config.hpp>
#include <hyperparallel/layers/decoder_parameters.hpp>

#include <string>

namespace replay {

verdict replay_model_config(const json& v) {
  constexpr const char* file = "config.json";
  if (v["config"].is_null()) return skip("refused: no config.json is published");
  hp::model_config read;
  try {
    read = hp::parse_model_config(v["config"].dump(), file);
  } catch (const hp::unsupported_model& e) {
    return skip("refused: " + std::string(e.what()));
  } catch (const hp::io_error& e) {
    return fail(e.what());
  }
  const hp::decoder_parameters<> all = hp::parameters_of(read.model);
  // A row counts the whole model, with what it has beside its text.
  hp::extent_t beside = 0;
  if (!read.towers.empty()) {
    const json &whole = optional_field(v, "expected_parameters"),
               &text = optional_field(optional_field(v, "parts"), "text");
    if (!whole.is_number_integer() || !text.is_number_integer())
      return skip("no count of the text alone: " + read.towers.front() + " is beside it");
    beside = whole.get<hp::extent_t>() - text.get<hp::extent_t>();
  }
  struct figure {
    const char* field;
    hp::extent_t ours;
  };
  const figure figures[] = {{"expected_parameters", all.total() + beside},
                            {"expected_parameters_with_mtp", all.total_with_prediction() + beside},
                            {"expected_active_parameters", hp::active_parameters_of(read.model).total() + beside},
                            {"kv_cache_elements_per_token", hp::cached_elements_per_token(read.model)}};
  std::string held;
  for (const figure& each : figures) {
    const json& theirs = optional_field(v, each.field);
    if (theirs.is_null()) continue;
    if (theirs != json(each.ours)) return fail(std::string(each.field) + " is " + std::to_string(each.ours) + " here");
    held += (held.empty() ? "" : ", ") + std::string(each.field);
  }
  verdict r = pass_if(!held.empty(), "the row states no count");
  r.note = read.family + ": " + held + (read.towers.empty() ? "" : ", of the text");
  return r;
}

}  // namespace replay
