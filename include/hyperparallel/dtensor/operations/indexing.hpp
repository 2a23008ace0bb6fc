// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading and writing by index on dtensors: embedding, gather, index_select, one_hot, scatter, scatter_add.
//
// Indices are i32 or i64 and count in the whole dim; one beyond it is refused (index_check.hpp), but by one_hot, where it
// is of no class. Law: where the vocabulary of an embedding is sharded, each device looks up the rows that it holds and
// takes 0 for the others, so the result is a partial sum.

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>

#include <hyperparallel/dtensor/index_check.hpp>
#include <hyperparallel/dtensor/traced_operation.hpp>
#include <hyperparallel/kernels/indexing.hpp>
#include <hyperparallel/kernels/scattering.hpp>
#include <hyperparallel/operators/rules/indexing.hpp>
#include <hyperparallel/operators/rules/scattering.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace operations {

/// Rows of a table: operands are indices and table.
struct embedding {
  static constexpr listed<ops::embed> on_variables{.linear = 0b10u};
  static constexpr unsigned indices = 0b01u;
  template <class, class T>
  using results = std::tuple<T>;
  constexpr rule_result rule(const shape* x, int) const {
    return rules::written("embedding", ops::embed::text, {reduce_op::sum, moves_elements(0b10u)}, {2, {x[0].rank, 2}});
  }
  template <std::integral I, class T>
  void run(const local_operation& at, const_view<I> ids, const_view<T> table, tensor_view<T> out) const {
    hyperparallel::detail::check_indices<I>(at.operand[0], at.operand[1], 0);
    kernels::embedding(table, ids, out, at.operand[1].place.dim[0].begin);
  }
};

struct gather {
  static constexpr unsigned indices = 0b10u;
  int dim = 0;
  constexpr rule_result rule(const shape* x, int) const { return rules::gather(x[0].rank, dim); }
  template <class X, std::integral I>
  void run(const local_operation& at, const_view<X> x, const_view<I> index, tensor_view<X> out) const {
    const int along = rules::from_front(dim, x.extents.rank);
    hyperparallel::detail::check_indices<I>(at.operand[1], at.operand[0], along);
    kernels::gather(x, index, out, along);
  }
};

struct index_select {
  static constexpr unsigned indices = 0b10u;
  int dim = 0;
  constexpr rule_result rule(const shape* x, int) const { return rules::index_select(x[0].rank, dim, x[1].rank); }
  template <class X, std::integral I>
  void run(const local_operation& at, const_view<X> x, const_view<I> index, tensor_view<X> out) const {
    const int along = rules::from_front(dim, x.extents.rank);
    hyperparallel::detail::check_indices<I>(at.operand[1], at.operand[0], along);
    kernels::index_select(x, index, out, along);
  }
};

/// Slices at tuples of indices, which lie along the last dim of index.
struct gather_nd {
  static constexpr unsigned indices = 0b10u;
  static constexpr bool whole_extents = true;
  constexpr rule_result rule(const shape* x, int) const {
    const int depth = x[1].rank == 0 ? 0 : static_cast<int>(x[1].extent[x[1].rank - 1]);
    return rules::gather_nd(x[0].rank, x[1].rank, depth);
  }
  template <class X, std::integral I>
  void run(const local_operation& at, const_view<X> x, const_view<I> index, tensor_view<X> out) const {
    hyperparallel::detail::check_indices<I>(at.operand[1], at.operand[0].whole.extent,
                                            index.extents.extent[index.extents.rank - 1]);
    kernels::gather_nd(x, index, out);
  }
};

/// Truth values along a new last dim of `depth` classes; none is true where the index is of no class.
struct one_hot {
  static constexpr unsigned indices = 0b1u;
  extent_t depth = 1;
  template <class...>
  using results = std::tuple<bool>;
  constexpr rule_result rule(const shape* x, int) const { return rules::one_hot(x[0].rank, -1, depth); }
  template <std::integral I>
  void run(const local_operation&, const_view<I> index, tensor_view<bool> out) const {
    kernels::one_hot(index, out, true, false);
  }
};

/// Whether each element is in the set that the second operand lists.
struct isin {
  template <class...>
  using results = std::tuple<bool>;
  constexpr rule_result rule(const shape* x, int) const { return rules::isin(x[0].rank, x[1].rank); }
  template <class X>
  void run(const local_operation&, const_view<X> x, const_view<X> set, tensor_view<bool> out) const {
    const std::unique_ptr<X[]> scratch = std::make_unique<X[]>(static_cast<std::size_t>(volume(set)));
    kernels::isin(x, set, out, scratch.get());
  }
};

