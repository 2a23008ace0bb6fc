// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records of one receiver in one step of a redistribution plan: boxes that it copies or folds, and who sends them.
//
// Whoever carries a step out reads these records: tasks of a program, moves of arenas and of dtensors, and processes,
// which turn the records of other processes' senders into messages. Laws: the parts of a receiver's records are
// disjoint, and with its fill they cover its block; terms of a record lie at equal offsets of their senders' blocks,
// because contributors differ only on axes that do not shard the source, and are folded in the order listed, so that
// the bits do not depend on who runs when or on the transport; `received` is what the plan's certificate counts.
// Units: bytes, but for counts of elements. O(transfers of the receiver) to make.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/redistribution/move_rows.hpp>
#include <hyperparallel/transfer/copy_schedule.hpp>
#include <hyperparallel/transfer/planned_tensor.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Elements of a block that no sender brings: the identity of its reduction.
struct block_fill {
  extent_t elements = 0;  ///< 0: the step brings the whole block
  std::int64_t bytes = 0;
  data_type type = data_type::f32;
  reduce_op op = reduce_op::none;

  void write(std::byte* block) const {
    if (elements == 0) return;
    std::memset(block, 0, static_cast<std::size_t>(bytes));
    detail::write_identity(op, type, elements, block);
  }
};

/// A block: its box, and of a box that goes beyond the tensor (redistribution/padded_move.hpp) the elements that there
/// are under one index of the dims before `cut_dim`. A block between two steps has room for all of its box: -1.
struct framed_block {
  hyperparallel::box box{};
  int cut_dim = -1;
  extent_t under = 0;
};

/// The copy of `part` from one block into another. Domain: both contain it.
constexpr box_copy copy_between(const framed_block& from, const framed_block& to, const box& part, int element_bytes) {
  box_copy c = copy_between(from.box, to.box, part, element_bytes);
  c.cut_dim = from.cut_dim < 0 ? to.cut_dim : from.cut_dim;
  if (c.cut_dim < 0) return c;
  const auto under = [&](const framed_block& b) {
    if (b.cut_dim >= 0) return b.under;
    extent_t n = 1;
    for (int d = c.cut_dim; d < b.box.rank; ++d) n *= b.box.dim[d].end - b.box.dim[d].begin;
    return n;
  };
  c.source_under = under(from);
  c.target_under = under(to);
  return c;
}

/// A box with the blocks that it is read from; more than one of them are terms.
struct step_record {
  box part{};           ///< in coordinates of the whole tensor; rank 0 for whole blocks
  framed_block held{};  ///< the senders' blocks
  strided_copy copy{};
  int first_term = 0;
  int terms = 1;
};

/// All that a receiver does in a step.
struct receiver_records {
  framed_block wanted{};  ///< the receiver's block
  int element_bytes = 0;
  std::int64_t received = 0;  ///< that others bring
  kernels::term_fold fold{};
  block_fill fill{};
  detail::light_vector<step_record> record{};
  std::vector<int> sender{};  ///< of each term: its position on the source's mesh, or in the block before

  const int* senders(const step_record& r) const { return sender.data() + r.first_term; }
  std::int64_t bytes(const step_record& r) const { return byte_count(r.copy); }
  /// From a sender's block into a dense one that holds the part alone, and out of that into the receiver's block.
  strided_copy pack(const step_record& r) const {
    return r.part.rank == 0 ? r.copy : flatten(copy_between(r.held, {r.part}, r.part, element_bytes));
  }
  strided_copy unpack(const step_record& r) const {
    return r.part.rank == 0 ? r.copy : flatten(copy_between({r.part}, wanted, r.part, element_bytes));
  }
};

/// The records of `position` in step `step` of `plan`. Elements that are only copied need no type. Domain: `plan.code`
/// is ok, the step is one of the plan's, the position one of its target mesh (of its source mesh in a collect).
receiver_records records_of(const move_plan& plan, int step, int position, moved_element element);

/// The same in row `row` of a move. Parts of two read and write the whole source and target, each an interval of the dim
/// that they share, and the one whose last row comes first fills.
receiver_records records_of(const move_parts& move, const growing_array<move_row>& rows, int row, int position,
                            moved_element element);

namespace detail {

/// A receiver that takes a whole block of `bytes` from `sender`: one of a rotation, or its own.
receiver_records whole_block_records(int sender, std::int64_t bytes, bool is_own);

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/step_records.ipp>
#endif
