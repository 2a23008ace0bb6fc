// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gradients on their way back through a program of dtensors: the nodes that they belong to, and their sums.
//
// What of reverse mode needs no types: gradient.hpp knows them, and brings them back.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <hyperparallel/dtensor/dynamic_dtensor.hpp>
#include <hyperparallel/exec/light_vector.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

struct gradient_node;

/// Where an operand's gradient goes: a result of a node, of none where the operand is no variable.
struct gradient_target {
  std::shared_ptr<const gradient_node> node;
  int result = 0;
};
using gradient_targets = detail::light_vector<gradient_target>;

/// A step of a program, or one of its arguments. `kind` is the address of something that nodes of one type share.
struct gradient_node {
  gradient_node(const void* of, std::vector<shape> made, gradient_targets targets = {});
  const void* kind;
  std::int64_t number;  ///< in the order in which they are made
  std::vector<shape> results;
  gradient_targets operands;
};

/// A step that keeps nothing for its gradient.
std::shared_ptr<const gradient_node> plain_node(const void* kind, const shape& made, gradient_targets operands);

/// What operator `from` adds to the gradient of result `result` of a node.
struct gradient_part {
  std::shared_ptr<const gradient_node> node;
  int result;
  std::int64_t from;
  dynamic_dtensor gradient;
};
using gradient_parts = detail::light_vector<gradient_part>;

/// Adds what step `from` gives its operand `operand`.
void add_gradient_part(gradient_parts& parts, const gradient_node& from, std::size_t operand,
                       const dynamic_dtensor& gradient);

/// The nodes of a kind that have parts, the last made first. O(parts · nodes).
detail::light_vector<std::shared_ptr<const gradient_node>> nodes_of_kind(const gradient_parts& parts, const void* kind);

/// The sum of a result's parts in layout `to`, in the order in which a graph's gradients are joined: operators that
/// stand later in the program first, up to 8 at a time. Zeros where there are none. Domain: some node has a part.
dynamic_dtensor joined_gradient(const gradient_parts& parts, const gradient_node& node, int result, data_type type,
                                const layout_value& to);

/// a + b + …, as the operator `sum` of models. Domain: at least one, alike in everything.
dynamic_dtensor joined_sum(const std::vector<dynamic_dtensor>& terms);

/// Gives up the parts of all nodes of a kind.
void forget_kind(gradient_parts& parts, const void* kind);

/// Adds to `to` what a node gives its operands, of the parts of its results' gradients.
using backward_step = void (*)(const gradient_node& node, const gradient_parts& parts, gradient_parts& to);

/// One step back, over all nodes of a kind: their parts are replaced by those of their operands. Throws what `step` throws.
void step_back(gradient_parts& parts, const void* kind, backward_step step);

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/gradient_parts.ipp>
#endif
