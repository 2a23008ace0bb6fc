// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sharded program in words, line by line: what processes compare before they run it together.
//
// Laws: two programs with equal statements have the same values, steps and ways to move, so the same messages. Lines come from
// coarse to fine: mesh, micro-batches, each tensor, each value with its layout, each step with its operator, so that
// the first line in which two processes differ tells most. O(tensors + values + steps).

#include <charconv>
#include <string>

#include <hyperparallel/mpi/statement.hpp>
#include <hyperparallel/strategy/move_kinds.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

inline std::string labelled_mesh_text(const mesh_value& m) {
  std::string text;
  for (int a = 0; a < m.shape.axis_count; ++a)
    text += (a > 0 ? ", " : "") + std::string(m.label[a].text) + "=" + std::to_string(m.shape.size[a]);
  return text.empty() ? "of one device" : text;
}

/// A number and what parts it from the text before. Character by character: g++ 12 warns of `" " + std::to_string(n)` at
/// -O3 (GCC bug 105651).
inline void add_number(std::string& text, char before, extent_t number) {
  text += before;
  text += std::to_string(number);
}

/// Which axes shard which loops, in order.
inline std::string placement_text(const operator_placement& p) {
  std::string text;
  for (int i = 0; i < p.count; ++i) {
    const int a = p.axis[i];
    add_number(text, ' ', a);
    add_number(text, ':', p.loop[a]);
    if (p.turned[a] >= 0) add_number(text, '/', p.turned[a]);
  }
  return text;
}

/// The shortest text that is this number and no other.
inline std::string number_text(double number) {
  char text[32] = {};
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

inline std::string operator_text(const sharded_program& p, const program_compute& c) {
  const graph_operator& op = p.graph.op[c.op];
  std::string text = std::string(p.graph.text_at(op.name)) + " (" + p.graph.value_of(op).name + ") placed" +
                     placement_text(c.placement) + " turned " + std::to_string(op.rotation) + " with";
  for (const extent_t number : op.integer) add_number(text, ' ', number);
  for (const double number : op.real) text.append(1, ' ').append(number_text(number));
  text += " loops";
  for (int l = 0; l < op.loop_count; ++l) add_number(text, ' ', op.loop[l].extent);
  text += " of";
  for (int i = 0; i < op.operand_count; ++i) add_number(text, ' ', c.operand[i]);
  text += " to";
  for (int i = 0; i < op.result_count; ++i) add_number(text, ' ', c.result[i]);
  return text;
}

/// The statement of a program that is carried out by `moves`, each line ended.
inline std::string statement_of(const sharded_program& p, const program_moves& moves) {
  std::string text;
  for (int k = 0; k < parts_of(p); ++k) text += "mesh " + detail::labelled_mesh_text(named_mesh_of_part(p, k)) + "\n";
  text += std::to_string(p.graph.micro_batches) + " micro-batches\n" + std::to_string(parts_of(p)) + " parts\n" +
          std::to_string(p.graph.tensor.size) + " tensors\n";
  for (int t = 0; t < p.graph.tensor.size; ++t) {
    const graph_tensor& one = p.graph.tensor[t];
    text += std::string("tensor ") + p.graph.name_of_tensor(t) + " " +
            detail::extents_text(one.shape.extent, one.shape.rank) + " " + name_of(one.type) + "\n";
  }
  for (const program_value& v : p.value) {
    text += std::string("value of ") + p.graph.name_of_tensor(v.tensor) + " " + detail::layout_text(v.layout);
    if (v.rotation.axis >= 0)
      text += " turned " + std::to_string(v.rotation.by) + " along " + std::to_string(v.rotation.axis);
    text += " in storage " + std::to_string(v.storage) + " of part " + std::to_string(p.storage[v.storage].part) + "\n";
  }
  for (const program_step& s : p.step) {
    text += s.is_move ? "move of value " + std::to_string(p.move[s.index].source) + " to " +
                            std::to_string(p.move[s.index].target) + ", " + name_of(kind_of(moves, s.index).candidate)
                      : detail::operator_text(p, p.compute[s.index]);
    if (s.tile.dim >= 0)
      text += ", tile " + std::to_string(s.tile.index) + " of " + std::to_string(s.tile.count) + " of every " +
              std::to_string(s.tile.shard) + " " + p.graph.name_of_dim(s.tile.dim);
    if (s.tile.inner.dim >= 0)
      text += " by " + std::to_string(s.tile.inner.count) + " of every " + std::to_string(s.tile.inner.shard) + " " +
              p.graph.name_of_dim(s.tile.inner.dim);
    text += std::string(", ") + name_of(s.phase) + "\n";
  }
  for (const int t : p.graph.monitor) text += std::string("kept ") + p.graph.name_of_tensor(t) + "\n";
  return text;
}

}}}  // namespace hyperparallel::v0_2::detail
