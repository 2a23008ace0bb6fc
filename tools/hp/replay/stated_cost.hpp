// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the plan that a vector states receives, counted by us: from the layouts that it goes through, or from its
// operators. Counts are elements.

#include <map>
#include <string>
#include <vector>

#include "side_reading.hpp"

namespace replay {

struct stated_cost {
  bool known = false;
  bool at_least = false;  ///< the plan ends with a move that is not stated: it counts with the least
  hp::extent_t maximum = 0, total = 0;
  hp::extent_t peak = 0;   ///< elements of the largest block on the way
  std::string trouble{};   ///< why the plan cannot be what it is said to be
  hp::extent_t steps = 0;  ///< in which something is received
};

/// What a rank holds of `s`: nothing where it is not in the side's mesh.
inline hp::box box_of_rank(const read_side& side, const hp::shape& s, int rank) {
  const int position = hp::position_in(side.mesh.ranks(), rank);
  if (position < 0) return hp::box(hp::interval{0, 0});
  return hp::slice_at(side.layout, s, hp::coordinates_of(side.layout.mesh, position));
}

/// |T ∖ S| of one rank. Both boxes are whole boxes of the tensor, or empty.
inline hp::extent_t missing(const hp::box& held, const hp::box& wanted) {
  if (held.rank != wanted.rank || hp::volume(held) == 0) return hp::volume(wanted);
  return hp::volume(wanted) - hp::volume(hp::intersection(wanted, held));
}

/// Elements that each rank needs and does not hold, state by state: what any plan through these states receives.
inline stated_cost cost_of_states(const std::vector<read_side>& states, const hp::shape& s) {
  stated_cost c;
  c.known = true;
  std::map<int, hp::extent_t> received;
  for (std::size_t i = 0; i < states.size(); ++i) {
    bool any = false;
    for (const int rank : states[i].mesh.rank) {
      const hp::box wanted = box_of_rank(states[i], s, rank);
      c.peak = hp::larger(c.peak, hp::volume(wanted));
      if (i == 0) continue;
      const hp::extent_t n = missing(box_of_rank(states[i - 1], s, rank), wanted);
      received[rank] += n;
      any = any || n > 0;
    }
    c.steps += any ? 1 : 0;
  }
  for (const auto& [rank, n] : received) {
    c.total += n;
    c.maximum = hp::larger(c.maximum, n);
  }
  return c;
}

inline bool same_boxes(const read_side& a, const read_side& b, const hp::shape& s) {
  if (a.mesh.rank.size() != b.mesh.rank.size()) return false;
  for (const int rank : a.mesh.rank)
    if (!(box_of_rank(a, s, rank) == box_of_rank(b, s, rank))) return false;
  return true;
}

/// The size of a group over axes that an operator names.
inline hp::extent_t group_of(const json& op, const hp::mesh_value& m) {
  if (!op.contains("axes")) {
    const int ranks = int_of(member(op, "n"));
    if (ranks < 1 || ranks > most_ranks)
      throw malformed_vector("key 'n' has " + std::to_string(ranks) + " ranks of a group");
    return ranks;
  }
  hp::extent_t n = 1;
  for (const json& name : op["axes"]) {
    const int a = hp::axis_index(m, name.get<std::string>().c_str());
    if (a < 0) throw malformed_vector("an operator names an unknown axis");
    n *= m.shape.size[a];
  }
  if (op.contains("n") && whole_number_of(op["n"]) != n) throw malformed_vector("an operator's n is not its group's");
  return n;
}

/// The cost of named operators that start with blocks of `local`: what bandwidth-optimal collectives receive. `local`
/// becomes the shape of the blocks that they end with. A plan of operators is even, so every rank receives the same.
inline stated_cost cost_of_operators(const json& operators, const hp::mesh_value& m, hp::shape& local) {
  stated_cost c;
  c.known = true;
  for (const json& op : operators) {
    const std::string name = member(op, "op").get<std::string>();
    const hp::extent_t n = group_of(op, m), held = hp::element_count(local).value;
    const auto extent = [&](const char* which) -> hp::extent_t& {
      const int d = int_of(member(op, which));
      if (d < 0 || d >= local.rank) throw malformed_vector("an operator names a dim outside the shape");
      return local.extent[d];
    };
    const auto split = [&](hp::extent_t& e) {
      if (e % n != 0) c.trouble = "an expected operator splits a dim that does not divide";
      e /= n;
    };
    hp::extent_t received = 0;
    if (name == "all_split") {
      split(extent("dim"));
    } else if (name == "all_concat") {
      received = (n - 1) * held;
      extent("dim") *= n;
    } else if (name == "all_to_all") {
      received = held / n * (n - 1);
      split(extent("split_dim"));
      extent("concat_dim") *= n;
    } else if (name == "reduce_scatter") {
      received = held / n * (n - 1);
      split(extent("dim"));
    } else if (name == "all_reduce") {
      received = 2 * (held / n * (n - 1));
    } else {
      throw malformed_vector("unknown operator '" + name + "'");
    }
    if (hp::element_count(local).value > most_elements)
      throw malformed_vector("key 'expect_ops' leads to too many elements");
    c.maximum += received;
    c.steps += received > 0 ? 1 : 0;
    c.peak = hp::larger(c.peak, hp::larger(held, hp::element_count(local).value));
  }
  c.total = c.maximum * hp::position_count(m.shape);
  return c;
}

/// Ours may receive less than a stated plan, never more.
inline verdict receives_no_more(hp::extent_t total, const stated_cost& theirs) {
  return pass_if(total <= theirs.total, "ours receives " + std::to_string(total) + " elements, the stated plan " +
                                            std::to_string(theirs.total));
}

}  // namespace replay
