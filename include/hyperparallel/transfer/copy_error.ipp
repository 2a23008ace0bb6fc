// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of copy_error.hpp; see support/compiled.hpp.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/copy_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY copy_error::copy_error(copy_code code_, std::string tensor_, std::int64_t bytes_,
                                          const std::string& cause)
    : std::runtime_error((tensor_.empty() ? std::string("copy engine")
                                          : "copy of " + tensor_ + " (" + std::to_string(bytes_) + " bytes)") +
                         ": " + to_text(code_) + (cause.empty() ? std::string() : ": " + cause)),
      code(code_),
      tensor(std::move(tensor_)),
      bytes(bytes_) {}

}}  // namespace hyperparallel::v0_2
