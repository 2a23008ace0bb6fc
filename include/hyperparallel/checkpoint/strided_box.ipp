// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of strided_box.hpp; see support/compiled.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <hyperparallel/checkpoint/strided_box.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

HYPERPARALLEL_JSON_BODY placed_box placed_box::part(const index_box& inner) const {
  placed_box p{inner, offset, stride};
  for (std::size_t d = 0; d < box.size(); ++d) p.offset += (inner[d].begin - box[d].begin) * stride[d];
  return p;
}

HYPERPARALLEL_JSON_BODY std::optional<std::vector<std::int64_t>> refined(const std::vector<std::int64_t>& a,
                                                                         const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> inner = {1};
  for (const std::vector<std::int64_t>* factors : {&a, &b}) {
    std::int64_t product = 1;
    for (std::size_t i = factors->size(); i-- > 0;) inner.push_back(product *= (*factors)[i]);
  }
  std::sort(inner.begin(), inner.end());
  inner.erase(std::unique(inner.begin(), inner.end()), inner.end());
  std::vector<std::int64_t> out;
  for (std::size_t i = inner.size(); i-- > 1;) {
    if (inner[i] % inner[i - 1] != 0) return {};
    out.push_back(inner[i] / inner[i - 1]);
  }
  if (out.empty()) out.push_back(1);
  return out;
}

namespace detail {

HYPERPARALLEL_JSON_BODY index_box whole_box(const std::vector<std::int64_t>& extents) {
  index_box b;
  for (const std::int64_t e : extents) b.push_back({0, e});
  return b;
}

HYPERPARALLEL_JSON_BODY std::vector<std::int64_t> extents_of_box(const index_box& b) {
  std::vector<std::int64_t> e;
  for (const index_range& r : b) e.push_back(r.extent());
  return e;
}

HYPERPARALLEL_JSON_BODY std::int64_t volume_of(const index_box& b) {
  std::int64_t n = 1;
  for (const index_range& r : b) n *= r.extent();
  return n;
}

HYPERPARALLEL_JSON_BODY std::optional<index_box> intersection_of(const index_box& a, const index_box& b) {
  index_box both(a.size());
  for (std::size_t d = 0; d < a.size(); ++d) {
    both[d] = {std::max(a[d].begin, b[d].begin), std::min(a[d].end, b[d].end)};
    if (both[d].begin >= both[d].end) return {};
  }
  return both;
}

HYPERPARALLEL_JSON_BODY void append_difference(std::vector<index_box>& to, index_box from, const index_box& taken) {
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d].begin < taken[d].begin) {
      to.push_back(from);
      to.back()[d].end = taken[d].begin;
    }
    if (taken[d].end < from[d].end) {
      to.push_back(from);
      to.back()[d].begin = taken[d].end;
    }
    from[d] = taken[d];
  }
}

/// Splits dim `d` of each box, of extent outer · inner, into two of these.
HYPERPARALLEL_JSON_BODY void split_dim(std::vector<placed_box>& all, std::size_t d, std::int64_t inner) {
  std::vector<placed_box> out;
  for (const placed_box& p : all) {
    const auto add = [&](std::int64_t first, std::int64_t end, std::int64_t from, std::int64_t to) {
      if (first >= end || from >= to) return;
      placed_box q = p;
      q.box[d] = {first, end};
      q.box.insert(q.box.begin() + static_cast<std::ptrdiff_t>(d) + 1, {from, to});
      q.offset += (first * inner + from - p.box[d].begin) * p.stride[d];
      q.stride[d] = p.stride[d] * inner;
      q.stride.insert(q.stride.begin() + static_cast<std::ptrdiff_t>(d) + 1, p.stride[d]);
      out.push_back(std::move(q));
    };
    const index_range r = p.box[d];
    if (r.begin / inner == (r.end - 1) / inner) {
      add(r.begin / inner, r.begin / inner + 1, r.begin % inner, (r.end - 1) % inner + 1);
      continue;
    }
    std::int64_t first = r.begin / inner, end = r.end / inner;
    if (r.begin % inner != 0) add(first, first + 1, r.begin % inner, inner), ++first;
    add(first, end, 0, inner);
    if (r.end % inner != 0) add(end, end + 1, 0, r.end % inner);
  }
  all = std::move(out);
}

HYPERPARALLEL_JSON_BODY std::vector<placed_box> refine_box(const placed_box& p, const factored_dims& from,
                                                           const factored_dims& to) {
  std::vector<placed_box> all = {p};
  std::size_t at = 0;  // place of the factor in the boxes
  for (std::size_t d = 0; d < from.size(); ++d) {
    std::size_t t = 0;
    for (const std::int64_t factor : from[d]) {
      std::int64_t left = factor;
      while (left > 1 && t < to[d].size()) {
        if (to[d][t] < left) {
          left /= to[d][t];
          detail::split_dim(all, at++, left);
        } else {
          left = 1;
          ++at;
        }
        ++t;
      }
      if (factor == 1) {  // of extent 1: it has no factor in the refinement, but for one that is left
        for (placed_box& q : all) {
          q.box.erase(q.box.begin() + static_cast<std::ptrdiff_t>(at));
          q.stride.erase(q.stride.begin() + static_cast<std::ptrdiff_t>(at));
        }
      }
    }
    for (; t < to[d].size(); ++t, ++at)
      for (placed_box& q : all) {
        q.box.insert(q.box.begin() + static_cast<std::ptrdiff_t>(at), {0, 1});
        q.stride.insert(q.stride.begin() + static_cast<std::ptrdiff_t>(at), 0);
      }
  }
  return all;
}

HYPERPARALLEL_JSON_BODY std::optional<std::pair<std::size_t, std::size_t>> overlap_in(
    const std::vector<index_box>& boxes) {
  if (boxes.size() < 2) return {};
  const std::size_t dims = boxes[0].size();
  if (dims == 0) return std::pair<std::size_t, std::size_t>(0, 1);
  std::size_t cut = 0;
  const auto cuts = [&](const index_box& b) {
    return b[cut].begin != boxes[0][cut].begin || b[cut].end != boxes[0][cut].end;
  };
  while (cut + 1 < dims && std::none_of(boxes.begin(), boxes.end(), cuts)) ++cut;
  std::vector<std::size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return boxes[a][cut].begin < boxes[b][cut].begin; });
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t k = i + 1; k < order.size() && boxes[order[k]][cut].begin < boxes[order[i]][cut].end; ++k)
      if (intersection_of(boxes[order[i]], boxes[order[k]])) return std::pair(order[i], order[k]);
  return {};
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::reshard
