// SPDX-License-Identifier: Apache-2.0
// The body of config_kinds.hpp: a unit of its own, for no other kind knows layers.

#include "config_kinds.hpp"

#include <hyperparallel/io/model_config.hpp>

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
  struct figure {
    const char* field;
    hp::extent_t ours;
  };
  const figure figures[] = {{"expected_parameters", all.total()},
                            {"expected_parameters_with_mtp", all.total_with_prediction()},
                            {"expected_active_parameters", hp::active_parameters_of(read.model).total()},
                            {"kv_cache_elements_per_token", hp::cached_elements_per_token(read.model)}};
  std::string held;
  for (const figure& each : figures) {
    const json& theirs = optional_field(v, each.field);
    if (theirs.is_null()) continue;
    if (theirs != json(each.ours)) return fail(std::string(each.field) + " is " + std::to_string(each.ours) + " here");
    held += (held.empty() ? "" : ", ") + std::string(each.field);
  }
  verdict r = pass_if(!held.empty(), "the row states no count");
  r.note = read.family + ": " + held;
  return r;
}

}  // namespace replay
