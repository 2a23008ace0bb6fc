// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of status_text.hpp; see support/compiled.hpp.

#include <stdexcept>
#include <string>

#include <hyperparallel/exec/status_text.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY layout_error::layout_error(const layout_status& s)
    : dtensor_error(std::string(name_of(s.code)) + ": dim " + std::to_string(s.dim) + ", extent " +
                    std::to_string(s.extent) + ", shards " + std::to_string(s.shards)),
      status(s) {}

}}  // namespace hyperparallel::v0_2
