// SPDX-License-Identifier: Apache-2.0
#pragma once
// How large a pipeline is, and where its arrays live: in arrays that grow, or in arrays of fixed size within a constant
// expression, where the compiler reads an element of an array in half the time of one behind a pointer.

#include <hyperparallel/pipeline/status.hpp>
#include <hyperparallel/support/growing_array.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// P ranks with `chunks` stages each, and m micro-batches.
struct pipeline_shape {
  int ranks = 1, chunks = 1, micro_batches = 1;
  constexpr int stages() const { return ranks * chunks; }
  friend constexpr bool operator==(const pipeline_shape&, const pipeline_shape&) = default;
};

/// Whether the sizes of a shape are sizes at all.
constexpr pipeline_code check_shape(const pipeline_shape& n) {
  if (n.ranks < 1 || n.chunks < 1 || n.micro_batches < 1) return pipeline_code::sizes_are_not_positive;
  if (n.ranks > detail::most_stage_micro_batches / n.chunks ||
      n.stages() > detail::most_stage_micro_batches / n.micro_batches)
    return pipeline_code::schedule_is_too_large;
  return pipeline_code::ok;
}

struct growing_pipeline_sizes {
  static constexpr bool grows = true;
  template <class T>
  using per_rank = growing_array<T>;
  template <class T>
  using per_copy = growing_array<T>;
  template <class T>
  using per_hop = growing_array<T>;
  template <class T>
  using per_chunk = growing_array<T>;
  template <class T>
  using per_message = growing_array<T>;
  template <class T>
  using per_entry = growing_array<T>;
};

namespace detail {

/// Room for `Entries` actions in all; as many as F, I and W of every stage and micro-batch, unless given.
template <pipeline_shape Shape, int Entries = 3 * Shape.stages() * Shape.micro_batches>
struct fixed_pipeline_sizes {
  static constexpr bool grows = false;
  static constexpr int stages = Shape.stages();
  template <class T>
  using per_rank = static_vector<T, Shape.ranks + 1>;
  template <class T>
  using per_copy = static_vector<T, 2 * stages>;  ///< a stage lies on two ranks at most
  template <class T>
  using per_hop = static_vector<T, 4 * stages>;  ///< by the sender's stage: forwards, then gradients
  template <class T>
  using per_chunk = static_vector<T, (stages + 1) * Shape.micro_batches>;  ///< and the input, or the loss
  template <class T>
  using per_message = static_vector<T, 2 * stages * Shape.micro_batches>;
  template <class T>
  using per_entry = static_vector<T, Entries + 1>;  ///< one more, so that too many are seen
};

/// `count` zeros behind what `to` holds. In an array of fixed size they are there already.
template <class Array>
constexpr void append_zeros(Array& to, int count) {
  if constexpr (requires { to.resize(count); })
    to.resize(to.size + count);
  else
    to.size += count;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
