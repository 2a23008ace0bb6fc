// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pictures of hp serve's page (report/page.hpp): HBM of a device and cache by tier for each place of the cache, the roofs of
// prefill and decode, the longest contexts.

#include <string>
#include <utility>

#include "json.hpp"

namespace serving {

inline json bars(const std::string& title, const char* about, const char* unit, json parts, json rows) {
  return {{"kind", "bars"},         {"title", title}, {"about", about}, {"unit", unit}, {"parts", std::move(parts)},
          {"rows", std::move(rows)}};
}

inline json hbm_picture(const answer& a) {
  json rows = json::array();
  const auto row = [&](const std::string& name, const hp::serving_memory& m) {
    const hp::extent_t wasted = a.reserve.needed(m.peak()) - m.peak() - a.reserve.library_bytes;
    rows.push_back(
        {{"name", name}, {"values", {m.weights, m.cache, m.buffers, m.activations, wasted, a.reserve.library_bytes}}});
  };
  row("the plan", a.estimate.memory);
  for (const place& p : a.places) row("cache in " + std::string(p.name), p.estimate.memory);
  json picture = bars(
      a.first_memory() + " of a device", "At the context that is asked for, by where the cache lies.", "bytes",
      {"weights", "cache", "buffers of cache from " + a.dram(), "activations", "allocator", "run time and libraries"},
      std::move(rows));
  picture["limit"] = {{"name", "what the device has"}, {"value", a.device.tier[0].bytes}};
  return picture;
}

inline json cache_picture(const answer& a) {
  json rows = json::array();
  const auto row = [&](const std::string& name, const hp::serving_estimate& e) {
    rows.push_back({{"name", name}, {"values", {e.memory.cache, e.offloaded}}});
  };
  row("the plan", a.estimate);
  for (const place& p : a.places) row("cache in " + std::string(p.name), p.estimate);
  return bars("Cache of keys and values by tier", "Of a device, at the context that is asked for.", "bytes",
              {a.first_memory(), a.dram()}, std::move(rows));
}

inline json contexts_picture(const answer& a) {
  json rows = json::array();
  for (const place& p : a.places)
    rows.push_back({{"name", fmt::format("cache in {}, bound by {}", p.name, a.name_of(p.longest.bound))},
                    {"values", {p.longest.tokens}}});
  return bars("Longest context that fits", "By where the cache lies, and what binds it.", "tokens", {"tokens"},
              std::move(rows));
}

inline json roofs_picture(const answer& a) {
  const auto times = [](const hp::serving_phase& p) {
    json row = json::array();
    for (const hp::serving_roof r : {hp::serving_roof::operations, hp::serving_roof::hbm_bytes,
                                     hp::serving_roof::dram_bytes, hp::serving_roof::links})
      row.push_back(static_cast<double>(p.of(r)) / 1e12);
    return row;
  };
  return {{"kind", "matrix"},
          {"title", "Roofs of prefill and decode"},
          {"about", std::string("How long each alone takes; the longest is the time of a phase. Prefill is bound by ") +
                        a.name_of(a.estimate.prefill.bound()) + ", decode by " + a.name_of(a.estimate.decode.bound()) +
                        "."},
          {"unit", "seconds"},
          {"row_name", "phase"},
          {"column_name", "roof"},
          {"rows", {"prefill of a sequence", "decode of a token each"}},
          {"columns", {"operations", a.first_memory(), a.dram(), "links"}},
          {"values", {times(a.estimate.prefill), times(a.estimate.decode)}}};
}

inline json pictures_of(const answer& a) {
  if (!a.status.ok()) return json::array();
  return {hbm_picture(a), cache_picture(a), roofs_picture(a), contexts_picture(a)};
}

}  // namespace serving
