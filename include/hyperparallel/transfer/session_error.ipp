// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of session_error.hpp; see support/compiled.hpp.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/session_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY session_error::session_error(session_code code_, std::string operation_, std::string tensor_,
                                                std::int64_t bytes_, int tier_, std::string_view tier_name,
                                                const std::string& cause)
    : std::runtime_error(operation_ + (tensor_.empty() ? std::string() : " of " + tensor_) +
                         (bytes_ < 0 ? std::string() : " (" + std::to_string(bytes_) + " bytes)") +
                         (tier_ == -1 ? std::string() : ", tier " + std::to_string(tier_)) +
                         (tier_name.empty() ? std::string() : " (" + std::string(tier_name) + ")") + ": " +
                         to_text(code_) + (cause.empty() ? std::string() : ": " + cause)),
      code(code_),
      operation(std::move(operation_)),
      tensor(std::move(tensor_)),
      tier(tier_),
      bytes(bytes_) {}

}}  // namespace hyperparallel::v0_2
