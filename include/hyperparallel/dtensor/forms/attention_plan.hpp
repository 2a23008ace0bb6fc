// SPDX-License-Identifier: Apache-2.0
#pragma once
// How attention meets keys and values whose sequence is sharded: three ways, and their choice by bytes moved.
//
// With n devices along the sharded sequence of the keys, K and V a device's blocks of keys and values, the busiest
// device receives, beside what brings the operands in place,
//   ring        (n − 1) · (K + V) elements: blocks travel around the group; under a mask a device takes only blocks
//               that it or a later one on the block's way sees, and computes only with those that it sees itself
//   merge       all_reduce_price(n, queries) · (value dim + 1) of the computing type: each device attends to its own
//               block, then results meet with their log Σ exp; where queries are whole along the group (decoding)
//   all_to_all  the moves to heads instead of sequence and back: (q + k + v + out) · (n − 1) / n of a device's blocks
//               where no head of the keys is needed twice; where heads divide
// Heads of the keys may be fewer than the queries'. Laws: all ways have one result layout, which is that of the rule on
// keys and values with a whole sequence; the cheapest is taken, the earlier in this list among equals.
// Sources: Liu et al., arXiv:2310.01889 (ring); Jacobs et al., arXiv:2309.14509 (all-to-all); Dao et al., 2023,
// Flash-Decoding (merge).

#include <hyperparallel/dtensor/forms/collectives.hpp>
#include <hyperparallel/kernels/attention.hpp>
#include <hyperparallel/operators/rules/attention.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

enum class attention_way : unsigned char { ring, merge, all_to_all, cheapest };

namespace detail {

/// Bit of the sequence in batch × heads × sequence × dim.
inline constexpr unsigned sequence_dim = 1u << 2;

/// Keys as the rule sees them, and values: partial along no axis that shards the keys' sequence.
constexpr layout_value strict_keys(const layout_value& k) { return without_dims(k, sequence_dim); }
constexpr layout_value strict_values(const layout_value& k, const layout_value& v) {
  layout_value r = without_dims(v, sequence_dim);
  for (int a = 0; a < r.mesh.axis_count; ++a)
    if ((axes_of(k, sequence_dim) >> a & 1u) != 0) r.partial[a] = reduce_op::none;
  return r;
}

/// Whether some query of [queries) sees some key of [keys), both as places in the whole sequence.
constexpr bool sees(const kernels::attention_options& o, const interval& queries, const interval& keys) {
  interval seen = keys;
  if (o.window > 0)
    seen = {larger(keys.begin, queries.begin - o.window + 1), smaller(keys.end, queries.end - 1 + o.window)};
  if (o.causal) seen.end = smaller(seen.end, queries.end);
  return queries.begin < queries.end && seen.begin < seen.end;
}

/// Blocks that go around the groups along the keys' sequence: at step t the device of piece i has block i − t.
struct ring_route {
  layout_value q{}, k{};
  shape queries{}, keys{};
  kernels::attention_options options{};
  piece_group group{};

  constexpr interval query_places(int position) const {
    return slice_at(q, queries, coordinates_of(q.mesh, position)).dim[2];
  }
  constexpr int block_at(int position, int step) const {
    return (piece_of(group, position) + group.size - step) % group.size;
  }
  constexpr interval block_places(int position, int block) const {
    return slice_at(k, keys, coordinates_of(k.mesh, member_of(group, position, block))).dim[2];
  }
  constexpr bool sees_at(int position, int step) const {
    return sees(options, query_places(position), block_places(position, block_at(position, step)));
  }
  /// Whether a block comes to the position at this step: it, or a later device on the block's way, sees it.
  constexpr bool takes_at(int position, int step) const {
    const int piece = piece_of(group, position);
    for (int later = step; later < group.size; ++later)
      if (sees_at(member_of(group, position, (piece + later - step) % group.size), later)) return true;
    return false;
  }
  /// Tokens of the blocks that come to the position. O(n²) looks at blocks.
  constexpr extent_t taken(int position) const {
    extent_t n = 0;
    for (int step = 1; step < group.size; ++step) {
      const interval b = block_places(position, block_at(position, step));
      if (takes_at(position, step)) n += b.end - b.begin;
    }
    return n;
  }
};

}  // namespace detail

struct attention_plan {
  propagation_status status{};
  layout_status layout{};  ///< of an operand in place whose shape does not divide
  attention_way way = attention_way::ring;
  layout_value operand[3] = {};  ///< as they meet the kernel
  layout_value attended{};       ///< what the kernel leaves
  layout_value result{};
  extent_t bytes[3] = {-1, -1, -1};  ///< of each way, on the busiest device; -1 where it is not possible
};

namespace detail {

struct attention_moves {
  const layout_value* from;
  const shape* s;
  extent_t element;

