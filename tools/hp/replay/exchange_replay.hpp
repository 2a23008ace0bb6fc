// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes a redistribution plan element by element on every rank of a simulated world.
//
// Each rank starts with the flat numbers of its source slice in a buffer of its own; every box of every receiver is
// copied out of the sender's buffer; at the end each rank must hold the numbers of its target slice, every place
// written once. Elements that came from another rank are counted per receiver and per sender, and the count of every
// receiver is held against |T_r ∖ S_r|.

#include <hyperparallel/redistribution.hpp>

#include <string>
#include <vector>

namespace replay {

namespace hp = hyperparallel;

struct exchange_report {
  std::string trouble{};          ///< empty: right on every rank, and at the bound on every rank
  hp::extent_t received_max = 0;  ///< elements
  hp::extent_t received_sum = 0;
  hp::extent_t sent_max = 0;      ///< by any rank
  hp::extent_t messages_max = 0;  ///< boxes that one receiver pulled from others
};

namespace detail {

/// Calls `visit(flat index in the tensor, index in the row-major buffer of `frame`)` for the elements of `b`.
template <class Visit>
void for_each_element(const hp::box& b, const hp::box& frame, const hp::shape& s, Visit visit) {
  if (hp::volume(b) == 0) return;
  hp::extent_t at[hp::max_dims] = {};
  for (int d = 0; d < b.rank; ++d) at[d] = b.dim[d].begin;
  for (;;) {
    hp::extent_t flat = 0, local = 0;
    for (int d = 0; d < b.rank; ++d) {
      flat = flat * s.extent[d] + at[d];
      local = local * (frame.dim[d].end - frame.dim[d].begin) + at[d] - frame.dim[d].begin;
    }
    visit(flat, local);
    int d = b.rank - 1;
    while (d >= 0 && ++at[d] == b.dim[d].end) {
      at[d] = b.dim[d].begin;
      --d;
    }
    if (d < 0) return;
  }
}

inline bool inside(const hp::box& inner, const hp::box& outer) {
  return hp::volume(inner) == 0 || hp::intersection(inner, outer) == inner;
}

}  // namespace detail

/// Worlds of more elements, over all ranks and both sides, are checked box by box instead: boxes lie in the sender's
/// slice and in the receiver's, do not overlap, and fill the receiver's.
inline constexpr hp::extent_t element_limit = hp::extent_t{1} << 26;

/// The boxes of one receiver where elements would be too many: an empty text if they tile `wanted`.
inline std::string check_tiling(const std::vector<hp::box>& boxes, const hp::box& wanted) {
  hp::extent_t filled = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    filled += hp::volume(boxes[i]);
    for (std::size_t j = 0; j < i; ++j)
      if (hp::volume(hp::intersection(boxes[i], boxes[j])) > 0) return " writes an element twice";
  }
  return filled == hp::volume(wanted) ? "" : " does not end with its target slice";
}

/// Runs `p`, which plans `source` → `target` for `s`. Domain: p.status is ok.
inline exchange_report replay_exchange(const hp::layout_value& source, const hp::layout_value& target,
                                       const hp::shape& s, const hp::redistribution_plan& p) {
  using detail::for_each_element;
  exchange_report report;
  const int positions = hp::position_count(source.mesh);
  const bool by_elements = (p.source_elements + p.target_elements) * positions <= element_limit;
  std::vector<hp::box> held;
  std::vector<std::vector<hp::extent_t>> buffer;
  for (int r = 0; r < positions; ++r) {
    held.push_back(hp::slice_at(source, s, hp::coordinates_of(source.mesh, r)));
    if (!by_elements) continue;
    buffer.emplace_back(static_cast<std::size_t>(hp::volume(held.back())));
    for_each_element(held.back(), held.back(), s, [&](hp::extent_t flat, hp::extent_t local) {
      buffer.back()[static_cast<std::size_t>(local)] = flat;
    });
  }
  const auto complain = [&report](const std::string& text) {
    if (report.trouble.empty()) report.trouble = text;
  };
  std::vector<hp::extent_t> sent(static_cast<std::size_t>(positions));
  for (int r = 0; r < positions; ++r) {
    const std::string who = "rank position " + std::to_string(r);
    const hp::coordinate c = hp::coordinates_of(source.mesh, r);
    const hp::box wanted = hp::slice_at(target, s, c);
    std::vector<hp::extent_t> result(by_elements ? static_cast<std::size_t>(hp::volume(wanted)) : 0, -1);
    std::vector<hp::box> boxes;
    const hp::receiver receiver = hp::receiver_at(source, target, s, p.replicas, c);
    hp::extent_t received = 0, messages = 0;
    for (hp::extent_t k = 0; k < receiver.boxes; ++k) {
      const hp::exchange_box b = hp::box_at(source, receiver, k);
      const auto sender = static_cast<std::size_t>(b.sender);
      if (b.sender < 0 || b.sender >= positions || !detail::inside(b.global, held[sender]) ||
          !detail::inside(b.global, wanted)) {
        complain(who + ": box " + std::to_string(k) + " is not its sender's to give or its own to take");
        continue;
      }
      boxes.push_back(b.global);
      if (by_elements) {
        std::vector<hp::extent_t> packed;
        packed.reserve(static_cast<std::size_t>(hp::volume(b.global)));
        for_each_element(b.global, held[sender], s, [&](hp::extent_t, hp::extent_t local) {
          packed.push_back(buffer[sender][static_cast<std::size_t>(local)]);
        });
        std::size_t next = 0;
        for_each_element(b.global, wanted, s, [&](hp::extent_t, hp::extent_t local) {
          hp::extent_t& place = result[static_cast<std::size_t>(local)];
          if (place != -1) complain(who + " writes an element twice");
          place = packed[next++];
        });
      }
      if (b.sender == r) continue;
      received += hp::volume(b.global);
      sent[sender] += hp::volume(b.global);
      ++messages;
    }
    if (by_elements) {
      for_each_element(wanted, wanted, s, [&](hp::extent_t flat, hp::extent_t local) {
        if (result[static_cast<std::size_t>(local)] != flat) complain(who + " does not end with its target slice");
      });
    } else if (const std::string trouble = check_tiling(boxes, wanted); !trouble.empty()) {
      complain(who + trouble);
    }
    if (received != hp::least_received(source, target, s, c))
      complain(who + " receives " + std::to_string(received) + " elements, the bound is " +
               std::to_string(hp::least_received(source, target, s, c)));
    if (received != hp::received_by(source, target, s, p.replicas, r)) complain(who + ": received_by says otherwise");
    report.received_sum += received;
    report.received_max = hp::larger(report.received_max, received);
    report.messages_max = hp::larger(report.messages_max, messages);
  }
  for (const hp::extent_t n : sent) report.sent_max = hp::larger(report.sent_max, n);
  if (p.received_maximum != report.received_max) complain("the plan's received_maximum is not the maximum over ranks");
  if (p.lower_bound != report.received_max) complain("the plan's lower bound is not met by its heaviest receiver");
  if (p.messages != report.messages_max) complain("the plan's message count is not that of its busiest receiver");
  if ((p.steps == 0) != (report.received_max == 0)) complain("the plan's number of steps does not fit what it moves");
  return report;
}

}  // namespace replay
