// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reference's operators as rules of the library: names and positional attributes of op_infer.jsonl on one side, a
// function of rules/ on the other.
//
// Where the reference refuses more than mathematics asks for, the entry asks for as much, so that its verdicts can be
// compared; docs/reference/operator-deviations.md lists these.

#include <hyperparallel/operators/ops/embed.hpp>
#include <hyperparallel/operators/ops/layer_norm.hpp>
#include <hyperparallel/operators/ops/softmax.hpp>
#include <hyperparallel/operators/propagate.hpp>
#include <hyperparallel/operators/rules/contraction.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>
#include <hyperparallel/operators/rules/indexing.hpp>
#include <hyperparallel/operators/rules/joining.hpp>
#include <hyperparallel/operators/rules/movement.hpp>
#include <hyperparallel/operators/rules/ordering.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>
#include <hyperparallel/operators/rules/scattering.hpp>
#include <hyperparallel/operators/rules/slicing.hpp>

#include "operator_reading.hpp"
#include "reference_rules.hpp"

namespace replay::reference {

// What the reference asks for beyond mathematics.

inline void refuse_partial_operands(const operator_case& c) {
  for (const hp::layout_value& l : c.operand)
    if (hp::is_partial(l)) throw refused_case("the reference takes no partial operand here");
}
inline void want_equal_layouts(const operator_case& c) {
  for (const hp::layout_value& l : c.operand)
    if (!(l == c.operand.front())) throw refused_case("the reference wants equal layouts here");
}
inline void want_whole(const hp::layout_value& l, int first_dim, int end_dim) {
  for (int d = first_dim; d < end_dim; ++d)
    if (hp::shards_of(l, d) > 1) throw refused_case("the reference wants dim " + std::to_string(d) + " whole here");
}
inline void want_operands(const operator_case& c, int least, int most) {
  if (c.count() < least || c.count() > most) throw refused_case("the operator takes another number of operands");
}

// Builders, one for each class of rules of the reference.

inline hp::rule_result broadcast(const operator_case& c, const hp::partial_words& words) {
  if (c.given.empty()) {
    want_equal_layouts(c);
    return rules::same_shape(c.op.c_str(), c.rank(0), c.count(), words);
  }
  if (c.given.size() < c.operand.size()) throw refused_case("there are fewer shapes than operands");
  return rules::broadcasting(c.op.c_str(), c.given.data(), c.count(), words);
}
inline hp::rule_result elementwise(operator_case& c) {
  refuse_partial_operands(c);
  return broadcast(c, hp::refuse_partials());
}
inline hp::rule_result add_or_sub(operator_case& c) {
  for (int a = 0; a < c.mesh.mesh.shape.axis_count; ++a) {
    bool all = true, other = false;
    for (const hp::layout_value& l : c.operand) {
      all = all && l.partial[a] != hp::reduce_op::none;
      other = other || (l.partial[a] != hp::reduce_op::none && l.partial[a] != hp::reduce_op::sum);
    }
    if (other && !all) throw refused_case("the reference fills sums only");
  }
  return broadcast(c, hp::linear_together((1u << c.count()) - 1));
}
inline hp::rule_result mul(operator_case& c) {
  return broadcast(c, c.count() == 2 ? hp::partial_algebra::products : hp::partial_algebra::scales);
}

inline hp::rule_result matmul(operator_case& c) {
  want_operands(c, 2, 2);
  return rules::matmul(c.rank(0), c.rank(1), c.flag(0), c.flag(1));
}
inline hp::rule_result linear(operator_case& c) {
  want_operands(c, 2, 3);
  return rules::linear(c.rank(0), c.count() == 3);
}

template <hp::reduce_op Op>
hp::rule_result reduce(operator_case& c) {
  return rules::reduce(c.op.c_str(), c.rank(0), c.dims(0), c.flag(1), Op);
}
/// Over all dims, along one with its places, or of two tensors. The result of the latter is the first's layout: the
/// others are brought to it before.
template <hp::reduce_op Op>
hp::rule_result extremum(operator_case& c) {
  if (c.count() == 1 && c.has(0)) return rules::indexed_reduction(c.op.c_str(), c.rank(0), c.integer(0), c.flag(1));
  if (c.count() == 1) return reduce<Op>(c);
  for (int o = 1; o < c.count(); ++o) {
    hp::layout_value& l = c.operand[static_cast<std::size_t>(o)];
    if (hp::is_partial(l)) throw refused_case("the reference takes no partial operand here");
    l.cut_count = 0;
  }
  const std::vector<hp::shape> shapes = c.shapes();
  want_operands(c, 2, 2);
  const bool larger = Op == hp::reduce_op::max;
  return rules::broadcasting(c.op.c_str(), shapes.data(), c.count(),
                             larger ? hp::partial_algebra::takes_larger : hp::partial_algebra::takes_smaller);
}
inline hp::rule_result indexed_extremum(operator_case& c) {
  refuse_partial_operands(c);
  return rules::indexed_reduction(c.op.c_str(), c.rank(0), c.integer_or(0, 0), c.flag(1));
}

inline hp::rule_result concat(operator_case& c) {
  refuse_partial_operands(c);
  const std::vector<hp::shape> shapes = c.shapes();
  return rules::concat(shapes.data(), c.count(), c.integer_or(0, 0));
}
inline hp::rule_result stack(operator_case& c) { return rules::stack(c.rank(0), c.count(), c.integer_or(0, 0)); }
inline hp::rule_result embedding(operator_case& c) {
  want_operands(c, 2, 2);
  return rules::written("embedding", hp::ops::embed::text, {hp::reduce_op::sum, hp::moves_elements(0b10u)},
                        {2, {c.rank(0), 2}});
}

/// Extents or dims as one list, or as attributes one by one.
inline hp::shape all_extents(const operator_case& c) {
  if (c.is_list(0)) return c.extents(0);
  if (c.attribute.empty() || c.attribute.size() > static_cast<std::size_t>(hp::max_dims))
    throw refused_case("the extents are missing");
  hp::shape s;
  for (std::size_t i = 0; i < c.attribute.size(); ++i) s.extent[s.rank++] = c.integer(i);
  return s;
}
inline hp::rule_result expand(operator_case& c) { return expand(c.rank(0), all_extents(c)); }
inline hp::rule_result expand_as(operator_case& c) {
  if (c.given.size() < 2) throw refused_case("the shapes are missing");
  c.operand.resize(1);
  return rules::expand(c.given[0], c.given[1]);
}
inline hp::rule_result expand_dims(operator_case& c) { return rules::expand_dims(c.rank(0), c.integer(0)); }
inline hp::rule_result squeeze(operator_case& c) {
  if (c.given.empty()) throw refused_case("the shape is missing");
  return rules::squeeze(c.shape(0), c.dims(0));
}
inline hp::rule_result transpose(operator_case& c) {
  if (c.is_list(0)) return rules::permute(c.rank(0), c.dims(0));
  if (c.attribute.size() > 2) throw refused_case("two dims are exchanged, or one list of them permuted");
  return rules::transpose(c.rank(0), c.integer(0), c.integer(1));
}
inline hp::rule_result repeat_interleave(operator_case& c) {
  if (!c.has(1)) {
    want_whole(c.operand.at(0), c.is_list(0) ? 0 : 1, c.rank(0));  // counts of their own do not cut evenly
    return repeat_interleave_flat(c.shape(0), c.is_list(0) ? 1 : c.integer(0));
  }
  const int dim = rules::from_front(c.integer(1), c.rank(0));
  if (c.is_list(0)) return repeat_interleave_by_counts(c.rank(0), c.integer(1));
  if (dim >= 0) want_whole(c.operand.at(0), dim, dim + 1);
  return rules::repeat_interleave(c.rank(0), c.integer(1), c.integer(0));
}

/// Product of the extents that are known.
inline hp::extent_t known_part(const hp::shape& s) {
  hp::extent_t n = 1;
  for (int d = 0; d < s.rank; ++d) n *= s.extent[d] > 0 ? s.extent[d] : 1;
  return n;
}
/// An extent of -1 that both shapes have is not known before run time: one that fits shapes and layouts stands for it.
inline hp::rule_result reshape(operator_case& c) {
  const hp::shape to = c.extents(0);
  if (c.attribute.size() < 2 && c.given.empty()) throw refused_case("the shape is missing");
  hp::shape from = c.attribute.size() > 1 ? c.extents(1) : c.shape(0);
  const hp::extent_t common = hp::greatest_common_divisor(known_part(from), known_part(to));
  for (int d = 0; d < from.rank; ++d)
    if (from.extent[d] == -1) from.extent[d] = hp::position_count(c.mesh.mesh.shape) * (known_part(to) / common);
  if (from.rank != c.rank(0)) throw refused_case("the shape has another rank than the map");
  c.given = {from};
  const hp::rule_result r = rules::reshape(from, to);
  if (r.status.code != hp::rule_code::ok) return r;
  // A sharded dim stays a dim: its axes neither part nor meet those of another one.
  const hp::layout_value* const operand = &c.operand.front();
  const hp::propagation_result p = hp::propagate(r.rule, &operand, 1);
  if (p.status.code == hp::propagation_code::ok &&
      entries_of(p.layout, c.mesh.mesh) != entries_of(*operand, c.mesh.mesh))
    throw refused_case("the reference keeps each sharded dim");
  return r;
}

inline hp::rule_result gather(operator_case& c) {
  want_operands(c, 2, 2);
  refuse_partial_operands(c);
  if (c.op.find("elect") != std::string::npos) return rules::index_select(c.rank(0), c.integer(0), c.rank(1));
  return rules::gather(c.rank(0), c.integer(0));
}
inline hp::rule_result gather_nd(operator_case& c) {
  if (c.given.size() < 2 || c.given[1].rank == 0) throw refused_case("the shapes are missing");
  return rules::gather_nd(c.rank(0), c.rank(1), static_cast<int>(c.given[1].extent[c.given[1].rank - 1]));
}
inline hp::rule_result isin(operator_case& c) {
  want_operands(c, 2, 2);
  want_whole(c.operand[1], 0, c.rank(1));
  return rules::isin(c.rank(0), c.rank(1));
}
inline hp::rule_result one_hot(operator_case& c) {
  const int depth = c.integer(0), dim = c.integer_or(3, -1);
  if (depth < -1) throw refused_case("the depth is negative");
  if (c.rank(0) > 1 && dim != -1) throw refused_case("the reference wants the last dim here");
  want_whole(c.operand[0], 1, c.rank(0));
  return rules::one_hot(c.rank(0), dim, depth < 0 ? 0 : depth);
}

inline hp::rule_result scatter(operator_case& c) {
  want_operands(c, 2, 3);
  refuse_partial_operands(c);
  return c.count() == 2 ? scatter_number(c.rank(0), c.integer(0)) : rules::scatter(c.rank(0), c.integer(0));
}
inline hp::rule_result scatter_update(operator_case& c) {
  want_operands(c, 3, 3);
  return rules::scatter_update(c.rank(0), c.rank(1));
}
inline hp::rule_result masked_scatter(operator_case& c) {
  want_operands(c, 3, 3);
  refuse_partial_operands(c);
  return rules::masked_scatter(c.rank(0), c.rank(1), c.rank(2));
}

/// Pairs from the last dim on, as torch writes them.
inline hp::rule_result pad(operator_case& c) {
  const hp::shape pairs = c.extents(0), from = c.shape(0);
  if (pairs.rank % 2 != 0) throw refused_case("the margins are no pairs");
  hp::shape before, after;
  before.rank = after.rank = from.rank;
  for (int i = 0; i < pairs.rank / 2; ++i) {
    const int d = from.rank - 1 - i;
    if (d < 0) throw refused_case("there are more margins than dims");
    before.extent[d] = pairs.extent[2 * i];
    after.extent[d] = pairs.extent[2 * i + 1];
  }
  return rules::pad(from, before, after);
}
inline hp::rule_result slice(operator_case& c) {
  if (c.attribute.size() > 2) c.given = {c.extents(2)};
  hp::shape step = c.shape(0);
  for (int d = 0; d < step.rank; ++d) step.extent[d] = 1;
  return slice(c.shape(0), c.extents(0), c.extents(1), step);
}
/// A dim that is named is cut, in the reference, even where all of it is taken.
inline hp::rule_result slice_dim(operator_case& c) {
  const int dim = rules::from_front(c.integer(0), c.rank(0));
  if (dim >= 0) want_whole(c.operand[0], dim, dim + 1);
  return rules::slice_dim(c.shape(0), c.integer(0), c.integer(1), c.integer(2), c.integer_or(3, 1));
}
/// The first of the parts along dim `d`; all have its layout.
inline hp::rule_result part(const operator_case& c, int d, hp::extent_t size) {
  return rules::slice_dim(c.shape(0), d, 0, size);
}
inline hp::rule_result split(operator_case& c) {
  const int size = c.integer(0), dim = c.integer_or(1, 0), d = rules::from_front(dim, c.rank(0));
  if (d >= 0) want_whole(c.operand[0], d, d + 1);
  if (d < 0 || size < 1) throw refused_case("the dim or the size of a part is out of range");
  const hp::extent_t n = c.shape(0).extent[d];
  c.copies = n == 0 ? 1 : static_cast<int>(hp::ceil_divide(n, hp::extent_t{size}));
  return part(c, d, hp::smaller(n, hp::extent_t{size}));
}
inline hp::rule_result split_by_sizes(operator_case& c) {
  const int dim = c.integer_or(1, 0), d = rules::from_front(dim, c.rank(0));
  if (d >= 0) want_whole(c.operand[0], d, d + 1);
  const hp::shape sizes = c.extents(0);
  if (d < 0 || sizes.rank == 0) throw refused_case("the dim is out of range, or there are no parts");
  hp::extent_t total = 0;
  for (int i = 0; i < sizes.rank; ++i) {
    if (sizes.extent[i] < 0) throw refused_case("a part has a negative size");
    total += sizes.extent[i];
  }
  if (!c.given.empty() && c.shape(0).extent[d] != total) throw refused_case("the parts are not all of the dim");
  c.given = {c.shape(0)};
  c.given[0].extent[d] = total;
  c.copies = sizes.rank;
  return part(c, d, sizes.extent[0]);
}
inline hp::rule_result unbind(operator_case& c) {
  const int dim = c.integer_or(0, 0), d = rules::from_front(dim, c.rank(0));
  if (d < 0) throw refused_case("the dim is out of range");
  c.copies = static_cast<int>(c.shape(0).extent[d]);
  index_entry entry[hp::max_dims];
  entry[d] = one(0);
  return index(c.shape(0), entry, c.rank(0));
}

inline hp::rule_result softmax(operator_case& c) {
  refuse_partial_operands(c);
  want_equal_layouts(c);
  c.operand.resize(1);
  const rules::dim_list dims = c.has(0) ? c.dims(0) : rules::dim_list(-1);
  if (c.op.find("wiglu") != std::string::npos) return packed_swiglu(c.rank(0), dims.at[0]);
  return rules::reads_along(hp::ops::softmax::name, c.rank(0), dims, hp::refuse_partials(),
                            hp::ops::softmax::flops_per_point);
}
inline hp::rule_result rms_norm(operator_case& c) {
  refuse_partial_operands(c);
  return rules::rms_norm(c.rank(0), c.rank(1), c.count() - 1);
}
inline hp::rule_result layer_norm(operator_case& c) {
  return rules::normalize(hp::ops::layer_norm::name, c.rank(0), c.is_list(0) ? c.extents(0).rank : 1, c.count() - 1,
                          hp::ops::layer_norm::flops_per_point);
}
inline hp::rule_result cumsum(operator_case& c) { return rules::cumsum(c.rank(0), c.integer(0)); }
inline hp::rule_result sort(operator_case& c) { return rules::sort(c.rank(0), c.integer_or(0, -1)); }
inline hp::rule_result topk(operator_case& c) {
  return rules::topk(c.rank(0), c.integer_or(1, -1), c.integer_or(0, 1));
}
/// Indices drawn from the rows of probabilities: a row is whole, since its draws depend on all of it.
inline hp::rule_result multinomial(operator_case& c) {
  if (c.rank(0) < 1 || c.rank(0) > 2 || c.integer_or(0, 1) < 1) throw refused_case("there is no row or no sample");
  hp::rule_result r =
      rules::written("multinomial", "*E->*K", {hp::reduce_op::none, hp::refuse_partials()}, {1, {c.rank(0)}});
  r.rule.factor[c.rank(0)].extent = c.integer_or(0, 1);
  return r;
}
/// Of the operand it reads the type and the device only.
inline hp::rule_result new_ones(operator_case& c) {
  c.operand.clear();
  const hp::shape sizes = all_extents(c);
  hp::factor_rule r = rules::rule_called("new_ones", hp::refuse_partials(), 0);
  hp::tensor_factors& t = hp::add_result(r);
  for (int d = 0; d < sizes.rank; ++d) {
    if (sizes.extent[d] < 1) throw refused_case("an extent is below 1");
    hp::add_dim(t, hp::add_factor(r, hp::factor_kind::pass_through, sizes.extent[d]));
  }
  return hp::checked_rule(r);
}

struct operator_entry {
  const char* rule;
  hp::rule_result (*build)(operator_case&);
};

/// By the class of the reference, not by the name of the operator: several tests call one class by other names.
inline constexpr operator_entry operator_entries[] = {
    {"ActivationWithAxis", softmax},
    {"Add", add_or_sub},
    {"ArgMaxWithValue", indexed_extremum},
    {"ArgMinWithValue", indexed_extremum},
    {"BatchMatMul", matmul},
    {"BatchMatMulExt", matmul},
    {"Concat", concat},
    {"Cumsum", cumsum},
    {"ElementWise", elementwise},
    {"Embedding", embedding},
    {"Expand", expand},
    {"ExpandAs", expand_as},
    {"ExpandDims", expand_dims},
    {"Gather", gather},
    {"GatherNd", gather_nd},
    {"IndexSelect", gather},
    {"Isin", isin},
    {"LayerNorm", layer_norm},
    {"Linear", linear},
    {"MaskedScatter", masked_scatter},
    {"MatMul", matmul},
    {"Max", extremum<hp::reduce_op::max>},
    {"MeanExt", reduce<hp::reduce_op::avg>},
    {"Min", extremum<hp::reduce_op::min>},
    {"Mul", mul},
    {"Multinomial", multinomial},
    {"NewOnes", new_ones},
    {"Norm", rms_norm},
    {"OneHotExt", one_hot},
    {"Pad", pad},
    {"ProdExt", reduce<hp::reduce_op::prod>},
    {"ReduceMax", reduce<hp::reduce_op::max>},
    {"ReduceMin", reduce<hp::reduce_op::min>},
    {"RepeatInterleave", repeat_interleave},
    {"Reshape", reshape},
    {"Scatter", scatter},
    {"ScatterUpdate", scatter_update},
    {"Slice", slice},
    {"SliceExt", slice_dim},
    {"Sort", sort},
    {"Split", split},
    {"SplitTensor", split},
    {"SplitWithSize", split_by_sizes},
    {"Squeeze", squeeze},
    {"StackExt", stack},
    {"Sub", add_or_sub},
    {"SumExt", reduce<hp::reduce_op::sum>},
    {"TopK", topk},
    {"Transpose", transpose},
    {"Unbind", unbind},
};

}  // namespace replay::reference
