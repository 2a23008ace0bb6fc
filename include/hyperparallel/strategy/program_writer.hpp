// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the steps of a program: values where they are wanted, moved there from where they are best taken from.
//
// What no operator makes has a home, laid out as its first reader wants it, parameters refined by the strategy. A next
// value takes the memory of the home that it replaces, at once where both lie alike, by a move otherwise.
// Laws: those of sharded_program.hpp; `ensure` twice gives one value.

#include <hyperparallel/strategy/ring_attention.hpp>
#include <hyperparallel/strategy/strategy_layouts.hpp>
#include <hyperparallel/strategy/version_book.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// A copy with room for sums that the walk takes apart, which would copy the graph a second time.
constexpr graph copy_with_room(const graph& g) {
  graph copy;
  copy.op.reserve(g.op.size + g.op.size / 8 + 8);
  copy.tensor.reserve(g.tensor.size + g.op.size / 8 + 8);
  copy.text.reserve(g.text.size + g.text.size / 8);
  copy = g;
  return copy;
}

}  // namespace detail

class program_writer {
 public:
  constexpr program_writer(graph&& g, const strategy_value& s)
      : strategy_(s), layouts_(g, strategy_), book_(program_), ring_(axis_index(s.mesh, s.ring_axis.text)) {
    if (ring_ < 0 || layouts_.status().code != strategy_code::ok)
      program_.graph = static_cast<graph&&>(g);
    else
      program_.graph = rotate_attention(g, mesh().size[ring_]);
    program_.mesh = s.mesh;
    program_.strategy = s.name;
    const int tensors = program_.graph.tensor.size, operators = program_.graph.op.size;
    program_.value.reserve(3 * tensors);
    program_.storage.reserve(3 * tensors);
    program_.compute.reserve(operators + 16);
    program_.step.reserve(3 * operators);
    program_.home.resize(tensors, -1);
    base_.resize(tensors, layout_value{});
  }

 protected:
  constexpr const mesh_shape& mesh() const { return strategy_.mesh.shape; }

  constexpr layout_value replicated_of(int rank) const {
    layout_value l;
    l.mesh = mesh();
    l.rank = rank;
    return l;
  }

  constexpr void step(bool is_move, int index) { program_.step.push({is_move, index, phase_, segment_}); }

  /// The value of a tensor that no operator makes, where it lives: created by its first reader.
  constexpr int home(int tensor, const layout_value& wanted) {
    if (program_.home[tensor] >= 0) return program_.home[tensor];
    const graph_tensor& t = program_.graph.tensor[tensor];
    layout_value lives = wanted;
    base_[tensor] = wanted;
    if (t.kind == graph_tensor_kind::parameter && !layouts_.pinned(program_.graph, tensor, lives))
      lives = layouts_.refine(program_.graph, tensor, wanted, rule_stage::parameter);
    return program_.home[tensor] = book_.add(tensor, lives, {}, -1, true);
  }

  /// The tensor's value under `wanted`, moved there where it is not at hand. Blocks travel place by place.
  constexpr int ensure(int tensor, const layout_value& wanted, const value_rotation& rotation = {}) {
    int v = book_.find(tensor, wanted, rotation);
    if (v >= 0) return v;
    int from = -1;
    if (rotation.by > 0) {
      from = book_.find(tensor, wanted, turned_by(rotation.by - 1));
      if (from < 0) from = ensure(tensor, wanted, turned_by(rotation.by - 1));
    } else {
      if (program_.graph.tensor[tensor].producer < 0) home(tensor, wanted);
      from = book_.source(tensor, wanted);
      if (from < 0) from = book_.find(tensor, wanted, turned_by(mesh().size[ring_] - 1));
      if (program_.value[from].layout == wanted && program_.value[from].rotation == rotation) return from;
    }
    v = book_.add(tensor, wanted, rotation);
    step(true, program_.move.push({from, v, -1}));
    return v;
  }
  constexpr value_rotation turned_by(int places) const {
    return places == 0 ? value_rotation{} : value_rotation{ring_, places};
  }

  /// The next value of a tensor takes the memory of the one it replaces where both lie alike.
  constexpr int next_value(int tensor, const layout_value& l, const value_rotation& turned) {
    const int home = replaced_home(tensor);
    const bool in_place = home >= 0 && program_.value[home].layout == l;
    return book_.add(tensor, l, turned, in_place ? program_.value[home].storage : -1);
  }
  constexpr int replaced_home(int tensor) const {
    while (program_.graph.tensor[tensor].replaces >= 0) {
      tensor = program_.graph.tensor[tensor].replaces;
      if (program_.home[tensor] >= 0) return program_.home[tensor];
    }
    return -1;
  }
  constexpr void bring_home(int tensor, int value) {
    const int home = replaced_home(tensor);
    if (home < 0 || program_.value[home].layout == program_.value[value].layout) return;
    const int back = book_.add(tensor, program_.value[home].layout, {}, program_.value[home].storage);
    step(true, program_.move.push({value, back, -1}));
  }

  strategy_value strategy_;
  sharded_program program_;
  strategy_layouts layouts_;
  version_book book_;
  int ring_;                          ///< axis, or -1
  growing_array<layout_value> base_;  ///< of each parameter: what computing wants
  graph_phase phase_ = graph_phase::forward;
  int segment_ = -1;
};

}}  // namespace hyperparallel::v0_2
