// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memories of the simulated ranks of a program, and the way of whole tensors into them and out of them.
//
// Every rank has one arena a tier, laid out by the program's places; where ranks live on several processes, each has
// the arenas of its own. Laws: `scatter` gives each rank its box of the tensor; `gather` puts the boxes together, one
// replica of each, and folds the terms of a partial value in the order of positions; gather after scatter is the
// identity, bit by bit. O(positions² + elements).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/exec/huge_pages.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/kernels/widened_kernel.hpp>
#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/transfer/copy_boxes.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The block of a rank that `gather` reads.
struct gathered_block {
  int rank = 0;
  int term = 0;  ///< number of the term that it belongs to; terms follow one another
  box part{};
};

/// Every rank of the program.
std::vector<int> all_ranks(const sharded_program& p);

class program_memory {
 public:
  /// `p` and `s` must outlive the memory.
  program_memory(const sharded_program& p, const program_slots& s) : program_memory(p, s, all_ranks(p)) {}
  /// The memories of the ranks of `hosted` alone.
  program_memory(const sharded_program& p, const program_slots& s, const std::vector<int>& hosted);

  /// Of the program.
  int ranks() const { return static_cast<int>(place_.size()); }
  bool hosts(int rank) const { return place_[at(rank)] >= 0; }
  const std::vector<int>& hosted() const { return hosted_; }
  int tiers() const { return slots_.tiers; }
  /// The highest address of a tier that a rank's places reach, bytes. Domain here and below: the rank's memory is here.
  std::int64_t high_water(int rank, int tier = 0) const { return arenas_.high_water(place_[at(rank)], tier); }
  std::byte* address(int place, int rank) const;
  std::byte* block(int value, int rank) const { return address(program_.value[value].storage, rank); }

  /// Whether the rank is of the part that has the value.
  bool has(int value, int rank) const {
    return detail::part_of_rank(program_, rank) == detail::part_of_value(program_, value);
  }
  int first_rank(int value) const { return first_rank_of(program_, detail::part_of_value(program_, value)); }

  /// `whole` is the tensor, row-major, in elements of the program's type.
  void scatter(int value, const std::byte* whole) const;
  /// Zeros on every rank.
  void clear(int value) const {
    for (const int r : hosted_)
      if (has(value, r)) std::memset(block(value, r), 0, static_cast<std::size_t>(local_bytes(program_, value)));
  }

  /// What `gather` reads: of each term each box once, from the first rank that holds it.
  detail::light_vector<gathered_block> gathered_blocks(int value) const;

  /// Fills `whole` with elements of type U. Domain: U stores the tensor's type, or is a float wider than it.
  template <class U>
  void gather(int value, U* whole) const {
    gather(value, whole, gathered_blocks(value), [&](std::size_t, int rank) { return block(value, rank); });
  }
  /// The same of blocks wherever they are: `source(i, rank)` is the first byte of `blocks[i]`.
  template <class U, class Source>
  void gather(int value, U* whole, const detail::light_vector<gathered_block>& blocks, const Source& source) const {
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
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const gathered_block& b = blocks[i];
      U* const to = b.term == 0 ? whole : term.data();
      if (t.type == detail::data_type_of<U>) {
        copy_box(copy_between(b.part, all, b.part, bytes_of(t.type)), source(i, b.rank),
                 reinterpret_cast<std::byte*>(to));
      } else if constexpr (std::is_floating_point_v<U>) {
        std::vector<U> wide(static_cast<std::size_t>(volume(b.part)));
        const std::byte* const stored = source(i, b.rank);
        detail::visit_float(
            t.type, [&]<class Storage>(std::type_identity<Storage>) { detail::load_block<U, Storage>(stored, wide); });
        copy_box(copy_between(b.part, all, b.part, static_cast<int>(sizeof(U))),
                 reinterpret_cast<const std::byte*>(wide.data()), reinterpret_cast<std::byte*>(to));
      }
      const bool complete = i + 1 == blocks.size() || blocks[i + 1].term != b.term;
      for (extent_t e = 0; b.term > 0 && complete && e < elements; ++e)
        whole[e] = folded(op, whole[e], term[static_cast<std::size_t>(e)]);
    }
    for (extent_t i = 0; divisor > 1 && i < elements; ++i)
      whole[i] = static_cast<U>(whole[i] / static_cast<U>(divisor));
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  const graph_tensor& tensor_of(int value) const { return program_.graph.tensor[program_.value[value].tensor]; }

  static box whole_box(const shape& s);
  /// Whether two positions hold boxes of one term.
  static bool same_term(const layout_value& l, int a, int b);
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
  std::vector<int> hosted_;
  std::vector<int> place_;  ///< of each rank among `hosted`, or -1
  arena_set arenas_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/program_memory.ipp>
#endif
