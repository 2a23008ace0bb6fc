// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/tensor_view.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "naive.hpp"

namespace {

namespace hp = hyperparallel;
namespace hk = hyperparallel::kernels;
using hp::extent_t;
using naive::index;

static_assert(hp::volume(hp::tensor_view<float>{nullptr, hp::shape{2, 3, 4}}) == 24);
static_assert(hp::volume(hp::tensor_view<float>{}) == 1);
static_assert(std::is_convertible_v<hp::tensor_view<float>, hp::const_view<float>>);
static_assert(!std::is_convertible_v<hp::const_view<float>, hp::tensor_view<float>>);
static_assert(std::is_same_v<hk::computing<const hp::bf16_bits>, float>);
static_assert(std::is_same_v<hk::computing<const double>, double>);
static_assert(hk::store<bool>(0.25F) && !hk::store<bool>(0) && hk::store<std::int8_t>(-3.5F) == -3);
static_assert(hk::load(hk::store<hp::f16_bits>(0.5)) == 0.5F);

TEST(TensorView, StepsAndSplitsAreThoseOfRowMajorOrder) {
  naive::for_each_shape(0, 4, 0, 3, [](const hp::shape& s) {
    const hk::steps step = hk::detail::row_major_steps(s);
    extent_t at = 0;
    naive::for_each_index(s, [&](const index& i) {
      extent_t offset = 0;
      for (int d = 0; d < s.rank; ++d) offset += i[static_cast<std::size_t>(d)] * step.along[d];
      ASSERT_EQ(offset, at++);
    });
    for (int axis = 0; axis < s.rank; ++axis) {
      const hk::detail::axis_split split = hk::detail::split_at(s, axis);
      ASSERT_EQ(split.middle, s.extent[axis]);
      ASSERT_EQ(split.outer * split.middle * split.inner, hp::element_count(s).value);
      ASSERT_EQ(split.inner, step.along[axis]);
    }
  });
}

// Every shape against every choice of steps that broadcasts, permutes or reverses: the runs name the offsets of the
// definition, in row-major order.
TEST(TensorView, RunsVisitEveryElementInOrder) {
  int runs_saved = 0;
  naive::for_each_shape(0, 4, 0, 3, [&](const hp::shape& s) {
    const hk::steps own = hk::detail::row_major_steps(s);
    for (unsigned still = 0; still < 1u << s.rank; ++still) {
      hk::steps array[3] = {own, own, own};
      for (int d = 0; d < s.rank; ++d) {
        if ((still >> d & 1u) != 0) array[1].along[d] = 0;
        array[2].along[d] = -own.along[s.rank - 1 - d] * 7;
      }
      std::vector<extent_t> expected, found;
      naive::for_each_index(s, [&](const index& i) {
        for (const hk::steps& a : array) {
          extent_t offset = 0;
          for (int d = 0; d < s.rank; ++d) offset += i[static_cast<std::size_t>(d)] * a.along[d];
          expected.push_back(offset);
        }
      });
      const auto nest = hk::detail::loops_over(s, array);
      hk::detail::for_each_run(nest, [&](const auto& offset, extent_t n, const auto& step) {
        for (extent_t i = 0; i < n; ++i)
          for (int a = 0; a < 3; ++a) found.push_back(offset[a] + i * step[a]);
      });
      ASSERT_EQ(found, expected);
      runs_saved += s.rank - nest.loops;
    }
  });
  EXPECT_GT(runs_saved, 0);
}

TEST(TensorView, BlocksWithoutGapsAreOneLoop) {
  const hp::shape s{2, 1, 3, 4};
  const hk::steps array[2] = {hk::detail::row_major_steps(s), hk::detail::broadcast_steps(hp::shape{3, 4}, s)};
  const hk::steps first[1] = {array[0]};
  EXPECT_EQ(hk::detail::loops_over(s, first).loops, 1);
  EXPECT_EQ(hk::detail::loops_over(s, array).loops, 2);
  EXPECT_EQ(hk::detail::loops_over(s, array).count[1], 12);
}

}  // namespace
