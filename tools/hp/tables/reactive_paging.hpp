// SPDX-License-Identifier: Apache-2.0
#pragma once
// A12: one trace under paging at run time, least recently used pages out, pages in when they are used, and under a
// plan.
//
// Llama-3-8B prefills one sequence; weights, two storages a layer, come from the host as far as they do not fit. A
// layer is two operators: attention with its matmuls, then the feed-forward. Nothing here is fitted; half and twice the
// length show how the ratio moves.

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "../../../bench/run/offload_baselines.hpp"
#include "anchor.hpp"
#include "offload_parameters.hpp"
#include "offload_published.hpp"
#include "offload_trace.hpp"

namespace tables {

inline hp::offload_program prefill_trace(const offload_parameters& p, const hp::device_value& d, std::int64_t tokens) {
  const std::int64_t hidden = p.llama_hidden.value, key_value = p.llama_key_value.value;
  const auto matmul = [&](std::int64_t columns, std::int64_t depth) {
    return hp::matmul_time(d, tokens, columns, depth, d.gmm_cold, d.aic).picoseconds;
  };
  const std::int64_t projections = 2 * (hidden + key_value);  // columns: queries, keys, values, output
  // Half of the scores and of their product with the values: attention is causal.
  const std::int64_t attention = matmul(projections, hidden) + matmul(tokens, hidden);
  const std::int64_t feed_forward = matmul(3 * p.llama_intermediate.value, hidden);
  offload_trace t(hp::terabyte, p.link());
  for (int q = 0; q < 2 * p.llama_layers.value; ++q) {
    t.add_operator(q % 2 == 0 ? attention : feed_forward);
    const std::int64_t columns = q % 2 == 0 ? projections : 3 * p.llama_intermediate.value;
    t.add_storage(2 * hidden * columns, {{.op = q, .reads = true}}).persistent = true;
    if (q > 0) t.add_storage(2 * tokens * hidden, {{.op = q - 1, .writes = true}, {.op = q, .reads = true}});
  }
  std::int64_t most = 0;
  for (const std::int64_t bytes : hp::live_bytes(t.program)) most = std::max(most, bytes);
  t.program.tier[0].capacity = most * p.short_budget.value / 100;
  return t.program;
}

inline anchor_rows reactive_paging(const offload_parameters& p, const hp::device_value& device) {
  using namespace published;
  anchor_rows rows;
  const std::int64_t sequence = p.short_tokens.value;
  for (const std::int64_t length : {sequence / 2, sequence, 2 * sequence}) {
    const hp::offload_program program = prefill_trace(p, device, length);
    const hp::offload_certificate plan = planned(program, "prefill").certificate;
    const offload_baselines::paging paged = offload_baselines::demand_paging(program);
    if (!paged.feasible) throw std::logic_error("prefill: paging does not run");
    const bool held = length == sequence;
    rows.push_back({"A12",
                    fmt::format("{} tokens: paging {:.0f} ms over planned {:.0f} ms; in {:.1f} and {:.1f} GB", length,
                                seconds(paged.time) * 1e3, seconds(plan.time) * 1e3,
                                static_cast<double>(paged.bytes_in) * 1e-9, static_cast<double>(plan.bytes_in) * 1e-9),
                    "x", reactive_slowdown, static_cast<double>(paged.time) / static_cast<double>(plan.time),
                    held ? criterion::at_least : criterion::printed, 2.0});
    rows.push_back({"A12", fmt::format("{} tokens, planned: exposed", length), "%", planned_exposed,
                    100 * static_cast<double>(plan.exposed) / static_cast<double>(plan.time - plan.exposed),
                    held ? criterion::at_most : criterion::printed, planned_exposed});
  }
  return rows;
}

}  // namespace tables
