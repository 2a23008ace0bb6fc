// SPDX-License-Identifier: Apache-2.0
#pragma once
// A set of ranks that gives the next one above or below a rank: who can go on, where most ranks wait.
//
//   ready_ranks ready(ranks);                      all of them
//   for (int r = ready.next(0); r >= 0; r = ready.next(r + 1)) if (stands_still(r)) ready.erase(r);
//
// Words of 64 ranks, and above each 64 words one that says which of them are not empty. Laws: next and previous agree with
// a walk over a list of flags, also while the set changes; insert and erase twice are as once.
// Domain: 0 ≤ rank < ranks; next of any rank from 0 on. Complexity: log₆₄ ranks for each call, ranks / 63 words.

#include <cstdint>

#include <hyperparallel/support/growing_array.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class ready_ranks {
 public:
  constexpr ready_ranks() = default;
  /// Every rank is in it.
  constexpr explicit ready_ranks(int ranks) : ranks_(ranks) {
    for (int size = ranks; depth_ == 0 || size > 1; ++depth_) {
      first_[depth_] = words_.size;
      const int words = size / 64 + (size % 64 != 0 ? 1 : 0);
      for (int w = 0; w < words; ++w)
        words_.push(w < size / 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (size % 64)) - 1);
      size = words;
    }
  }

  constexpr bool holds(int rank) const { return (words_.item[rank / 64] >> (rank % 64)) % 2 != 0; }
  constexpr void insert(int rank) {
    for (int d = 0, at = rank; d < depth_; ++d, at /= 64) {
      std::uint64_t& word = words_.item[first_[d] + at / 64];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << (at % 64);
      if (!was_empty) return;
    }
  }
  constexpr void erase(int rank) {
    for (int d = 0, at = rank; d < depth_; ++d, at /= 64) {
      std::uint64_t& word = words_.item[first_[d] + at / 64];
      word &= ~(std::uint64_t{1} << (at % 64));
      if (word != 0) return;
    }
  }
  /// The least rank in it from `rank` on; −1: there is none.
  constexpr int next(int rank) const {
    if (rank >= ranks_) return -1;
    int d = 0, at = rank;
    for (; d < depth_; ++d, at = at / 64 + 1) {
      const int w = at / 64;
      if (w >= words(d)) return -1;
      const std::uint64_t left = words_.item[first_[d] + w] >> (at % 64);
      if (left == 0) continue;
      at += __builtin_ctzll(left);
      while (d-- > 0) at = at * 64 + __builtin_ctzll(words_.item[first_[d] + at]);
      return at;
    }
    return -1;
  }
  /// The largest rank in it up to `rank`; −1: there is none.
  constexpr int previous(int rank) const {
    int d = 0, at = rank;
    for (; d < depth_ && at >= 0; ++d, at = at / 64 - 1) {
      const std::uint64_t left = words_.item[first_[d] + at / 64] << (63 - at % 64);
      if (left == 0) continue;
      at -= __builtin_clzll(left);
      while (d-- > 0) at = at * 64 + 63 - __builtin_clzll(words_.item[first_[d] + at]);
      return at;
    }
    return -1;
  }

 private:
  static constexpr int most_depth = 6;  // 64⁶ ranks are more than an int counts
  constexpr int words(int depth) const {
    return (depth + 1 < depth_ ? first_[depth + 1] : words_.size) - first_[depth];
  }

  growing_array<std::uint64_t> words_;
  int first_[most_depth] = {};  ///< of each level, from that of the ranks up
  int depth_ = 0, ranks_ = 0;
};

}}}  // namespace hyperparallel::v0_2::detail
