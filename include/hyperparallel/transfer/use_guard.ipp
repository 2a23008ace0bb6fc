// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of use_guard.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/transfer/use_guard.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY void use_guard::end() noexcept {
  if (tensor_ == nullptr) return;
  if (access_ == tensor_access::read)
    --tensor_->readers;
  else
    tensor_->written = false;
  tensor_ = nullptr;
}

HYPERPARALLEL_BODY use_guard::use_guard(detail::offloaded_tensor& tensor, tensor_access access)
    : tensor_(&tensor), access_(access) {
  if (access == tensor_access::read)
    ++tensor.readers;
  else
    tensor.written = true;
}

}}  // namespace hyperparallel::v0_2
