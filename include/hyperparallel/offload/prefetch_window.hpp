// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prefetching through a window: tensors that live in a slow tier take turns in a few equal buffers of the fast one.
//
// The input is one use-definition chain per tensor, reduced to its first and last use in the plan's reference order.
// The buffer of a tensor is the one whose last tenant is done first, so every prefetch may start as early as any plan
// with that many buffers allows. Law: two tensors share a buffer only if one's last use precedes the other's first use;
// a prefetch comes after the last use of the buffer's previous tenant. Fails when more tensors are in use at once than
// there are buffers.

#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Positions in reference order; first ≤ last.
struct use_range {
  int first = 0;
  int last = 0;
};

/// Where one tensor goes. `previous` is the tensor whose last use frees the buffer, -1 for a fresh one.
struct window_place {
  int buffer = -1;
  int previous = -1;
};

enum class window_code : unsigned char { ok, no_buffer, uses_are_not_in_order, more_tensors_in_use_than_buffers };

struct window_status {
  window_code code = window_code::ok;
  int tensor = 0;  ///< the one that finds no place
};

inline constexpr int max_window_buffers = 64;

constexpr const char* to_text(window_code c) {
  constexpr const char* texts[] = {"ok", "the window has no buffer, or more than the planner takes",
                                   "the tensors are not listed by first use",
                                   "more tensors are in use at once than there are buffers"};
  return enum_text<window_code::more_tensors_in_use_than_buffers>(texts, c);
}

/// Places `count` tensors, listed by first use, in `buffers` equal buffers. O(count · buffers).
/// Source: interval partitioning by earliest release (Kleinberg, Tardos, Algorithm Design, section 4.1).
constexpr window_status plan_window(const use_range* uses, int count, int buffers, window_place* place) {
  if (buffers < 1 || buffers > max_window_buffers) return {window_code::no_buffer, buffers};
  int tenant[max_window_buffers] = {};
  for (int b = 0; b < buffers; ++b) tenant[b] = -1;
  for (int t = 0; t < count; ++t) {
    if (uses[t].last < uses[t].first || (t > 0 && uses[t].first < uses[t - 1].first))
      return {window_code::uses_are_not_in_order, t};
    int best = 0;
    for (int b = 1; b < buffers && tenant[best] >= 0; ++b)
      if (tenant[b] < 0 || uses[tenant[b]].last < uses[tenant[best]].last) best = b;
    if (tenant[best] >= 0 && uses[tenant[best]].last >= uses[t].first)
      return {window_code::more_tensors_in_use_than_buffers, t};
    place[t] = {best, tenant[best]};
    tenant[best] = t;
  }
  return {};
}

}}  // namespace hyperparallel::v0_2
