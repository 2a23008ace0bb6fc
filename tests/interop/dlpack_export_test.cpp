// SPDX-License-Identifier: Apache-2.0
// What is handed over, as a consumer with declarations of its own reads it: addresses, marks, and how long owners live.

#include <hyperparallel/interop/dlpack_export.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include <hyperparallel/dtensor.hpp>

#include <interop/foreign_tensor.hpp>
#include <support/error_of.hpp>

namespace hp = hyperparallel;
namespace interop = hyperparallel::interop;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};

std::shared_ptr<std::vector<float>> numbers(std::size_t n) { return std::make_shared<std::vector<float>>(n, 1.0F); }

}  // namespace

TEST(DlpackExport, IsTheBlockItself) {
  const auto owner = numbers(24);
  const hp::tensor_view<float> block{owner->data(), hp::shape{4, 6}};
  interop::exported_tensor e = interop::to_dlpack(block, owner);
  const foreign::DLTensor& t = foreign::theirs(e.get())->dl_tensor;
  EXPECT_EQ(t.data, owner->data());
  EXPECT_EQ(t.byte_offset, 0u);
  EXPECT_EQ(t.ndim, 2);
  EXPECT_EQ(t.shape[0], 4);
  EXPECT_EQ(t.shape[1], 6);
  EXPECT_EQ(t.strides[0], 6);
  EXPECT_EQ(t.strides[1], 1);
  EXPECT_EQ(t.device.device_type, 1);
  EXPECT_EQ(t.dtype.code, 2);
  EXPECT_EQ(t.dtype.bits, 32);
  EXPECT_EQ(t.dtype.lanes, 1);
  EXPECT_EQ(foreign::theirs(e.get())->version.major, 1u);
  EXPECT_EQ(foreign::theirs(e.get())->flags, 0u);
  const interop::strided_view<const float> turned{owner->data(), hp::shape{6, 4}, {{1, 6}}};
  e = interop::to_dlpack(turned, owner);
  EXPECT_EQ(e->flags, interop::dlpack::read_only);
  EXPECT_EQ(e->tensor.strides[1], 6);
  e = interop::to_dlpack(hp::tensor_view<float>{owner->data(), hp::shape{0, 6}}, owner);
  EXPECT_EQ(e->tensor.data, nullptr);
}

TEST(DlpackExport, KeepsTheOwnerUntilItIsGivenBack) {
  auto owner = numbers(6);
  const std::weak_ptr<std::vector<float>> watched = owner;
  foreign::DLManagedTensorVersioned* handed =
      foreign::theirs(interop::to_dlpack(hp::tensor_view<float>{owner->data(), hp::shape{6}}, owner).release());
  foreign::DLManagedTensor* older = foreign::theirs(
      interop::to_dlpack_without_version(hp::tensor_view<float>{owner->data(), hp::shape{2, 3}}, owner).release());
  owner.reset();
  EXPECT_EQ(watched.use_count(), 2);
  static_cast<float*>(handed->dl_tensor.data)[5] = 7;  // without the mark it may be written
  EXPECT_EQ(static_cast<float*>(older->dl_tensor.data)[5], 7.0F);
  std::thread([&] { handed->deleter(handed); }).join();
  EXPECT_EQ(watched.use_count(), 1);
  older->deleter(older);
  EXPECT_TRUE(watched.expired());
  // What no consumer has taken is given back by itself.
  {
    const interop::exported_tensor unused = interop::to_dlpack(hp::tensor_view<float>{}, numbers(1));
  }
  EXPECT_EQ(tested::error_of<interop::exchange_error>([] { interop::to_dlpack(hp::tensor_view<float>{}, nullptr); }),
            "owner_is_missing: nothing keeps the block of extents () alive; expected an owner");
}

TEST(DlpackExport, BlocksOfDtensorsOutliveThem) {
  const hp::rank_group ranks(4);
  using tensor = hp::dtensor<double, hp::extents<4, 6>, hp::layout<mesh, "dp", "tp">>;
  std::vector<double> whole(24);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<double>(i);
  interop::exported_tensor last;
  {
    const tensor x = hp::distribute<tensor>(ranks, whole);
    for (int p = 0; p < 4; ++p) {
      last = interop::to_dlpack(x.dynamic(), p);
      EXPECT_EQ(last->tensor.data, x.to_local(p).data());
      EXPECT_EQ(last->flags, interop::dlpack::read_only);
      EXPECT_EQ(last->tensor.extents[1], 3);
    }
    EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { interop::to_dlpack(x.dynamic(), 4); }),
              "position_is_outside_the_mesh: position 4 of a tensor on 4 ranks");
    const auto terms =
        hp::generate<float>(ranks, hp::shape{4, 6}, hp::layout<mesh, hp::none, hp::none, hp::partial("tp")>::value,
                            [](auto) { return 1.0F; });
    EXPECT_EQ(tested::error_of<interop::exchange_error>([&] { interop::to_dlpack(terms, 0); }),
              "layout_is_partial: the tensor waits for a sum along axis 1; expected it reduced (reduce_partial)");
  }
  EXPECT_EQ(static_cast<const double*>(last->tensor.data)[5], 23.0);
}
