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

#include <hyperparallel/support/enum_text.hpp>

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
  constexpr const char* texts[] = {"there is no tier",
                                   "the tier's bandwidth is not positive, or its latency is negative",
                                   "another tensor has this name",
                                   "the session has no such tensor",
                                   "the session has no such tier",
                                   "tier 0 is where kernels work, not where tensors are put away",
                                   "the tier has no valid copy",
                                   "the tensor is in use",
                                   "the tensor is not resident",
                                   "the tensor is resident already",
                                   "the tensor has no value on any tier",
                                   "no other tier has a valid copy",
                                   "the size is negative",
                                   "the value has another size",
                                   "the use is for reading only",
                                   "the saved tensor was unpacked before",
                                   "a copy failed"};
  return detail::enum_text<session_code::copy_failed>(texts, c);
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
