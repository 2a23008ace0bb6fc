// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two rules, of a vector or of the library, compared up to the names of their factors.
//
// Factors of size 1 are left out, since nothing can shard them. A factor that is only in operands, or only in results,
// without being reduced, counts as one kind: the vectors do not tell one that is whole from one that nothing has been
// said of. Sizes of permutation factors are left out as well: a vector has one for operand and result, which need not
// be as long. Blocked flags count where a factor may be sharded; elsewhere no sharding is there to spread.

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "rule_reading.hpp"

namespace replay {

/// A rule as the comparison sees it.
struct rule_view {
  std::vector<dim_list> operand{}, result{};
  std::vector<hp::extent_t> size{};
  std::vector<hp::factor> factor{};
};

inline rule_view view_of(const read_rule& r) {
  rule_view v{r.operand, r.result, r.size, {}};
  for (int f = 0; f < r.rule.factor_count; ++f) v.factor.push_back(r.rule.factor[f]);
  return v;
}

inline dim_list dims_of(const hp::tensor_factors& t) {
  dim_list dims;
  for (int d = 0; d < t.rank; ++d) dims.emplace_back(t.term + t.first[d], t.term + t.first[d + 1]);
  return dims;
}

/// A rule of ours on operands of these shapes; factors that nothing tells have size -1.
inline rule_view view_of(const hp::factor_rule& r, const std::vector<hp::shape>& operands) {
  rule_view v;
  for (int o = 0; o < r.operand_count; ++o) v.operand.push_back(dims_of(r.operand[o]));
  for (int o = 0; o < r.result_count; ++o) v.result.push_back(dims_of(r.result[o]));
  const hp::factor_extents e = hp::extents_of(r, operands.data(), static_cast<int>(operands.size()));
  for (int f = 0; f < r.factor_count; ++f) {
    v.factor.push_back(r.factor[f]);
    v.size.push_back(e.status.code == hp::extents_code::ok ? e.extent[f] : -1);
  }
  return v;
}

/// Some operands and results of a rule, in that order.
inline rule_view part_of(const rule_view& v, const std::vector<int>& operands, const std::vector<int>& results) {
  rule_view part{{}, {}, v.size, v.factor};
  for (const int o : operands) part.operand.push_back(v.operand[static_cast<std::size_t>(o)]);
  for (const int o : results) part.result.push_back(v.result[static_cast<std::size_t>(o)]);
  return part;
}

inline bool has_factor(const std::vector<dim_list>& tensors, int f) {
  for (const dim_list& dims : tensors)
    for (const std::vector<int>& dim : dims)
      if (std::find(dim.begin(), dim.end(), f) != dim.end()) return true;
  return false;
}

inline bool alike(const rule_view& a, int f, const rule_view& b, int g) {
  const hp::factor &x = a.factor[static_cast<std::size_t>(f)], &y = b.factor[static_cast<std::size_t>(g)];
  const bool reduces = x.kind == hp::factor_kind::reduction;
  const bool one_sided = !has_factor(a.operand, f) || !has_factor(a.result, f);
  const bool shardable = reduces || x.kind == hp::factor_kind::pass_through;
  if (shardable && x.blocked != y.blocked) return false;
  if (reduces != (y.kind == hp::factor_kind::reduction) || (!one_sided && x.kind != y.kind)) return false;
  return x.kind == hp::factor_kind::permutation ||
         a.size[static_cast<std::size_t>(f)] == b.size[static_cast<std::size_t>(g)];
}

inline bool same_tensors(const rule_view& a, const std::vector<dim_list>& left, const rule_view& b,
                         const std::vector<dim_list>& right, std::map<int, int>& there, std::map<int, int>& back) {
  if (left.size() != right.size()) return false;
  const auto kept = [](const rule_view& v, std::vector<int> dim) {
    std::erase_if(dim, [&v](int f) { return v.size[static_cast<std::size_t>(f)] == 1; });
    return dim;
  };
  for (std::size_t t = 0; t < left.size(); ++t) {
    if (left[t].size() != right[t].size()) return false;
    for (std::size_t d = 0; d < left[t].size(); ++d) {
      const std::vector<int> x = kept(a, left[t][d]), y = kept(b, right[t][d]);
      if (x.size() != y.size()) return false;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (there.emplace(x[i], y[i]).first->second != y[i] || back.emplace(y[i], x[i]).first->second != x[i])
          return false;
    }
  }
  return true;
}

/// Whether two rules are one up to the names of their factors.
inline bool same_rule(const rule_view& a, const rule_view& b) {
  std::map<int, int> there, back;
  if (!same_tensors(a, a.operand, b, b.operand, there, back) || !same_tensors(a, a.result, b, b.result, there, back))
    return false;
  return std::all_of(there.begin(), there.end(), [&](const auto& p) { return alike(a, p.first, b, p.second); });
}

}  // namespace replay