namespace parts {
template <class X>
void copy_view(const_view<X> x, tensor_view<X> out) {
  if (volume(x) > 0) std::memcpy(out.data, x.data, static_cast<std::size_t>(volume(x)) * sizeof(X));
}
}  // namespace parts

/// x with source at the indices along a dim: operands x, index, source.
struct scatter {
  static constexpr unsigned indices = 0b010u;
  int dim = 0;
  constexpr rule_result rule(const shape* x, int) const { return rules::scatter(x[0].rank, dim); }
  template <class X, std::integral I>
  void run(const local_operation& at, const_view<X> x, const_view<I> index, const_view<X> source,
           tensor_view<X> out) const {
    const int along = rules::from_front(dim, x.extents.rank);
    hyperparallel::detail::check_indices<I>(at.operand[1], at.operand[0], along);
    parts::copy_view(x, out);
    kernels::scatter(index, source, out, along);
  }
};

/// The same, added.
struct scatter_add {
  static constexpr unsigned indices = 0b010u;
  int dim = 0;
  constexpr rule_result rule(const shape* x, int) const { return rules::scatter_add(x[0].rank, dim); }
  template <class X, std::integral I>
    requires(!std::same_as<X, bool>)
  void run(const local_operation& at, const_view<X> x, const_view<I> index, const_view<X> source,
           tensor_view<X> out) const {
    const int along = rules::from_front(dim, x.extents.rank);
    hyperparallel::detail::check_indices<I>(at.operand[1], at.operand[0], along);
    parts::copy_view(x, out);
    kernels::scatter(index, source, out, along, kernels::scatter_mode::add);
  }
};

/// x with updates as its slices of dim 0 at the indices: operands x, index, updates.
struct scatter_update {
  static constexpr unsigned indices = 0b010u;
  constexpr rule_result rule(const shape* x, int) const { return rules::scatter_update(x[0].rank, x[1].rank); }
  template <class X, std::integral I>
  void run(const local_operation& at, const_view<X> x, const_view<I> index, const_view<X> updates,
           tensor_view<X> out) const {
    hyperparallel::detail::check_indices<I>(at.operand[1], at.operand[0], 0);
    parts::copy_view(x, out);
    kernels::scatter_update(index, updates, out);
  }
};

/// x with the next element of the source wherever the mask, of x's extents, holds: operands x, mask, source.
struct masked_scatter {
  static constexpr unsigned truths = 0b010u;
  constexpr rule_result rule(const shape* x, int) const {
    return rules::masked_scatter(x[0].rank, x[1].rank, x[2].rank);
  }
  template <class X>
  void run(const local_operation&, const_view<X> x, const_view<bool> mask, const_view<X> source,
           tensor_view<X> out) const {
    parts::copy_view(x, out);
    kernels::masked_scatter(mask, source, out);
  }
};

}  // namespace operations

template <dtensor_type I, tensor_or_variable T>
auto embedding(const I& ids, const T& table) {
  return apply<operations::embedding{}>(ids, table);
}
template <int Dim, dtensor_type X, dtensor_type I>
auto gather(const X& x, const I& index) {
  return apply<operations::gather{Dim}>(x, index);
}
template <int Dim, dtensor_type X, dtensor_type I>
auto index_select(const X& x, const I& index) {
  return apply<operations::index_select{Dim}>(x, index);
}
template <dtensor_type X, dtensor_type I>
auto gather_nd(const X& x, const I& index) {
  return apply<operations::gather_nd{}>(x, index);
}
template <extent_t Depth, dtensor_type I>
auto one_hot(const I& index) {
  return apply<operations::one_hot{Depth}>(index);
}
template <dtensor_type X, dtensor_type S>
auto isin(const X& x, const S& set) {
  return apply<operations::isin{}>(x, set);
}
template <int Dim, dtensor_type X, dtensor_type I, dtensor_type S>
auto scatter(const X& x, const I& index, const S& source) {
  return apply<operations::scatter{Dim}>(x, index, source);
}
template <int Dim, dtensor_type X, dtensor_type I, dtensor_type S>
auto scatter_add(const X& x, const I& index, const S& source) {
  return apply<operations::scatter_add{Dim}>(x, index, source);
}
template <dtensor_type X, dtensor_type I, dtensor_type S>
auto scatter_update(const X& x, const I& index, const S& updates) {
  return apply<operations::scatter_update{}>(x, index, updates);
}

template <dtensor_type X, dtensor_type Mask, dtensor_type S>
auto masked_scatter(const X& x, const Mask& mask, const S& source) {
  return apply<operations::masked_scatter{}>(x, mask, source);
}

}}  // namespace hyperparallel::v0_2
