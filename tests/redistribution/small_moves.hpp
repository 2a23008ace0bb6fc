// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small worlds of moves with partial states, and the proof that a move in parts is right: each part is executed value
// by value, and the parts' blocks are the flat sets of the tensor's own blocks, each element in exactly one part.

#include <hyperparallel/redistribution/move_parts.hpp>

#include "../support/all_layouts.hpp"
#include "replay/move_replay.hpp"

#include <initializer_list>
#include <string>
#include <vector>

namespace worlds {

/// A layout of whole axes: `{dim, axis}` in order.
struct sharding {
  int dim, axis;
};
inline hp::layout_value cut_by(const hp::mesh_shape& m, int rank, std::initializer_list<sharding> cuts,
                               unsigned partial = 0, hp::reduce_op op = hp::reduce_op::sum) {
  hp::layout_value l = hp::replicated(m, rank);
  for (const sharding& c : cuts) hp::append_cut(l, {c.dim, c.axis, 1, m.size[c.axis]});
  for (int a = 0; a < m.axis_count; ++a)
    if ((partial >> a & 1u) != 0) l.partial[a] = op;
  return l;
}

/// Every layout with every subset of its unused axes partial by `op`.
inline std::vector<hp::layout_value> all_partial_layouts(const hp::mesh_shape& m, int rank, hp::reduce_op op) {
  std::vector<hp::layout_value> found;
  for (const hp::layout_value& l : all_layouts(m, rank)) {
    unsigned unused = hp::detail::all_axes(m) & ~hp::detail::cut_axes(l);
    for (int a = 0; a < m.axis_count; ++a)
      if (m.size[a] == 1) unused &= ~(1u << a);
    for (unsigned mask = 0; mask <= unused; ++mask) {
      if ((mask & ~unused) != 0) continue;
      hp::layout_value with = l;
      for (int a = 0; a < m.axis_count; ++a)
        if ((mask >> a & 1u) != 0) with.partial[a] = op;
      found.push_back(with);
    }
  }
  return found;
}

namespace detail {

/// Marks the flat indices that a position holds of a part: `begin` is where the part starts on its dim of `whole`.
inline void mark(const hp::layout_value& l, const hp::shape& part, const hp::shape& whole, int dim, hp::extent_t begin,
                 int position, std::vector<int>& marks, std::vector<hp::extent_t>& order) {
  hp::box b = hp::slice_at(l, part, hp::coordinates_of(l.mesh, position));
  if (b.rank > 0 && begin > 0) {
    b.dim[dim].begin += begin;
    b.dim[dim].end += begin;
  }
  replay::detail::elements_of(b, b, whole, [&](hp::extent_t flat, hp::extent_t) {
    ++marks[static_cast<std::size_t>(flat)];
    order.push_back(flat);
  });
}

/// Whether two layouts over matrices of the same positions mean the same terms.
inline bool same_terms(const hp::layout_value& a, const hp::layout_value& b) {
  const unsigned of_a = replay::detail::partial_axes(a), of_b = replay::detail::partial_axes(b);
  if ((of_a == 0) != (of_b == 0)) return false;
  if (of_a != 0 && replay::detail::operation_of(a, of_a) != replay::detail::operation_of(b, of_b)) return false;
  if (replay::detail::divisor_of(a, of_a) != replay::detail::divisor_of(b, of_b)) return false;
  const hp::axis_list in_a = hp::detail::axes_of(a.mesh, of_a), in_b = hp::detail::axes_of(b.mesh, of_b);
  for (int p = 0; p < hp::position_count(a.mesh); ++p)
    if (hp::index_in_group(a.mesh, in_a, p) != hp::index_in_group(b.mesh, in_b, p)) return false;
  return true;
}

inline bool same_blocks(const hp::layout_value& l, const hp::shape& s, const hp::move_parts& m, bool target) {
  hp::shape whole = m.part[0].shape;
  if (m.count == 2) whole.extent[m.dim] += m.part[1].shape.extent[m.dim];
  if (hp::element_count(whole).value != hp::element_count(s).value) return false;
  for (int p = 0; p < hp::position_count(l.mesh); ++p) {
    std::vector<int> expected(static_cast<std::size_t>(hp::element_count(s).value)), found = expected;
    std::vector<hp::extent_t> order, part_order;
    mark(l, s, s, 0, 0, p, expected, order);
    for (int i = 0; i < m.count; ++i) {
      const hp::move_plan& plan = m.part[i];
      const hp::layout_value& seen = target ? plan.step[plan.step_count - 1].target : plan.step[0].source;
      if (hp::position_count(seen.mesh) != hp::position_count(l.mesh) || !same_terms(l, seen)) return false;
      mark(seen, plan.shape, whole, m.dim, i == 0 ? 0 : m.split, p, found, part_order);
    }
    if (expected != found || (m.count == 1 && order != part_order)) return false;
  }
  return true;
}

}  // namespace detail

/// What is wrong with a move in parts of `source` → `target`; empty if nothing is. `received` gets what all ranks take.
inline std::string trouble_of(const hp::layout_value& source, const hp::layout_value& target, const hp::shape& s,
                              const hp::move_parts& m, hp::extent_t* received = nullptr) {
  hp::extent_t total = 0;
  if (m.count == 0) return "there is no plan";
  if (hp::step_count(m) > 0) {
    if (!detail::same_blocks(source, s, m, false)) return "the source's blocks are not those of the parts";
    if (!detail::same_blocks(target, s, m, true)) return "the target's blocks are not those of the parts";
  }
  for (int i = 0; i < m.count; ++i) {
    const hp::move_plan& p = m.part[i];
    if (p.step_count == 0) continue;
    for (int k = 1; k < p.step_count; ++k)
      if (!(p.step[k].source == p.step[k - 1].target) && p.step[k].kind != hp::step_kind::spread)
        return "a step does not start where the one before it ends";
    const replay::move_report report = replay::replay_move(p.step[0].source, p.step[p.step_count - 1].target, p);
    if (!report.trouble.empty()) return report.trouble;
    total += report.received_total;
  }
  if (received != nullptr) *received = total;
  return {};
}

/// Figures with scratch of their own.
inline hp::move_figures figures(const hp::move_parts& m, const hp::interconnect& net, hp::extent_t element_bytes,
                                int positions) {
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, positions)));
  return hp::figures_of(m, net, element_bytes, entries.data());
}

inline hp::link_level link(std::int64_t bandwidth, std::int64_t latency = 0, int group = hp::unbounded_group) {
  return {"link", group, bandwidth, latency};
}

/// Levels innermost first.
/// Messages of a byte reach half of it, those of eight 0.9.
inline hp::link_level with_shares(hp::link_level l) {
  l.by_size[0] = {1, hp::per_mille(500)};
  l.by_size[1] = {8, hp::per_mille(900)};
  return l;
}

inline hp::topology_value levels(std::initializer_list<hp::link_level> list) {
  hp::topology_value t;
  for (const hp::link_level& l : list) t.level[t.level_count++] = l;
  return t;
}

/// All links of a full mesh over the matrix with bandwidths and latencies that differ from axis to axis.
inline hp::interconnect full_mesh(const hp::mesh_shape& m, std::int64_t bandwidth = 1000, std::int64_t latency = 7) {
  hp::link_level along[hp::max_axes] = {};
  for (int a = 0; a < m.axis_count; ++a) along[a] = link(bandwidth * (a + 1), latency * (a + 2));
  return hp::on_full_mesh(m, along);
}

}  // namespace worlds
