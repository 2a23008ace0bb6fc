// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a decoder by which a device's memory is accounted, fine enough for two accounts to be compared part by part.
//
//   parameters, gradients, optimizer   each of attention, of feed-forward layers, of norms and biases, of what is outside layers
//   activations                        after the tensors of Korthikanti et al., 2205.05198, section 4.1, and what that leaves out

#include <hyperparallel/support/integer.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class memory_part : unsigned char {
  attention_parameters,
  feed_forward_parameters,
  norm_parameters,
  outer_parameters,
  attention_gradients,
  feed_forward_gradients,
  norm_gradients,
  outer_gradients,
  attention_states,
  feed_forward_states,
  norm_states,
  outer_states,
  norm_inputs,
  attention_input,
  queries_and_keys,
  attention_scores,
  values,
  projection_input,
  attention_output,
  dropout_masks,
  feed_forward_input,
  feed_forward_inner,
  outer_activations,
  activation_gradients,
  buffers,
  inputs,
  passing
};
inline constexpr int memory_part_count = 27;
namespace detail {

/// The first part of the activations; those before it are parameters, their gradients and states of the optimizer.
inline constexpr int first_activation_part = static_cast<int>(memory_part::norm_inputs);

}  // namespace detail

constexpr const char* name_of(memory_part p) {
  constexpr const char* names[] = {"parameters of attention",
                                   "parameters of feed-forward layers",
                                   "parameters of norms and biases",
                                   "parameters outside layers",
                                   "gradients of attention",
                                   "gradients of feed-forward layers",
                                   "gradients of norms and biases",
                                   "gradients outside layers",
                                   "optimizer of attention",
                                   "optimizer of feed-forward layers",
                                   "optimizer of norms and biases",
                                   "optimizer outside layers",
                                   "inputs of norms",
                                   "input of attention",
                                   "queries and keys",
                                   "scores of attention",
                                   "values",
                                   "input of the projection",
                                   "output of attention",
                                   "masks of dropout",
                                   "input of feed-forward layers",
                                   "inside feed-forward layers",
                                   "activations outside layers",
                                   "gradients of activations",
                                   "buffers of moves and update",
                                   "tokens and labels",
                                   "passing, at the peak"};
  static_assert(sizeof(names) / sizeof(names[0]) == memory_part_count);
  return names[static_cast<int>(p)];
}

/// Bytes of a device by part. Sums beyond 64 bits are `not_counted`.
struct memory_by_part {
  extent_t bytes[memory_part_count] = {};

  constexpr extent_t& of(memory_part p) { return bytes[static_cast<int>(p)]; }
  constexpr extent_t of(memory_part p) const { return bytes[static_cast<int>(p)]; }
  /// Parameters, their gradients and states of the optimizer.
  constexpr extent_t states() const { return sum(0, detail::first_activation_part); }
  constexpr extent_t activations() const { return sum(detail::first_activation_part, memory_part_count); }
  constexpr extent_t total() const { return sum(0, memory_part_count); }
  friend constexpr bool operator==(const memory_by_part&, const memory_by_part&) = default;

 private:
  constexpr extent_t sum(int begin, int end) const {
    checked_extent total{};
    for (int p = begin; p < end && !total.overflow; ++p) total = checked_add(total.value, bytes[p]);
    return total.overflow ? not_counted : total.value;
  }
};

}}  // namespace hyperparallel::v0_2
