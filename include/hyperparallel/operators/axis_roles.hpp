// SPDX-License-Identifier: Apache-2.0
#pragma once
// The roles that mesh axes may play in one operator: what `resolve` chooses from.
//
// Axes come in pieces: where tensors cut an axis at different places, a piece is the part between two neighbouring cut
// points, so that every tensor sees a piece whole or not at all. Law: the product of an axis' pieces is its size.

#include <hyperparallel/operators/propagate.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline constexpr int max_pieces = 12;
inline constexpr int max_roles = max_factors + max_operands + 2;
inline constexpr int most_assignments = 20'000;  ///< with more, axes keep to the roles that tensors give them

/// A part [pre, pre · size) of an axis that all layouts see as one, and the roles that it may play.
struct axis_piece {
  int axis = 0, pre = 1, size = 1;
  bool whole = true;
  bool used = false;                    ///< by some tensor
  reduce_op waiting = reduce_op::none;  ///< of the first operand that is partial along it
  int role_count = 0;
  int role[max_roles] = {};  ///< a factor, or one of the following
};
/// No role; all operands that are partial along the axis stay so; operand o alone does (−3 − o).
inline constexpr int is_unused = -1, stays_partial = -2;
constexpr int stays_partial_in(int operand) { return stays_partial - 1 - operand; }

struct role_table {
  bool fits = true;
  int count = 0;
  axis_piece piece[max_pieces] = {};
};

constexpr bool is_shardable(factor_kind k) { return k == factor_kind::pass_through || k == factor_kind::reduction; }

constexpr void add_role(axis_piece& p, int role) {
  for (int i = 0; i < p.role_count; ++i)
    if (p.role[i] == role) return;
  if (p.role_count < max_roles) p.role[p.role_count++] = role;
}

/// The pieces of `axis` between all ends of the cuts of `l[0..count)` on it.
constexpr void add_pieces(const layout_value* l, int count, int axis, role_table& t) {
  const int n = l[0].mesh.size[axis];
  for (int pre = 1; pre < n;) {
    int next = n;
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < l[k].cut_count; ++i) {
        const cut& x = l[k].cut[i];
        if (x.axis != axis) continue;
        if (x.pre > pre && x.pre < next) next = x.pre;
        if (x.pre * x.size > pre && x.pre * x.size < next) next = x.pre * x.size;
      }
    if (t.count == max_pieces || next % pre != 0) {
      t.fits = false;
      return;
    }
    t.piece[t.count++] = {axis, pre, next / pre, next == n && pre == 1, false, reduce_op::none, 0, {}};
    pre = next;
  }
}

/// Whether the ends of all cuts of two layouts on each axis divide one another, so that pieces between them are parts of
/// the axis. O(cuts²).
constexpr bool parts_nest(const layout_value& a, const layout_value& b) {
  const auto divide = [](int m, int n) { return m % n == 0 || n % m == 0; };
  for (int i = 0; i < a.cut_count; ++i)
    for (int k = 0; k < b.cut_count; ++k) {
      const cut &x = a.cut[i], &y = b.cut[k];
      if (x.axis != y.axis) continue;
      const int ends[] = {y.pre, y.pre * y.size};
      for (const int end : ends)
        if (!divide(x.pre, end) || !divide(x.pre * x.size, end)) return false;
    }
  return true;
}

/// Keeps the layouts whose parts of axes nest with those kept before them, `lead` first; the others lose their cuts: they
/// offer no roles, and are moved to what the kept ones say. Whether all are kept. O(count² · cuts²).
constexpr bool keep_nesting(layout_value* l, int count, int lead) {
  bool all = true;
  for (int j = 1; j < count; ++j) {
    layout_value& one = l[(lead + j) % count];
    bool nests = true;
    for (int i = 0; i < j; ++i) nests = nests && parts_nest(one, l[(lead + i) % count]);
    if (nests) continue;
    const mesh_shape mesh = one.mesh;
    one = {};
    one.mesh = mesh;
    all = false;
  }
  return all;
}

/// Whether cut `x` covers piece `p`.
constexpr bool covers(const cut& x, const axis_piece& p) {
  return x.axis == p.axis && p.pre % x.pre == 0 && (x.pre * x.size) % (p.pre * p.size) == 0;
}

