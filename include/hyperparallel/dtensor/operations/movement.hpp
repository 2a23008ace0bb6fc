// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements moved on dtensors: permute, transpose, reshape, concat, slices and their like; on variables those whose
// description says the way back.
//
// Everything passes that is moved, partial states too. Law: reshape, flatten, squeeze and expand_dims share the blocks
// of their operand.

#include <hyperparallel/dtensor/traced_movement.hpp>
#include <hyperparallel/kernels/movement.hpp>
#include <hyperparallel/operators/rules/joining.hpp>
#include <hyperparallel/operators/rules/movement.hpp>
#include <hyperparallel/operators/rules/slicing.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

struct permute {
  rules::dim_list order{};
  /// The order that undoes this one; any where that is none.
  constexpr permute back(const shape* x, int) const {
    const rules::chosen_dims c = rules::choose(order, x[0].rank);
    permute undone{rules::all_dims(x[0].rank)};
    if (c.status.code != rule_code::ok || order.count != x[0].rank) return undone;
    for (int d = 0; d < order.count; ++d) undone.order.at[c.dims.at[d]] = d;
    return undone;
  }
  constexpr rule_result rule(const shape* x, int) const { return rules::permute(x[0].rank, order); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::permute(x, out, rules::choose(order, x.extents.rank).dims.at);
  }
};

struct transpose {
  int a = -2, b = -1;
  constexpr transpose back(const shape*, int) const { return *this; }
  constexpr rule_result rule(const shape* x, int) const { return rules::transpose(x[0].rank, a, b); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    rules::dim_list order = rules::all_dims(x.extents.rank);
    const int i = rules::from_front(a, order.count), j = rules::from_front(b, order.count);
    order.at[i] = j;
    order.at[j] = i;
    kernels::permute(x, out, order.at);
  }
};

struct reshape {
  static constexpr bool is_view = true;
  static constexpr bool whole_extents = true;
  shape to{};  ///< one extent may be -1
  constexpr reshape back(const shape* x, int) const { return {x[0]}; }
  constexpr rule_result rule(const shape* x, int) const { return rules::reshape(x[0], to); }
};

struct flatten {
  static constexpr bool is_view = true;
  static constexpr bool whole_extents = true;
  int first = 0, last = -1;
  constexpr reshape back(const shape* x, int) const { return {x[0]}; }
  constexpr rule_result rule(const shape* x, int) const { return rules::flatten(x[0], first, last); }
};

struct squeeze {
  static constexpr bool is_view = true;
  rules::dim_list dims{};
  constexpr reshape back(const shape* x, int) const { return {x[0]}; }
  constexpr rule_result rule(const shape* x, int) const { return rules::squeeze(x[0], dims); }
};

struct expand_dims {
  static constexpr bool is_view = true;
  int dim = 0;
  constexpr squeeze back(const shape*, int) const { return {{dim}}; }
  constexpr rule_result rule(const shape* x, int) const { return rules::expand_dims(x[0].rank, dim); }
};

struct expand {
  static constexpr bool whole_extents = true;
  shape to{};
  constexpr rule_result rule(const shape* x, int) const { return rules::expand(x[0], to); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::expand(x, out);
  }
};

/// Each element `times` times in a row along a dim.
struct repeat_interleave {
  int dim = 0;
  extent_t times = 1;
  constexpr rule_result rule(const shape* x, int) const { return rules::repeat_interleave(x[0].rank, dim, times); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::repeat_interleave(x, out, rules::from_front(dim, x.extents.rank), &times, true);
  }
};

/// The transpose of `slice_dim`: element i at begin + i · step of a dim of `extent` elements, zeros elsewhere.
struct place_slice {
  static constexpr bool whole_extents = true;
  int dim = 0;
  extent_t begin = 0, step = 1, extent = 0;
  constexpr rule_result rule(const shape* x, int) const { return rules::place_slice(x[0], dim, begin, step, extent); }
  template <class X>
  void run(const local_operation& at, const_view<X> x, tensor_view<X> out) const {
    const int d = rules::from_front(dim, x.extents.rank);
    extent_t from[max_dims] = {}, by[max_dims] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (at.operand[0].whole.extent[d] != extent) {  // then the dim is whole here
      from[d] = begin;
      by[d] = step;
    }
    kernels::place_slice(x, out, from, by);
  }
};

/// [begin, end) of one dim, `step` apart; begin and end may count from the end.
struct slice_dim {
  static constexpr bool whole_extents = true;
  int dim = 0;
  extent_t begin = 0, end = rules::to_the_end, step = 1;
  constexpr place_slice back(const shape* x, int) const {
    const int d = rules::from_front(dim, x[0].rank);
    if (d < 0) return {};
    return {d, rules::take(x[0].extent[d], begin, end, step).begin, step, x[0].extent[d]};
  }
  constexpr rule_result rule(const shape* x, int) const { return rules::slice_dim(x[0], dim, begin, end, step); }
  template <class X>
  void run(const local_operation& at, const_view<X> x, tensor_view<X> out) const {
    const int d = rules::from_front(dim, x.extents.rank);
    extent_t from[max_dims] = {}, by[max_dims] = {1, 1, 1, 1, 1, 1, 1, 1};
    const rules::taken part = rules::take(at.operand[0].whole.extent[d], begin, end, step);
    if (!part.whole) {  // then the dim is whole here
      from[d] = part.begin;
      by[d] = step;
    }
    kernels::slice(x, out, from, by);
  }
};

