// SPDX-License-Identifier: Apache-2.0
#pragma once
// A4: our plan against the published order in the same cost model: same model, same device, same efficiency of a product, same
// all-to-all, same latency from signal to wait on both sides. The published order has tiles of whole experts; ours the number
// of tiles, up to 64 of a step, that makes each row fastest.
//
// Not every row can gain as much. Products alone are all but 1 to 2 % of backward in the published order at no latency, and all
// but 3 % of forward at EP4. These rows are printed beside the published order over pure work, which no plan reaches.

#include "modules.hpp"

namespace tables {

inline anchor_rows better_than_published(const parameters& p, const module_figures& modules) {
  anchor_rows rows;
  const auto add = [&rows](const std::string& what, const char* unit, std::optional<double> published, double ours,
                           criterion c = criterion::printed,
                           double limit = 0) { rows.push_back({"A4", what, unit, published, ours, c, limit, 3}); };
  for (int d = 0; d < 3; ++d)
    for (int i = 0; i < 2; ++i) {
      const int ep = degrees[d];
      const bool forward = passes[i] == module_pass::forward;
      const std::string name = fmt::format("EP{} {}", ep, name_of(passes[i]));
      const published::module_row& r = published::module_table[d];
      const module_run prompt = run_fastest(p, {.ep = ep, .pass = passes[i], .hop = p.prompt_hop.value});
      const double ours = milliseconds(prompt.makespan), work = milliseconds(prompt.products);
      add(name + ", ours, 2 us", "ms", forward ? r.fused_forward : r.fused_backward, ours,
          forward && ep == 8 ? criterion::at_most : criterion::printed, 9.57);
      add(name + ", ours / pure matrix work", "x", std::nullopt, ours / work, criterion::at_most, 1.015);
      for (const std::int64_t hop : {std::int64_t{0}, 50 * hp::microsecond, p.paper_hop.value}) {
        const double theirs =
            hop == p.paper_hop.value
                ? modules.fused[d][i]
                : milliseconds(
                      run_module(p, {.ep = ep, .pass = passes[i], .tiles = published_tiles, .hop = hop}).makespan);
        const double same = milliseconds(run_fastest(p, {.ep = ep, .pass = passes[i], .hop = hop}).makespan);
        const std::string at = fmt::format("{}, both at {} us", name, hop / hp::microsecond);
        if (hop == p.paper_hop.value) add(at + ", ours", "ms", std::nullopt, same);
        if (forward && ep > 4)
          add(at + ", published order / ours", "x", std::nullopt, theirs / same, criterion::at_least, 1.05);
        else
          add(fmt::format("{}, published order / ours (most possible {:.3f})", at, theirs / work), "x", std::nullopt,
              theirs / same);
      }
    }
  return rows;
}

}  // namespace tables
