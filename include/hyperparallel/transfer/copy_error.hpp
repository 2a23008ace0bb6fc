// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a copy engine, or a copy, is refused or failed.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class copy_code : unsigned char {
  bandwidth_is_not_positive,
  latency_is_negative,
  chunk_is_not_positive,
  size_is_negative,
  address_is_null,
  ranges_overlap,
  takes_too_long,
  failed,
  cancelled,
};

constexpr const char* to_text(copy_code c) {
  constexpr const char* texts[] = {"the bandwidth is not positive",
                                   "the latency is negative",
                                   "the chunk is not positive",
                                   "the size is negative",
                                   "an address is null",
                                   "source and target overlap",
                                   "it takes longer than 64 bits of picoseconds",
                                   "it failed",
                                   "it was cancelled"};
  return detail::enum_text<copy_code::cancelled>(texts, c);
}

/// `tensor` is empty where the engine itself is at fault.
struct copy_error : std::runtime_error {
  copy_code code;
  std::string tensor;
  std::int64_t bytes;

  copy_error(copy_code code_, std::string tensor_, std::int64_t bytes_, const std::string& cause = {});
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/copy_error.ipp>
#endif
