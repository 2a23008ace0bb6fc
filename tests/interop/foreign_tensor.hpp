// SPDX-License-Identifier: Apache-2.0
#pragma once
// What another library hands over: a managed tensor whose deleter is counted, in declarations of its own under the
// published names, as a program has that includes some dlpack.h.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/interop/dlpack.hpp>

namespace foreign {

struct DLPackVersion {
  std::uint32_t major, minor;
};
struct DLDevice {
  std::int32_t device_type, device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

inline auto* ours(DLManagedTensorVersioned* t) {
  return reinterpret_cast<hyperparallel::interop::dlpack::managed_tensor_versioned*>(t);
}
inline auto* ours(DLManagedTensor* t) { return reinterpret_cast<hyperparallel::interop::dlpack::managed_tensor*>(t); }
inline auto* theirs(hyperparallel::interop::dlpack::managed_tensor_versioned* t) {
  return reinterpret_cast<DLManagedTensorVersioned*>(t);
}
inline auto* theirs(hyperparallel::interop::dlpack::managed_tensor* t) { return reinterpret_cast<DLManagedTensor*>(t); }

/// Floats 0, 1, … of the other library, with a count of the calls of its deleter. A test may change `versioned` and
/// `plain` before it hands one over.
struct array {
  std::vector<float> numbers;
  std::vector<std::int64_t> extents, strides;
  int deleted = 0;
  DLManagedTensorVersioned versioned{};
  DLManagedTensor plain{};

  explicit array(std::vector<std::int64_t> shape) : extents(std::move(shape)), strides(extents.size()) {
    std::int64_t n = 1;
    for (std::size_t d = extents.size(); d-- > 0; n *= extents[d]) strides[d] = n;
    for (std::int64_t i = 0; i < n; ++i) numbers.push_back(static_cast<float>(i));
    const DLTensor t{numbers.data(), {1, 0}, static_cast<std::int32_t>(extents.size()), {2, 32, 1}, extents.data(),
                     strides.data(), 0};
    versioned = {
        {1, 3}, this, [](DLManagedTensorVersioned* m) { ++static_cast<array*>(m->manager_ctx)->deleted; }, 0, t};
    plain = {t, this, [](DLManagedTensor* m) { ++static_cast<array*>(m->manager_ctx)->deleted; }};
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
};

}  // namespace foreign
