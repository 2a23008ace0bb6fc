// SPDX-License-Identifier: Apache-2.0
// What another library hands over: read where it lies, given back once, and refused by name.

#include <hyperparallel/interop/dlpack_import.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <hyperparallel/dtensor.hpp>

#include <interop/foreign_tensor.hpp>
#include <support/error_of.hpp>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};

/// The refusal of an array that `change` has spoilt; it has been given back all the same.
template <class Change>
std::string refusal_of(const Change& change) {
  foreign::array a({4, 6});
  change(a.versioned);
  const std::string text =
      tested::error_of<interop::exchange_error>([&] { interop::from_dlpack(foreign::ours(&a.versioned)); });
  EXPECT_EQ(a.deleted, 1);
  return text;
}

}  // namespace

TEST(DlpackImport, ReadsWhereItLies) {
  foreign::array a({4, 6});
  {
    const interop::imported_tensor t = interop::from_dlpack(foreign::ours(&a.versioned));
    EXPECT_EQ(t.type(), hp::f32);
    EXPECT_EQ(t.shape(), (hp::shape{4, 6}));
    EXPECT_FALSE(t.is_read_only());
    EXPECT_EQ(t.tensor<const float>().data, a.numbers.data());
    EXPECT_EQ(t.view<const float>()(2, 3), 15.0F);
    t.view<float>()(2, 3) = -1;
    EXPECT_EQ(a.numbers[15], -1.0F);
    EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { t.view<double>(); }),
              "element_types_differ: the tensor stores f32, not f64");
  }
  EXPECT_EQ(a.deleted, 1);
  const interop::imported_tensor older = interop::from_dlpack(foreign::ours(&a.plain));
  EXPECT_EQ(older.tensor<float>().data, a.numbers.data());
}

TEST(DlpackImport, HandlesShareOneGivingBack) {
  foreign::array a({4, 6});
  auto first = std::make_unique<interop::imported_tensor>(interop::from_dlpack(foreign::ours(&a.versioned)));
  const std::shared_ptr<const std::byte> bytes = first->bytes();
  auto second = std::make_unique<interop::imported_tensor>(*first);
  first.reset();
  second.reset();
  EXPECT_EQ(a.deleted, 0);
  EXPECT_EQ(reinterpret_cast<const float*>(bytes.get())[23], 23.0F);
  foreign::array b({2});
  b.versioned.deleter = nullptr;  // the producer has nothing to do
  {
    const interop::imported_tensor t = interop::from_dlpack(foreign::ours(&b.versioned));
  }
  EXPECT_EQ(b.deleted, 0);
}

TEST(DlpackImport, TakesAnyStridesThatGoUp) {
  foreign::array a({4, 6});
  a.versioned.dl_tensor.byte_offset = 4;  // columns 1, 3, 5
  a.extents[1] = 3;
  a.strides[1] = 2;
  const interop::imported_tensor t = interop::from_dlpack(foreign::ours(&a.versioned));
  EXPECT_EQ(t.view<const float>()(1, 2), 11.0F);
  EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { t.tensor<const float>(); }),
            "strides_leave_gaps: strides (6, 2) of extents (4, 3); expected (3, 1): copy it into a block first");
  foreign::array b({4, 6});
  b.versioned.dl_tensor.strides = nullptr;  // before DLPack 1.2: row-major
  EXPECT_EQ(interop::from_dlpack(foreign::ours(&b.versioned)).tensor<float>().extents, (hp::shape{4, 6}));
  foreign::array c({1, 0});
  c.strides = {-1, 0};  // no element, no say
  c.versioned.dl_tensor.data = nullptr;
  EXPECT_EQ(interop::from_dlpack(foreign::ours(&c.versioned)).tensor<float>().data, nullptr);
  foreign::array scalar({});
  EXPECT_EQ(interop::from_dlpack(foreign::ours(&scalar.versioned)).view<float>()(), 0.0F);
}

TEST(DlpackImport, LetsNobodyWriteWhatIsReadOnly) {
  foreign::array a({4, 6});
  a.versioned.flags = 1;
  const interop::imported_tensor t = interop::from_dlpack(foreign::ours(&a.versioned));
  EXPECT_EQ(t.tensor<const float>().data, a.numbers.data());
  EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { t.tensor<float>(); }),
            "tensor_is_read_only: its producer lets nobody write it; expected a const view");
}

