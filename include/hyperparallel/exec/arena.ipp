// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of arena.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/exec/arena.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY arena_error::arena_error(int rank_, int tier_, std::int64_t offset, std::int64_t asked,
                                            std::int64_t free_)
    : std::runtime_error("arena of rank " + std::to_string(rank_) + ", tier " + std::to_string(tier_) + ": " +
                         std::to_string(asked) + " bytes asked at offset " + std::to_string(offset) + ", " +
                         std::to_string(free_) + " bytes free"),
      rank(rank_),
      tier(tier_),
      bytes_asked(asked),
      bytes_free(free_) {}

HYPERPARALLEL_BODY arena::arena(std::int64_t bytes) : bytes_(bytes) {
  if (bytes < 0 || bytes > PTRDIFF_MAX - alignment) throw std::bad_alloc{};
  const std::size_t size = static_cast<std::size_t>(bytes);
  constexpr std::size_t align = static_cast<std::size_t>(alignment);
  block_ = static_cast<std::byte*>(std::calloc(size + align, 1));
  if (block_ == nullptr) throw std::bad_alloc{};
  const std::size_t past = reinterpret_cast<std::uintptr_t>(block_) % align;
  base_ = block_ + (align - past) % align;
}

HYPERPARALLEL_BODY std::int64_t arena::shortage_free(std::int64_t offset, std::int64_t bytes) const {
  if (offset >= 0 && bytes >= 0 && offset <= bytes_ && bytes <= bytes_ - offset) return -1;
  return offset >= 0 && offset < bytes_ ? bytes_ - offset : 0;
}

HYPERPARALLEL_BODY void arena::swap(arena& other) noexcept {
  std::swap(block_, other.block_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(high_water_, other.high_water_);
}

HYPERPARALLEL_BODY arena_set::arena_set(int ranks, std::span<const std::int64_t> tier_bytes)
    : ranks_(ranks), tiers_(static_cast<int>(tier_bytes.size())) {
  arenas_.reserve(static_cast<std::size_t>(ranks) * tier_bytes.size());
  for (int r = 0; r < ranks; ++r)
    for (const std::int64_t bytes : tier_bytes) arenas_.emplace_back(bytes);
}

HYPERPARALLEL_BODY void arena_set::place(const slot& s) {
  arena& a = const_cast<arena&>(at(s.rank, s.tier, s.offset, s.bytes));
  a.place(s.offset, s.bytes);
}

HYPERPARALLEL_BODY const arena& arena_set::at(int rank, int tier, std::int64_t offset, std::int64_t bytes) const {
  if (rank < 0 || rank >= ranks_ || tier < 0 || tier >= tiers_) throw arena_error(rank, tier, offset, bytes, 0);
  const arena& a = arenas_[static_cast<std::size_t>(rank * tiers_ + tier)];
  const std::int64_t free_bytes = a.shortage_free(offset, bytes);
  if (free_bytes >= 0) throw arena_error(rank, tier, offset, bytes, free_bytes);
  return a;
}

}}  // namespace hyperparallel::v0_2
