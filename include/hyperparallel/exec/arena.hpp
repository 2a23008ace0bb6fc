// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of the simulated ranks: one arena per rank and memory tier, addressed by byte offset.
//
// An arena is one 64-byte aligned block that reads as zero until it is written; the operating system hands its pages
// out on first use, so a large tier costs nothing while it is empty. Offsets come from a plan; the arena only guards
// them. Law: high water = the highest address ever placed, so it never falls and never exceeds the arena's bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Something did not fit into an arena. `bytes_free` counts from the asked offset to the arena's end, never negative.
struct arena_error : std::runtime_error {
  int rank;
  int tier;
  std::int64_t bytes_asked;
  std::int64_t bytes_free;

  arena_error(int rank_, int tier_, std::int64_t offset, std::int64_t asked, std::int64_t free_);
};

/// One block of bytes. Movable, so addresses stay valid when the set that holds it moves.
class arena {
 public:
  static constexpr std::int64_t alignment = 64;

  arena() = default;

  /// Domain: bytes ≥ 0. Throws std::bad_alloc when the system refuses.
  explicit arena(std::int64_t bytes);

  arena(arena&& other) noexcept { swap(other); }
  arena& operator=(arena&& other) noexcept {
    swap(other);
    return *this;
  }
  ~arena() { std::free(block_); }

  std::byte* data() const { return base_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t high_water() const { return high_water_; }

  /// Bytes left when [offset, offset + bytes) is asked for; -1 when the range lies inside the arena.
  std::int64_t shortage_free(std::int64_t offset, std::int64_t bytes) const;

  /// Raises the high-water mark. Domain: the range lies inside the arena.
  void place(std::int64_t offset, std::int64_t bytes) {
    if (offset + bytes > high_water_) high_water_ = offset + bytes;
  }

 private:
  void swap(arena& other) noexcept;

  std::byte* block_ = nullptr;
  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t high_water_ = 0;
};

/// All arenas of a world. Kernels of any thread may take addresses concurrently; `place` belongs to set-up.
class arena_set {
 public:
  arena_set() = default;

  /// The same tiers on every rank: `tier_bytes[t]` bytes of tier t. Domain: ranks ≥ 0, every size ≥ 0.
  arena_set(int ranks, std::span<const std::int64_t> tier_bytes);

  int ranks() const { return ranks_; }
  int tiers() const { return tiers_; }
  std::int64_t bytes(int rank, int tier) const { return at(rank, tier, 0, 0).bytes(); }
  std::int64_t high_water(int rank, int tier) const { return at(rank, tier, 0, 0).high_water(); }

  /// First byte of the slot's range. Throws arena_error when the range does not lie inside the arena.
  std::byte* address(int rank, int tier, std::int64_t offset, std::int64_t bytes = 0) const {
    return at(rank, tier, offset, bytes).data() + offset;
  }
  std::byte* address(const slot& s) const { return address(s.rank, s.tier, s.offset, s.bytes); }

  /// `count` objects of T from `offset`. Domain: offset is a multiple of alignof(T); throws arena_error past the end.
  template <class T>
  std::span<T> span(int rank, int tier, std::int64_t offset, std::int64_t count) const {
    std::byte* const first = address(rank, tier, offset, count * static_cast<std::int64_t>(sizeof(T)));
    return {reinterpret_cast<T*>(first), static_cast<std::size_t>(count)};
  }
  template <class T>
  std::span<T> span(const slot& s) const {
    return span<T>(s.rank, s.tier, s.offset, s.bytes / static_cast<std::int64_t>(sizeof(T)));
  }

  /// Registers a slot: checks its range and raises the high-water mark. Throws arena_error when it does not fit.
  void place(const slot& s);

 private:
  const arena& at(int rank, int tier, std::int64_t offset, std::int64_t bytes) const;

  int ranks_ = 0;
  int tiers_ = 0;
  detail::light_vector<arena> arenas_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/arena.ipp>
#endif
