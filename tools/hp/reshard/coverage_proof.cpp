// SPDX-License-Identifier: Apache-2.0
// The body of coverage_proof.hpp.

#include "coverage_proof.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace hp_tool::reshard {

namespace {

/// Dims of more than one number, the widest stride first, those that continue one another as one.
void normalise(strided_set& s) {
  std::erase_if(s.dims, [](const auto& d) { return d.first == 1; });
  std::sort(s.dims.begin(), s.dims.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (std::size_t i = s.dims.size(); i-- > 1;)
    if (s.dims[i - 1].second == s.dims[i].second * s.dims[i].first) {
      s.dims[i - 1] = {s.dims[i - 1].first * s.dims[i].first, s.dims[i].second};
      s.dims.erase(s.dims.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// The weights of digits that all sets are boxes of, 1 last; nothing where they do not divide one another.
std::optional<std::vector<std::int64_t>> common_radix(const std::vector<strided_set>& sets) {
  std::vector<std::int64_t> weights = {1};
  for (const strided_set& s : sets)
    for (std::size_t i = 0; i < s.dims.size(); ++i) weights.push_back(s.dims[i].second);
  std::sort(weights.rbegin(), weights.rend());
  weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
  if (weights.back() < 1) return {};
  for (std::size_t i = 1; i < weights.size(); ++i)
    if (weights[i - 1] % weights[i] != 0) return {};
  return weights;
}

/// The boxes of a set in these digits; false where it is none.
bool append_boxes(std::vector<index_box>& to, const strided_set& s, const std::vector<std::int64_t>& weights) {
  std::vector<index_box> boxes = {{}};
  std::int64_t left = s.begin;
  std::size_t d = 0;
  for (std::size_t w = 0; w < weights.size(); ++w) {
    std::int64_t digit = left / weights[w];
    left %= weights[w];
    std::int64_t count = 1;
    if (d < s.dims.size() && s.dims[d].second == weights[w]) count = s.dims[d++].first;
    const std::int64_t radix = w == 0 ? INT64_MAX : weights[w - 1] / weights[w];
    if (digit + count > radix) return false;
    for (index_box& b : boxes) b.push_back({digit, digit + count});
  }
  to.insert(to.end(), boxes.begin(), boxes.end());
  return d == s.dims.size();
}

/// More numbers are not counted one by one: what is then no set of boxes is not proved.
constexpr std::int64_t most_counted = std::int64_t{1} << 34;

}  // namespace

bool tiles_by_count(std::int64_t n, const std::vector<strided_set>& sets) {
  std::vector<bool> seen(static_cast<std::size_t>(n), false);
  std::int64_t counted = 0;
  for (const strided_set& s : sets) {
    std::vector<std::int64_t> index(s.dims.size(), 0);
    for (std::int64_t at = s.begin;;) {
      if (at < 0 || at >= n || seen[static_cast<std::size_t>(at)]) return false;
      seen[static_cast<std::size_t>(at)] = true;
      ++counted;
      std::size_t d = s.dims.size();
      while (d-- > 0) {
        at += s.dims[d].second;
        if (++index[d] < s.dims[d].first) break;
        at -= s.dims[d].second * s.dims[d].first;
        index[d] = 0;
      }
      if (d == static_cast<std::size_t>(-1)) break;
    }
  }
  return counted == n;
}

bool tiles(std::int64_t n, std::vector<strided_set> sets) {
  std::int64_t volume = 0;
  for (strided_set& s : sets) {
    normalise(s);
    std::int64_t count = 1, last = s.begin;
    for (const auto& [extent, stride] : s.dims) {
      count *= extent;
      last += (extent - 1) * stride;
    }
    if (s.begin < 0 || last >= n) return false;
    volume += count;
  }
  if (volume != n) return false;
  const auto weights = common_radix(sets);
  std::vector<index_box> boxes;
  bool are_boxes = weights.has_value();
  for (std::size_t i = 0; are_boxes && i < sets.size(); ++i) are_boxes = append_boxes(boxes, sets[i], *weights);
  if (are_boxes) return !overlap_in(boxes);
  return n <= most_counted && tiles_by_count(n, sets);
}

}  // namespace hp_tool::reshard