TEST(DlpackImport, RefusesByName) {
  using tensor = foreign::DLManagedTensorVersioned;
  EXPECT_EQ(refusal_of([](tensor& t) { t.version = {2, 1}; }), "version_differs: DLPack 2.1; expected 1");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.device = {10, 2}; }),
            "device_is_not_the_host: device type 10 (ROCm), device 2; expected 1 (CPU): copy it to the host first");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.dtype.lanes = 2; }), "elements_have_lanes: 2 lanes; expected 1");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.dtype.code = 1; }),
            "element_type_is_unknown: an unsigned integer of 32 bits; expected boolean, i8, i16, i32, i64, f16, bf16, "
            "f32 or f64");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.ndim = 9; }), "dims_are_too_many: 9 dims; expected 0 to 8");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.shape = nullptr; }), "data_is_missing: no extents of 2 dims");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.shape[1] = -6; }), "extent_is_negative: extent -6 of dim 1");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.strides[0] = -6; }),
            "stride_is_not_positive: stride -6 of dim 0, extent 4; expected one above 0: copy the tensor first");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.strides[1] = 0; }),
            "stride_is_not_positive: stride 0 of dim 1, extent 6; expected one above 0: copy the tensor first");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.strides[0] = INT64_MAX / 3; }),
            "strides_leave_64_bits: stride 3074457345618258602 of dim 0, extent 4");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.shape[0] = INT64_MAX / 6; }),
            "strides_leave_64_bits: extents (1537228672809129301, 6) have more bytes than that");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.data = nullptr; }), "data_is_missing: extents (4, 6) without data");
  EXPECT_EQ(refusal_of([](tensor& t) { t.dl_tensor.byte_offset = 2; }),
            "data_is_not_aligned: the first element is not at a multiple of its 4 bytes");
  EXPECT_EQ(tested::error_of<interop::exchange_error>(
                [] { interop::from_dlpack(static_cast<interop::dlpack::managed_tensor*>(nullptr)); }),
            "tensor_is_missing: the pointer is null");
}

TEST(DlpackImport, BlocksBecomeADtensor) {
  const hp::rank_group ranks(4);
  const hp::layout_value by_row = hp::layout<mesh, "dp", hp::none>::value;
  const hp::shape s{4, 6};
  foreign::array a({2, 6}), b({2, 6}), narrow({2, 5}), turned({2, 6});
  turned.strides = {1, 2};
  {
    std::optional<hp::dynamic_dtensor> x;
    {
      std::vector<interop::imported_tensor> blocks{interop::from_dlpack(foreign::ours(&a.versioned)),
                                                   interop::from_dlpack(foreign::ours(&b.versioned))};
      EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { interop::dtensor_of(ranks, s, by_row, blocks); }),
                "blocks_differ_in_number: 2 blocks for 4 ranks");
      blocks = {blocks[0], blocks[0], blocks[1], blocks[1]};  // replicas share
      x = interop::dtensor_of(ranks, s, by_row, blocks);
      const interop::imported_tensor thin = interop::from_dlpack(foreign::ours(&narrow.versioned)),
                                     apart = interop::from_dlpack(foreign::ours(&turned.versioned));
      blocks[3] = thin;
      EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { interop::dtensor_of(ranks, s, by_row, blocks); }),
                "extents_differ: block 3 has extents (2, 5), its slice (2, 6)");
      blocks[3] = apart;
      EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { interop::dtensor_of(ranks, s, by_row, blocks); }),
                "strides_leave_gaps: block 3 has strides (1, 2) of extents (2, 6); expected (6, 1)");
      foreign::array integers({2, 6});
      integers.versioned.dl_tensor.dtype.code = 0;
      blocks[3] = interop::from_dlpack(foreign::ours(&integers.versioned));
      EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { interop::dtensor_of(ranks, s, by_row, blocks); }),
                "element_types_differ: block 3 stores i32, block 0 f32");
      blocks.pop_back();
    }
    EXPECT_EQ(x->data(2), reinterpret_cast<const std::byte*>(b.numbers.data()));  // no copy
    const std::vector<float> whole =
        hp::full_tensor<float>(hp::redistribute(*x, hp::layout<mesh, hp::none, "tp">::value));
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(whole[i], static_cast<float>(i % 12));
    // And out again: the same address.
    EXPECT_EQ(interop::to_dlpack(*x, 1)->tensor.data, a.numbers.data());
    EXPECT_EQ(a.deleted + b.deleted, 0);
  }
  EXPECT_EQ(a.deleted, 1);
  EXPECT_EQ(b.deleted, 1);
}
