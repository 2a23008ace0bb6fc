// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memories of the simulated ranks of a program, and the way of whole tensors into them and out of them.
//
// Every rank has one arena, laid out by the program's places. Laws: `scatter` gives each rank its box of the tensor;
// `gather` puts the boxes together, one replica of each, and folds the terms of a partial value in the order of
// positions; gather after scatter is the identity, bit by bit. O(positions² + elements).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <hyperparallel/program/program_slots.hpp>
#include <hyperparallel/runtime/arena.hpp>
#include <hyperparallel/runtime/copy_boxes.hpp>
#include <hyperparallel/runtime/huge_pages.hpp>

namespace hyperparallel {

class program_memory {
 public:
  /// `p` and `s` must outlive the memory.
  program_memory(const sharded_program& p, const program_slots& s)
      : program_(p), slots_(s), ranks_(position_count(p.mesh.shape)) {
    const std::int64_t bytes[] = {s.bytes};
    arenas_ = arena_set(ranks_, bytes);
    for (int r = 0; r < ranks_; ++r) {
      prefer_huge_pages(arenas_.address(r, 0, 0), s.bytes);
      for (slot one : s.memory) {
        one.rank = r;
        arenas_.place(one);
      }
    }
  }

  int ranks() const { return ranks_; }
  /// The highest address that a rank's places reach, bytes.
  std::int64_t high_water(int rank) const { return arenas_.high_water(rank, 0); }
  std::byte* address(int place, int rank) const {
    return arenas_.address(rank, 0, slots_.place[place].offset, slots_.place[place].bytes);
  }
  std::byte* block(int value, int rank) const { return address(program_.value[value].storage, rank); }

  /// `whole` is the tensor, row-major, in elements of the program's type.
  void scatter(int value, const std::byte* whole) const {
    const graph_tensor& t = tensor_of(value);
    const box all = whole_box(t.shape);
    for (int r = 0; r < ranks_; ++r) {
      const box part = box_of(program_, value, r);
      copy_box(copy_between(all, part, part, bytes_of(t.type)), whole, block(value, r));
    }
  }
  /// Zeros on every rank.
  void clear(int value) const {
    for (int r = 0; r < ranks_; ++r)
      std::memset(block(value, r), 0, static_cast<std::size_t>(local_bytes(program_, value)));
  }

  /// Fills `whole` with elements of type U. Domain: sizeof(U) are the bytes of the tensor's elements.
  template <class U>
  void gather(int value, U* whole) const {
    const graph_tensor& t = tensor_of(value);
    const layout_value& l = program_.value[value].layout;
    const extent_t elements = elements_of(t);
    reduce_op op = reduce_op::none;
    extent_t divisor = 1;
    for (int a = 0; a < l.mesh.axis_count; ++a) {
      if (l.partial[a] == reduce_op::none) continue;
      op = l.partial[a];
      if (op == reduce_op::avg) divisor *= l.mesh.size[a];
    }
    const box all = whole_box(t.shape);
    std::vector<U> term(op == reduce_op::none ? 0 : static_cast<std::size_t>(elements));
    std::vector<box> known;  // boxes of the term at hand
    std::vector<bool> taken(static_cast<std::size_t>(ranks_), false);
    bool first = true;
    for (int leader = 0; leader < ranks_; ++leader) {
      if (taken[at(leader)]) continue;
      known.clear();
      U* const to = first ? whole : term.data();
      for (int r = leader; r < ranks_; ++r) {
        if (taken[at(r)] || !same_term(l, leader, r)) continue;
        taken[at(r)] = true;
        const box part = box_of(program_, value, r);
        bool repeated = false;
        for (const box& one : known) repeated = repeated || one == part;
        if (repeated) continue;
        known.push_back(part);
        copy_box(copy_between(part, all, part, bytes_of(t.type)), block(value, r), reinterpret_cast<std::byte*>(to));
      }
      for (extent_t i = 0; !first && i < elements; ++i)
        whole[i] = folded(op, whole[i], term[static_cast<std::size_t>(i)]);
      first = false;
    }
    for (extent_t i = 0; divisor > 1 && i < elements; ++i)
      whole[i] = static_cast<U>(whole[i] / static_cast<U>(divisor));
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  const graph_tensor& tensor_of(int value) const { return program_.graph.tensor[program_.value[value].tensor]; }

  static box whole_box(const shape& s) {
    box b;
    b.rank = s.rank;
    for (int d = 0; d < s.rank; ++d) b.dim[d] = {0, s.extent[d]};
    return b;
  }
  /// Whether two positions hold boxes of one term.
  static bool same_term(const layout_value& l, int a, int b) {
    const coordinate x = coordinates_of(l.mesh, a), y = coordinates_of(l.mesh, b);
    for (int axis_number = 0; axis_number < l.mesh.axis_count; ++axis_number)
      if (l.partial[axis_number] != reduce_op::none && x.at[axis_number] != y.at[axis_number]) return false;
    return true;
  }
  template <class U>
  static U folded(reduce_op op, U a, U b) {
    switch (op) {
      case reduce_op::max:
        return a < b ? b : a;
      case reduce_op::min:
        return b < a ? b : a;
      case reduce_op::prod:
        return static_cast<U>(a * b);
      case reduce_op::all:
        return static_cast<U>(a != U{} && b != U{});
      case reduce_op::any:
        return static_cast<U>(a != U{} || b != U{});
      case reduce_op::none:
      case reduce_op::sum:
      case reduce_op::avg:
        break;
    }
    return static_cast<U>(a + b);
  }

  const sharded_program& program_;
  const program_slots& slots_;
  int ranks_;
  arena_set arenas_;
};

}  // namespace hyperparallel
