// SPDX-License-Identifier: Apache-2.0
// The structs of DLPack against declarations under the published names, and its element types.

#include <hyperparallel/interop/dlpack.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include <interop/foreign_tensor.hpp>
#include <support/error_of.hpp>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;
namespace dlpack = hyperparallel::interop::dlpack;

TEST(Dlpack, LiesInMemoryAsPublished) {
  EXPECT_EQ(sizeof(dlpack::tensor), sizeof(foreign::DLTensor));
  EXPECT_EQ(offsetof(dlpack::tensor, device), offsetof(foreign::DLTensor, device));
  EXPECT_EQ(offsetof(dlpack::tensor, dims), offsetof(foreign::DLTensor, ndim));
  EXPECT_EQ(offsetof(dlpack::tensor, element), offsetof(foreign::DLTensor, dtype));
  EXPECT_EQ(offsetof(dlpack::tensor, extents), offsetof(foreign::DLTensor, shape));
  EXPECT_EQ(offsetof(dlpack::tensor, strides), offsetof(foreign::DLTensor, strides));
  EXPECT_EQ(offsetof(dlpack::tensor, byte_offset), offsetof(foreign::DLTensor, byte_offset));
  EXPECT_EQ(sizeof(dlpack::managed_tensor), sizeof(foreign::DLManagedTensor));
  EXPECT_EQ(offsetof(dlpack::managed_tensor, deleter), offsetof(foreign::DLManagedTensor, deleter));
  EXPECT_EQ(sizeof(dlpack::managed_tensor_versioned), sizeof(foreign::DLManagedTensorVersioned));
  EXPECT_EQ(offsetof(dlpack::managed_tensor_versioned, flags), offsetof(foreign::DLManagedTensorVersioned, flags));
  EXPECT_EQ(offsetof(dlpack::managed_tensor_versioned, tensor), offsetof(foreign::DLManagedTensorVersioned, dl_tensor));
}

TEST(Dlpack, EveryElementTypeComesBack) {
  for (int t = 0; t <= static_cast<int>(hp::f64); ++t) {
    const auto type = static_cast<hp::data_type>(t);
    EXPECT_EQ(dlpack::type_of(dlpack::element_of(type)), type);
    EXPECT_EQ(dlpack::element_of(type).bits, 8 * hp::bytes_of(type));
  }
}

TEST(Dlpack, RefusesElementsAndDevicesByName) {
  const auto type = [](int code, int bits, int lanes) {
    return tested::error_of<interop::exchange_error>([&] {
      dlpack::type_of(
          {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), static_cast<std::uint16_t>(lanes)});
    });
  };
  const std::string known = "; expected boolean, i8, i16, i32, i64, f16, bf16, f32 or f64";
  EXPECT_EQ(type(2, 32, 4), "elements_have_lanes: 4 lanes; expected 1");
  EXPECT_EQ(type(1, 8, 1), "element_type_is_unknown: an unsigned integer of 8 bits" + known);
  EXPECT_EQ(type(5, 64, 1), "element_type_is_unknown: a complex number of 64 bits" + known);
  EXPECT_EQ(type(12, 8, 1), "element_type_is_unknown: number format 12 of 8 bits" + known);
  const auto device = [](int kind) {
    return tested::error_of<interop::exchange_error>([&] { dlpack::check_device({kind, 3}); });
  };
  EXPECT_EQ(device(1), "no error");
  EXPECT_EQ(device(2),
            "device_is_not_the_host: device type 2 (CUDA), device 3; expected 1 (CPU): copy it to the host first");
  for (const int kind : {-1, 5, 99})
    EXPECT_EQ(device(kind), "device_is_not_the_host: device type " + std::to_string(kind) +
                                ", device 3; expected 1 (CPU): copy it to the host first");
}
