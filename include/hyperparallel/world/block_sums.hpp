// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checksums of the blocks of a program, taken when they have been written and compared when they are read.
//
// A block has one sum, or one of each piece that steps in tiles distinguish: what one tile of every kind has in common. A writer
// of bytes takes the sums of their pieces and a reader compares them, so that sums are ordered by the same waits as the
// bytes. What a move stages between its steps is one piece. Laws: the pieces of a block partition it, and a tile is some of
// them; where a sum is known and every write is followed by `take`, `check` throws if and only if a bit of the piece
// has changed (but for 2^-64, block_checksum.hpp). O(bytes of the pieces); to make O(steps + runs of the pieces).

#include <cstddef>
#include <cstdint>
#include <vector>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/lowering/program_slots.hpp>
#include <hyperparallel/tiles/tile_box.hpp>
#include <hyperparallel/world/block_checksum.hpp>
#include <hyperparallel/world/corruption_checks.hpp>
#include <hyperparallel/world/program_memory.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Bytes that a step touches of a value's block on a rank: those of its tile, or all.
light_vector<byte_run> runs_of(const sharded_program& p, int value, const step_tile& tile, int rank);

class block_sums {
 public:
  /// Bytes of a block that are written together.
  struct piece {
    const std::byte* block = nullptr;
    light_vector<byte_run> run;
    std::uint64_t sum = 0;
    bool known = false;
  };
  using list = std::vector<int>;

  /// Of the ranks whose memory is here. Program and memory must outlive it.
  block_sums(const sharded_program& p, const program_slots& s, const program_memory& memory);

  /// The pieces of a place (program_slots.hpp) that a step of this tile touches on a rank. `value` is the one that the step
  /// knows the place by, -1 of what a move stages. Empty where the rank has no such block.
  list pieces_of(int place, int value, const step_tile& tile, int rank) const;

  void take(const list& pieces);
  /// What is there is nobody's any more.
  void forget(const list& pieces) {
    for (const int i : pieces) piece_[static_cast<std::size_t>(i)].known = false;
  }
  /// Throws corruption_error.
  void check(const list& pieces) const;

  /// The block of a value on a rank, all of it.
  void take(int value, int rank) { take(pieces_of(program_.value[value].storage, value, {}, rank)); }
  void check(int value, int rank) const { check(pieces_of(program_.value[value].storage, value, {}, rank)); }
  /// The same on all ranks of its part.
  void take(int value);
  void check(int value) const;

 private:
  struct home {
    int place = 0, rank = 0;
  };
  /// Tiles of one kind: that of index 0, and a value in whose block they lie.
  struct cut {
    step_tile tile{};
    int value = -1;
  };
  struct range {
    int first = 0, count = 0;
  };
  std::size_t at(int place, int rank) const { return static_cast<std::size_t>(place * ranks_ + rank); }
  void find_cuts();
  void add_pieces(int place, int rank, const std::byte* block);

  const sharded_program& program_;
  int ranks_;
  std::vector<int> value_;               ///< of each storage: one that steps touch, or -1
  light_vector<light_vector<cut>> cut_;  ///< of each storage; a piece counts their indices, the last one fastest
  light_vector<range> range_;            ///< of each place and rank: its pieces
  light_vector<piece> piece_;
  light_vector<home> home_;  ///< of each piece
};

}}}  // namespace hyperparallel::v0_2::detail

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/world/block_sums.ipp>
#endif
