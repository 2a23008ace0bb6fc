// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checksums of the pieces of a message, which travel behind them.
//
// The sender takes the sum of each piece from its block as the message is posted, the receiver from where the piece has come to lie,
// and compares them. Law: where what has arrived differs from what the sum was taken of, in a block, on the way or in the sum, the
// first piece that does is named (but for 2^-64, world/block_checksum.hpp). O(bytes); pieces with gaps are copied once.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/transfer/copy_boxes.hpp>
#include <hyperparallel/world/block_checksum.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class message_sums {
 public:
  /// Adds a piece that `pack` takes out of `block` into a dense one. `rank` is the one that receives it.
  void add(const strided_copy& pack, const std::byte* block, int rank) {
    pieces_.push_back({pack, block, rank});
    sums_.push_back(0);
  }
  /// The copy out of a dense block turned round.
  static strided_copy reversed(strided_copy copy) {
    std::swap(copy.source_start, copy.target_start);
    for (int d = 0; d < copy.dims; ++d) std::swap(copy.source_step[d], copy.target_step[d]);
    return copy;
  }

  /// What is sent and received behind the pieces.
  std::int64_t bytes() const { return static_cast<std::int64_t>(sums_.size() * sizeof(std::uint64_t)); }
  std::byte* data() { return reinterpret_cast<std::byte*>(sums_.data()); }

  void take() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) sums_[i] = sum_of(pieces_[i]);
  }
  /// The rank of the first piece that is not what was sent, or -1.
  int first_damaged() const {
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (sums_[i] != sum_of(pieces_[i])) return pieces_[i].rank;
    return -1;
  }

 private:
  struct piece {
    strided_copy pack{};
    const std::byte* block = nullptr;
    int rank = 0;
  };

  std::uint64_t sum_of(const piece& p) const {
    if (p.pack.dims == 0) return block_checksum(p.block + p.pack.source_start, p.pack.run, 0);
    strided_copy dense = p.pack;
    dense.target_start = 0;
    const std::int64_t bytes = byte_count(dense);
    if (dense_.size() < static_cast<std::size_t>(bytes)) dense_.resize(static_cast<std::size_t>(bytes));
    copy_strided(dense, p.block, dense_.data());
    return block_checksum(dense_.data(), bytes, 0);
  }

  std::vector<piece> pieces_;
  std::vector<std::uint64_t> sums_;
  mutable std::vector<std::byte> dense_;
};

}}}  // namespace hyperparallel::v0_2::detail
