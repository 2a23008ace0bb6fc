// SPDX-License-Identifier: Apache-2.0
#include "json_output.hpp"

#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

void hp_tool::print(const json& document) {
  std::fputs((document.dump(2, ' ', false, json::error_handler_t::replace) + "\n").c_str(), stdout);
}
