// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checksum of io/checksum.hpp of bytes that come in any order, by several threads.
//
//   piecewise_checksum sum(bytes);          of so many bytes
//   sum.add(begin, piece);                               at their place; in any order, each byte once
//   sum.value();                                         == hp::checksum_of(all the bytes)
//
// A cyclic redundancy check is linear: that of a whole is the exclusive or of its pieces', each multiplied by x^(8 · bytes behind it)
// modulo the polynomial. On processors of x86-64 that multiply without carry, 64 bytes are folded at a time.
//
// Laws: the value depends on the bytes and their places only. O(bytes + pieces · log bytes).
// References: Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ", 2009.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "library.hpp"

namespace hp_tool::reshard {

/// Sums of disjoint pieces are added by `combine`.
class piecewise_checksum {
 public:
  explicit piecewise_checksum(std::int64_t bytes) : bytes_(bytes) {}

  /// Precondition: the piece lies within the bytes and no byte is added twice.
  void add(std::int64_t begin, std::span<const std::byte> piece);

  /// The sum of other pieces of the same bytes, as `part` gives it.
  void combine(std::uint64_t part) { sum_ ^= part; }
  std::uint64_t part() const { return sum_; }

  /// Precondition: every byte is added.
  std::uint64_t value() const;

 private:
  std::int64_t bytes_;
  std::uint64_t sum_ = 0;
};

/// Those of all tensors of the files of a set.
class set_checksums {
 public:
  /// A file more, of tensors of so many bytes.
  void add_file(const std::vector<std::int64_t>& bytes) { sums_.emplace_back(bytes.begin(), bytes.end()); }

  /// Adds the sum of pieces of a tensor. False where there is no such tensor.
  bool combine(std::int64_t file, std::int64_t tensor, std::uint64_t part);
  std::uint64_t value(std::size_t file, std::size_t tensor) const { return sums_[file][tensor].value(); }

 private:
  std::vector<std::vector<piecewise_checksum>> sums_;
};

}  // namespace hp_tool::reshard