/// Roles in the order in which tensors give them, `is_unused` last.
constexpr void collect_roles(const factor_rule& rule, const layout_value* l, const tensor_factors* const* tensor,
                             int count, role_table& t) {
  const int axes = l[0].mesh.axis_count;
  for (int a = 0; a < axes; ++a) add_pieces(l, count, a, t);
  for (int i = 0; i < t.count; ++i) {
    axis_piece& p = t.piece[i];
    for (int k = 0; k < count; ++k) {
      for (int c = 0; c < l[k].cut_count; ++c) {
        const cut& x = l[k].cut[c];
        if (!covers(x, p)) continue;
        const int f = tensor[k]->term[x.dim];
        const factor_kind kind = rule.factor[f].kind;
        if (is_shardable(kind)) add_role(p, f);
        p.used = true;
      }
      if (k < rule.operand_count && p.whole && l[k].partial[p.axis] != reduce_op::none) {
        add_role(p, stays_partial);
        add_role(p, stays_partial_in(k));
        if (p.waiting == reduce_op::none) p.waiting = l[k].partial[p.axis];
        p.used = true;
      }
    }
    add_role(p, is_unused);
  }
}

/// An axis in use may be better on a factor that no tensor gave it: all-to-all instead of all-gather, reduce-scatter
/// instead of all-reduce. An axis that no tensor uses stays unused.
constexpr void add_every_factor(const factor_rule& rule, role_table& t) {
  for (int i = 0; i < t.count; ++i)
    for (int f = 0; t.piece[i].used && f < rule.factor_count; ++f)
      if (is_shardable(rule.factor[f].kind)) add_role(t.piece[i], f);
}

constexpr int assignments_of(const role_table& t) {
  int n = 1;
  for (int i = 0; i < t.count && n <= most_assignments; ++i) n *= t.piece[i].role_count;
  return n;
}

/// For each factor the pieces in the order in which they shard it: as tensors list them, the leading tensor first, so
/// that (dp, tp) is not turned into (tp, dp); the others behind, by axis.
struct piece_orders {
  int of[max_factors][max_pieces] = {};
};

constexpr piece_orders order_pieces(const layout_value* l, const tensor_factors* const* tensor, int count, int lead,
                                    int factors, const role_table& t) {
  piece_orders order;
  for (int f = 0; f < factors; ++f) {
    unsigned taken = 0;
    int n = 0;
    for (int j = 0, k = lead; j < count; ++j, k = (lead + j) % count)
      for (int c = 0; c < l[k].cut_count; ++c)
        for (int i = 0; i < t.count; ++i) {
          if (tensor[k]->term[l[k].cut[c].dim] != f || (taken >> i & 1u) != 0 || !covers(l[k].cut[c], t.piece[i]))
            continue;
          taken |= 1u << i;
          order.of[f][n++] = i;
        }
    for (int i = 0; i < t.count; ++i)
      if ((taken >> i & 1u) == 0) order.of[f][n++] = i;
  }
  return order;
}

/// Whether operand `o`, which piece `p` shards, takes part in a sum of terms along it by a fill: its shard is a term
/// when the identity stands beside it, so nothing moves, where being whole would take a gather.
constexpr bool fills_from_shard(const factor_rule& rule, int o, const axis_piece& p, const layout_value& own) {
  if (p.waiting == reduce_op::none || is_idempotent(p.waiting) || own.partial[p.axis] != reduce_op::none) return false;
  bool shards = false;
  for (int c = 0; c < own.cut_count; ++c) shards = shards || own.cut[c].axis == p.axis;
  return shards && word_of(rule.partials, o, p.waiting).mode == partial_mode::together;
}

/// The layout over terms of operand `o`, now placed as `own`, under an assignment.
constexpr layout_value assigned_layout(const factor_rule& rule, int o, const role_table& t, const int* role,
                                       const piece_orders& order, const layout_value& own) {
  const tensor_factors& tensor = rule.operand[o];
  layout_value l;
  l.mesh = own.mesh;
  l.rank = tensor.first[tensor.rank];
  for (int term = 0; term < l.rank; ++term) {
    const int f = tensor.term[term];
    for (int i = 0; i < t.count; ++i) {
      const int p = order.of[f][i];
      if (role[p] == f && l.cut_count < max_cuts)
        append_cut(l, {term, t.piece[p].axis, t.piece[p].pre, t.piece[p].size});
    }
  }
  for (int i = 0; i < t.count; ++i) {
    const axis_piece& p = t.piece[i];
    if (role[i] == stays_partial || role[i] == stays_partial_in(o)) l.partial[p.axis] = own.partial[p.axis];
    if (role[i] == stays_partial && fills_from_shard(rule, o, p, own)) l.partial[p.axis] = p.waiting;
  }
  return l;
}

}}}  // namespace hyperparallel::v0_2::detail
