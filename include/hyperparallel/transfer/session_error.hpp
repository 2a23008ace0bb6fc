// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is wrong with a use of memory tiers by hand: a code, and one line that names operator, tensor, bytes and tier.
//
//   detach of layer0.x (4096 bytes), tier 0 (hbm): the tensor is in use

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace hyperparallel { inline namespace v0_2 {

enum class session_code : unsigned char {
  there_is_no_tier,
  tier_cannot_be_reached,
  name_is_taken,
  tensor_is_unknown,
  tier_is_unknown,
  tier_is_where_kernels_work,
  tier_has_no_valid_copy,
  tensor_is_in_use,
  tensor_is_not_resident,
  tensor_is_resident,
  tensor_is_nowhere,
  no_valid_copy_elsewhere,
  size_is_negative,
  size_differs,
  use_is_for_reading,
  unpacked_twice,
  copy_failed,
};

constexpr const char* to_text(session_code c) {
  switch (c) {
    case session_code::there_is_no_tier:
      return "there is no tier";
    case session_code::tier_cannot_be_reached:
      return "the tier's bandwidth is not positive, or its latency is negative";
    case session_code::name_is_taken:
      return "another tensor has this name";
    case session_code::tensor_is_unknown:
      return "the session has no such tensor";
    case session_code::tier_is_unknown:
      return "the session has no such tier";
    case session_code::tier_is_where_kernels_work:
      return "tier 0 is where kernels work, not where tensors are put away";
    case session_code::tier_has_no_valid_copy:
      return "the tier has no valid copy";
    case session_code::tensor_is_in_use:
      return "the tensor is in use";
    case session_code::tensor_is_not_resident:
      return "the tensor is not resident";
    case session_code::tensor_is_resident:
      return "the tensor is resident already";
    case session_code::tensor_is_nowhere:
      return "the tensor has no value on any tier";
    case session_code::no_valid_copy_elsewhere:
      return "no other tier has a valid copy";
    case session_code::size_is_negative:
      return "the size is negative";
    case session_code::size_differs:
      return "the value has another size";
    case session_code::use_is_for_reading:
      return "the use is for reading only";
    case session_code::unpacked_twice:
      return "the saved tensor was unpacked before";
    case session_code::copy_failed:
      return "a copy failed";
  }
  return "unknown";
}

/// One line: the operator, the tensor and its bytes, the tier, and why.
struct session_error : std::runtime_error {
  session_code code;
  std::string operation;
  std::string tensor;
  int tier;  ///< -1: none in particular
  std::int64_t bytes;

  session_error(session_code code_, std::string operation_, std::string tensor_, std::int64_t bytes_, int tier_ = -1,
                std::string_view tier_name = {}, const std::string& cause = {});
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/transfer/session_error.ipp>
#endif
