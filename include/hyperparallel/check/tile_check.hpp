// SPDX-License-Identifier: Apache-2.0
#pragma once
// Holds the kernel of an operator with operands against tiles: boxes of factors that all results have, within the blocks of
// the whole (kernels/box_of_call.hpp).
//
// Law: the elements of a tile have the bits that the kernel on the whole gives them, and no other element is touched. So an
// operator may be computed tile by tile, in any order. Asked of a random interval of each such factor, alone and with those
// of the others.

#include <string>
#include <vector>

#include <hyperparallel/check/kernel_probe.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline std::string name_of_factor(const factor& f) {
  return f.letter == 0 ? "of *" : std::string("'") + f.letter + "'";
}

class tile_check {
 public:
  tile_check(const kernel_probe& probe, sample_numbers& random) : probe_(probe), random_(random) {}

  /// What differs from the results of the whole, or from their memory before; empty where nothing does.
  std::string complaint_of(const sampled_results& whole) {
    operator_call of_all = probe_.whole();
    std::string factors, complaint;
    for (int f = 0; f < probe_.rule().factor_count && complaint.empty(); ++f) {
      const extent_t extent = probe_.op().loop[f].extent;
      if (extent < 2 || !may_be_tiled(probe_.rule(), f)) continue;
      operator_call tile = probe_.whole();
      loop_span& loop = tile.loop[f];
      loop.begin = random_.below(extent);
      loop.extent = 1 + random_.below(extent - loop.begin);
      of_all.loop[f] = loop;
      const std::string name = name_of_factor(probe_.rule().factor[f]);
      factors.append(factors.empty() ? " " : ", ").append(name);
      complaint = difference(tile, " " + name, whole);
    }
    return factors.empty() || !complaint.empty() ? complaint : difference(of_all, "s" + factors, whole);
  }

 private:
  std::string difference(const operator_call& tile, const std::string& factors, const sampled_results& whole) const {
    probe_memory memory;
    const sampled_results made = probe_.run_within(tile, memory);
    for (std::size_t r = 0; r < made.size() && memory.fault.empty(); ++r) {
      const int result = static_cast<int>(r);
      std::vector<bool> inside(made[r].size(), false);
      for_each_element(tile, probe_.rule().result[r], [&](std::size_t e, std::size_t) { inside[e] = true; });
      const bool numbers = is_in(probe_.value().index_results, result);
      for (std::size_t e = 0; e < inside.size(); ++e) {
        const double x = made[r][e];
        if (inside[e] ? x == whole[r][e] : numbers ? x == memory.number : memory.holds(x)) continue;
        return "element " + std::to_string(e) + " of result " + std::to_string(result) + ", " +
               (inside[e] ? "in" : "outside") + " a tile along factor" + factors + ", is " + std::to_string(x) +
               (inside[e] ? ", of the whole " + std::to_string(whole[r][e]) : std::string(" after it"));
      }
    }
    return memory.fault;
  }

  const kernel_probe& probe_;
  sample_numbers& random_;
};

}}}  // namespace hyperparallel::v0_2::detail
