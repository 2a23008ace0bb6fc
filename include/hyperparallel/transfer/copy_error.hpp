// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a copy engine, or a copy, is refused or failed.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

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
  switch (c) {
    case copy_code::bandwidth_is_not_positive:
      return "the bandwidth is not positive";
    case copy_code::latency_is_negative:
      return "the latency is negative";
    case copy_code::chunk_is_not_positive:
      return "the chunk is not positive";
    case copy_code::size_is_negative:
      return "the size is negative";
    case copy_code::address_is_null:
      return "an address is null";
    case copy_code::ranges_overlap:
      return "source and target overlap";
    case copy_code::takes_too_long:
      return "it takes longer than 64 bits of picoseconds";
    case copy_code::failed:
      return "it failed";
    case copy_code::cancelled:
      return "it was cancelled";
  }
  return "unknown";
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
