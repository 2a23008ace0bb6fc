// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of one tier, handed out by tensor name, with a capacity that is enforced.
//
// A block is the lowest free piece that is large enough (first fit), or the smallest such piece and of equals the
// lowest (best fit). Sizes are rounded up to multiples of 64 bytes, the capacity down, so that every block begins on a
// cache line; a tensor without bytes takes none. Freed blocks join their free neighbours.
//
// Laws: blocks of different tensors never overlap; used + free = capacity; high water = the highest address ever handed
// out, so used ≤ high water ≤ capacity; what does not fit is an error that names the tensor, never a growth. Pages of
// memory that nobody has written cost nothing. One thread at a time; blocks may be used by any.
// O(free pieces) an allocation, O(log) a release.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class tier_code : unsigned char {
  capacity_is_negative,
  capacity_is_not_available,
  size_is_negative,
  name_is_taken,
  name_is_unknown,
  capacity_exceeded,
  no_piece_is_large_enough,
};

constexpr const char* to_text(tier_code c) {
  constexpr const char* texts[] = {"the capacity is negative",
                                   "the system does not give that much memory",
                                   "the size is negative",
                                   "the tensor has a block already",
                                   "the tensor has no block",
                                   "the capacity is exceeded",
                                   "enough is free, but in pieces that are too small"};
  return detail::enum_text<tier_code::no_piece_is_large_enough>(texts, c);
}

/// One line: the tier, the tensor, what was asked, what was free altogether and in one piece.
struct tier_error : std::runtime_error {
  tier_code code;
  std::string tier;
  std::string tensor;  ///< empty where the tier itself is at fault
  std::int64_t bytes_asked;
  std::int64_t bytes_free;
  std::int64_t largest_free;

  tier_error(tier_code code_, std::string tier_, std::string tensor_, std::int64_t asked, std::int64_t free_,
             std::int64_t largest);
};

enum class tier_fit : unsigned char { first, best };

class tier_memory {
 public:
  /// A piece of the tier. `bytes` is what was asked; it takes that rounded up.
  struct block {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    friend constexpr bool operator==(const block&, const block&) = default;
  };

  /// Throws tier_error when the system refuses the memory.
  tier_memory(std::string name, std::int64_t capacity, tier_fit fit = tier_fit::best);

  const std::string& name() const { return name_; }
  std::int64_t capacity() const { return capacity_; }
  std::int64_t bytes_used() const { return used_; }
  std::int64_t bytes_free() const { return capacity_ - used_; }
  std::int64_t most_used() const { return most_used_; }
  std::int64_t high_water() const { return memory_.high_water(); }
  int tensors() const { return static_cast<int>(blocks_.size()); }

  /// O(free pieces).
  std::int64_t largest_free() const;

  /// Bytes that are free and yet of no use for the largest tensor that could still come.
  std::int64_t bytes_fragmented() const { return bytes_free() - largest_free(); }

  /// Bytes that order and rounding have cost: the highest address beyond the most that was in use at one time.
  std::int64_t bytes_lost() const { return high_water() - most_used_; }

  bool holds(std::string_view tensor) const { return blocks_.find(tensor) != blocks_.end(); }
  bool fits(std::int64_t bytes) const {
    return bytes == 0 || (bytes > 0 && bytes <= capacity_ && room_for(rounded(bytes)) != free_.end());
  }

  /// Throws tier_error when the tensor has a block already or none is left for it.
  block allocate(std::string_view tensor, std::int64_t bytes);

  /// Gives the tensor's block back. Throws tier_error when it has none.
  void release(std::string_view tensor);

  /// Throws tier_error when the tensor has no block.
  block find(std::string_view tensor) const;

  /// First byte of a block, 64-byte aligned.
  std::byte* address(const block& b) const { return memory_.data() + b.offset; }
  std::byte* address(std::string_view tensor) const { return address(find(tensor)); }

 private:
  using pieces = std::map<std::int64_t, std::int64_t>;  // bytes by offset; no two touch

  static constexpr std::int64_t rounded(std::int64_t bytes) {
    return (bytes + arena::alignment - 1) / arena::alignment * arena::alignment;
  }

  pieces::const_iterator room_for(std::int64_t size) const;

  tier_error refusal(tier_code code, std::string_view tensor, std::int64_t asked) const;

  std::string name_;
  tier_fit fit_;
  std::int64_t capacity_;
  std::int64_t used_ = 0;
  std::int64_t most_used_ = 0;
  arena memory_;
  pieces free_;
  std::map<std::string, block, std::less<>> blocks_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/tiers/tier_memory.ipp>
#endif