struct pad {
  static constexpr bool whole_extents = true;
  shape before{}, after{};
  constexpr rule_result rule(const shape* x, int) const { return rules::pad(x[0], before, after); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::pad(x, out, before.extent, X{});
  }
};

struct flip {
  rules::dim_list dims{};
  constexpr rule_result rule(const shape* x, int) const { return rules::flip(x[0].rank, dims); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    const int rank = x.extents.rank;
    kernels::flip(x, out, rules::choose(dims.count == 0 ? rules::all_dims(rank) : dims, rank).mask);
  }
};

struct roll {
  int dim = 0;
  extent_t shift = 0;
  constexpr rule_result rule(const shape* x, int) const { return rules::roll(x[0].rank, dim); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::roll(x, out, rules::from_front(dim, x.extents.rank), shift);
  }
};

struct tril {
  extent_t diagonal = 0;
  constexpr rule_result rule(const shape* x, int) const { return rules::tril(x[0].rank); }
  template <class X>
  void run(const local_operation&, const_view<X> x, tensor_view<X> out) const {
    kernels::tril(x, out, diagonal);
  }
};

namespace parts {

/// Calls `join(parts, count, out)` with all views but the last as parts.
template <class X, class Join, class... Views>
void join_views(const Join& join, const Views&... views) {
  constexpr int count = static_cast<int>(sizeof...(Views)) - 1;
  const tensor_view<X>* out = nullptr;
  const_view<X> parts[hyperparallel::detail::array_bound(count)];
  int at = 0;
  const auto take = [&](const auto& view) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(view)>, tensor_view<X>>)
      out = &view;
    else
      parts[at++] = view;
  };
  (take(views), ...);
  join(static_cast<const const_view<X>*>(parts), count, *out);
}

}  // namespace parts

/// Tensors one after the other along a dim.
struct concat {
  static constexpr bool whole_extents = true;
  int dim = 0;
  /// The part of the joined dim that the operand is.
  constexpr slice_dim back(const shape* x, int number) const {
    const int d = rules::from_front(dim, x[0].rank);
    extent_t begin = 0;
    for (int i = 0; i < number && d >= 0; ++i) begin += x[i].extent[d];
    return {dim, begin, d < 0 ? begin : begin + x[number].extent[d], 1};
  }
  constexpr rule_result rule(const shape* x, int count) const { return rules::concat(x, count, dim); }
  template <class X, class... Views>
  void run(const local_operation&, const_view<X> first, Views... views) const {
    const int axis = rules::from_front(dim, first.extents.rank);
    parts::join_views<X>([axis](auto parts, int count, auto out) { kernels::concat(parts, count, out, axis); }, first,
                         views...);
  }
};

/// Tensors of one shape along a new dim.
struct stack {
  int dim = 0;
  constexpr rule_result rule(const shape* x, int count) const { return rules::stack(x[0].rank, count, dim); }
  template <class X, class... Views>
  void run(const local_operation&, const_view<X> first, Views... views) const {
    const int axis = rules::from_front(dim, first.extents.rank + 1);
    parts::join_views<X>([axis](auto parts, int count, auto out) { kernels::stack(parts, count, out, axis); }, first,
                         views...);
  }
};

}  // namespace operations

template <int... Order, tensor_or_variable X>
auto permute(const X& x) {
  return apply<operations::permute{{Order...}}>(x);
}
template <int A = -2, int B = -1, tensor_or_variable X>
auto transpose(const X& x) {
  return apply<operations::transpose{A, B}>(x);
}
template <extent_t... Extents, tensor_or_variable X>
auto reshape(const X& x) {
  return apply<operations::reshape{shape{Extents...}}>(x);
}
template <int First = 0, int Last = -1, tensor_or_variable X>
auto flatten(const X& x) {
  return apply<operations::flatten{First, Last}>(x);
}
template <int... Dims, tensor_or_variable X>
auto squeeze(const X& x) {
  return apply<operations::squeeze{{Dims...}}>(x);
}
template <int Dim, tensor_or_variable X>
auto expand_dims(const X& x) {
  return apply<operations::expand_dims{Dim}>(x);
}
template <extent_t... Extents, dtensor_type X>
auto expand(const X& x) {
  return apply<operations::expand{shape{Extents...}}>(x);
}
template <int Dim, extent_t Times, dtensor_type X>
auto repeat_interleave(const X& x) {
  return apply<operations::repeat_interleave{Dim, Times}>(x);
}
template <int Dim, extent_t Begin, extent_t End, extent_t Step = 1, tensor_or_variable X>
auto slice_dim(const X& x) {
  return apply<operations::slice_dim{Dim, Begin, End, Step}>(x);
}
template <int Dim, tensor_or_variable First, tensor_or_variable... Rest>
auto concat(const First& first, const Rest&... rest) {
  return apply<operations::concat{Dim}>(first, rest...);
}
template <int Dim, dtensor_type First, dtensor_type... Rest>
auto stack(const First& first, const Rest&... rest) {
  return apply<operations::stack{Dim}>(first, rest...);
}
template <int... Dims, dtensor_type X>
auto flip(const X& x) {
  return apply<operations::flip{{Dims...}}>(x);
}
template <int Dim, dtensor_type X>
auto roll(const X& x, extent_t shift) {
  return apply_as<operations::roll{Dim}>(operations::roll{Dim, shift}, x);
}
template <dtensor_type X>
auto tril(const X& x, extent_t diagonal = 0) {
  return apply_as<operations::tril{}>(operations::tril{diagonal}, x);
}

}}  // namespace hyperparallel::v0_2