  constexpr extent_t bytes(const layout_value* to) const {
    extent_t n = 0;
    for (int o = 0; o < 3; ++o) n += move_price(from[o], to[o], s[o]);
    return n * element;
  }
};

/// The layout of the same values with the queries of the group's devices spread over heads instead of sequence, and
/// whether it fits.
constexpr bool spread_heads(const factor_rule& rule, const layout_value* placed, const shape* s, layout_value* met,
                            layout_value& attended) {
  const unsigned along = axes_of(placed[1], sequence_dim);
  const layout_value free = without_axes(placed[0], along);
  layout_value cuts = keep_cuts(placed[1], [](const cut& c) { return c.dim == 2; });
  for (int i = 0; i < cuts.cut_count; ++i) cuts.cut[i].dim = 1;
  cuts.padded = 0;
  const layout_value q = with_cuts(free, 1u << 1, cuts);
  constexpr unsigned whole = sequence_dim | 1u << 1;  // heads of keys then follow those of queries
  const layout_value k = without_dims(placed[1], whole), v = without_dims(placed[2], whole);
  const layout_value* const list[] = {&q, &k, &v};
  const full_propagation p = propagate_fully(rule, list, 3);
  if (p.status.code != propagation_code::ok) return false;
  for (int o = 0; o < 3; ++o) {
    met[o] = p.operand[o];
    if (check_shape(met[o], s[o]).code != layout_code::ok) return false;
  }
  attended = p.result[0];
  return true;
}

/// Plans `way`, or the cheapest. `s`: shapes of queries, keys, values and result; `element`: bytes of one. Domain: rule
/// is attention's for these shapes. `bytes[way]` is -1 where the way asked for is not possible.
constexpr attention_plan plan_attention(const factor_rule& rule, const layout_value* operand, const shape* s,
                                        const kernels::attention_options& options, int element, attention_way way) {
  attention_plan r;
  const layout_value k = strict_keys(operand[1]), v = strict_values(operand[1], operand[2]);
  const layout_value* const list[] = {&operand[0], &k, &v};
  const full_propagation p = propagate_fully(rule, list, 3);
  r.status = p.status;
  if (p.status.code != propagation_code::ok) return r;
  r.result = p.result[0];
  // An axis that slices the batch or heads of the keys in place shards their sequence no more.
  const unsigned elsewhere = axes_of(p.operand[1], ~0u) | axes_of(p.operand[2], ~0u);
  const layout_value cuts =
      keep_cuts(operand[1], [elsewhere](const cut& c) { return c.dim == 2 && (elsewhere >> c.axis & 1u) == 0; });
  const layout_value ring[] = {p.operand[0], with_cuts(p.operand[1], sequence_dim, cuts),
                               with_cuts(p.operand[2], sequence_dim, cuts)};
  for (int o = 0; o < 4; ++o) {
    r.layout = check_shape(o < 3 ? ring[o] : r.result, s[o]);
    if (r.layout.code != layout_code::ok) return r;
  }

  const detail::attention_moves moves{operand, s, element};
  const ring_route route{ring[0], ring[1], s[0], s[1], options, group_over(ring[1], sequence_dim)};
  const shape keys = local_shape(ring[1], s[1]).shape, values = local_shape(ring[2], s[2]).shape;
  const extent_t token = keys.extent[0] * keys.extent[1] * (keys.extent[3] + values.extent[3]);
  extent_t taken = 0;
  for (int position = 0; position < position_count(r.result.mesh); ++position)
    taken = larger(taken, route.taken(position));
  r.bytes[0] = moves.bytes(ring) + taken * token * element;

  const extent_t computed = larger(element, 4);
  if ((axes_of(ring[0], ~0u) & axes_of(ring[1], sequence_dim)) == 0) {
    const shape q = local_shape(ring[0], s[0]).shape;
    const extent_t rows = q.extent[0] * q.extent[1] * q.extent[2];
    r.bytes[1] = moves.bytes(ring) + all_reduce_price(route.group.size, rows) * (values.extent[3] + 1) * computed;
  }

  layout_value met[3], attended;
  if (spread_heads(rule, ring, s, met, attended))
    r.bytes[2] = moves.bytes(met) + move_price(attended, r.result, s[3]) * element;

  r.way = way;
  if (way == attention_way::cheapest) {
    r.way = attention_way::ring;
    for (int w = 1; w < 3; ++w)
      if (r.bytes[w] >= 0 && r.bytes[w] < r.bytes[static_cast<int>(r.way)]) r.way = static_cast<attention_way>(w);
  }
  const bool heads = r.way == attention_way::all_to_all;
  for (int o = 0; o < 3; ++o) r.operand[o] = heads ? met[o] : ring[o];
  r.attended = heads ? attended : r.result;
  return r;
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::distributed
