// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/conversion.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>

#include "dtensor/worlds.hpp"

namespace hp = hyperparallel;
using namespace worlds;

namespace {

using values = std::vector<std::int64_t>;

values counted(const hp::shape& s) {
  values v(static_cast<std::size_t>(hp::element_count(s).value));
  std::iota(v.begin(), v.end(), 1);
  return v;
}

TEST(conversion, full_tensor_gives_back_what_was_distributed_under_every_layout) {
  for (const hp::mesh_shape& m : small_meshes()) {
    const hp::rank_group group(hp::position_count(m), {.threads = 2, .pin = false});
    const hp::shape s = divisible_shape(m, 2);
    const values v = counted(s);
    for (const hp::layout_value& l : partial_layouts(m, 2, {hp::reduce_op::sum})) {
      const hp::dynamic_dtensor x = hp::distribute<std::int64_t>(group, s, l, v);
      const hp::dynamic_dtensor y = hp::generate<std::int64_t>(group, s, l, [](hp::extent_t i) { return i + 1; });
      ASSERT_EQ(hp::full_tensor<std::int64_t>(x), v);
      ASSERT_EQ(hp::full_tensor<std::int64_t>(y), v);
      ASSERT_TRUE(hp::replicas_agree(x) && hp::replicas_agree(y));
    }
  }
}

/// Each block has one first holder, also where a layout reads a part of an axis: threads that write theirs do not meet.
TEST(conversion, first_holders_cover_the_tensor_once) {
  const hp::mesh_shape m{2, {12, 2}};
  int parts = 0;
  for (int pre = 1; pre <= 12; ++pre)
    for (int size = 1; size <= 12; ++size) {
      if (12 % (pre * size) != 0) continue;
      hp::layout_value l{};
      l.mesh = m;
      l.rank = 1;
      if (size > 1) l.cut[l.cut_count++] = {0, 0, pre, size};
      int holders = 0;
      for (int p = 0; p < 24; ++p) {
        const hp::coordinate c = hp::coordinates_of(m, p);
        holders += hp::detail::first_holder(l, c) == c;
      }
      EXPECT_EQ(holders, size) << pre << ", " << size;
      ++parts;
    }
  EXPECT_GT(parts, 12);
}

TEST(conversion, from_local_gives_each_position_its_block) {
  for (const hp::mesh_shape& m : small_meshes()) {
    const hp::rank_group group(hp::position_count(m), {.threads = 2, .pin = false});
    const hp::shape s = divisible_shape(m, 2);
    for (const hp::layout_value& l : partial_layouts(m, 2, {hp::reduce_op::max})) {
      const sample<std::int64_t> x = sampled<std::int64_t>(group, s, l, 11);
      ASSERT_EQ(hp::full_tensor<std::int64_t>(x.tensor), x.value);
    }
  }
}

TEST(conversion, padded_and_empty_tensors) {
  hp::layout_value l = hp::replicated({2, {2, 2}}, 2);
  hp::append_cut(l, {0, 1, 1, 2});
  hp::append_cut(l, {0, 0, 1, 2});
  l.padded = 1;
  const hp::rank_group group(4, {.threads = 1});
  for (const hp::extent_t rows : {0, 1, 3, 5, 8}) {
    const hp::shape s(rows, 3);
    EXPECT_EQ(hp::full_tensor<std::int64_t>(hp::distribute<std::int64_t>(group, s, l, counted(s))), counted(s));
  }
  const hp::shape scalar;
  const hp::dynamic_dtensor x = hp::distribute<std::int64_t>(group, scalar, hp::replicated({2, {2, 2}}, 0), values{42});
  EXPECT_EQ(hp::full_tensor<std::int64_t>(x), values{42});
}

TEST(conversion, truth_values) {
  hp::layout_value l = hp::replicated({1, {2}}, 1);
  hp::append_cut(l, {0, 0, 1, 2});
  const bool v[] = {true, false, false, true};
  const hp::dynamic_dtensor x = hp::distribute<bool>(hp::rank_group(2, {.threads = 1}), hp::shape{4}, l, v);
  EXPECT_EQ(hp::full_tensor<bool>(x), (std::vector<bool>{true, false, false, true}));
}

TEST(conversion, refuses_wrong_counts) {
  const hp::rank_group group(2, {.threads = 1});
  hp::layout_value l = hp::replicated({1, {2}}, 1);
  hp::append_cut(l, {0, 0, 1, 2});
  const values three{1, 2, 3}, two{1, 2}, one{1};
  EXPECT_THROW(hp::distribute<std::int64_t>(group, hp::shape{4}, l, three), hp::dtensor_error);
  const auto text = [&](const std::vector<std::span<const std::int64_t>>& blocks) -> std::string {
    try {
      hp::from_local<std::int64_t>(group, hp::shape{4}, l, blocks);
    } catch (const hp::dtensor_error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(text({two, two}), "accepted");
  EXPECT_EQ(text({two}), "1 blocks for 2 ranks");
  EXPECT_EQ(text({two, one}), "block 1 has 1 elements, its slice 2");
}

TEST(conversion, replicas_that_differ_are_found) {
  const hp::rank_group group(2, {.threads = 1});
  const values a{1, 2}, b{1, 3};
  const std::vector<std::span<const std::int64_t>> blocks{a, b};
  hp::layout_value l = hp::replicated({1, {2}}, 1);
  EXPECT_FALSE(hp::replicas_agree(hp::from_local<std::int64_t>(group, hp::shape{2}, l, blocks)));
  hp::layout_value half = hp::replicated({1, {4}}, 1);  // cut by the outer half of an axis: pairs of replicas
  half.cut[half.cut_count++] = {0, 0, 1, 2};
  const hp::rank_group four(4, {.threads = 1});
  const auto agree = [&](const values& second) {
    const std::vector<std::span<const std::int64_t>> pairs{a, second, b, b};
    return hp::replicas_agree(hp::from_local<std::int64_t>(four, hp::shape{4}, half, pairs));
  };
  EXPECT_TRUE(agree(a));
  EXPECT_FALSE(agree(b));
  l.partial[0] = hp::reduce_op::sum;  // these are terms, not replicas
  EXPECT_TRUE(hp::replicas_agree(hp::from_local<std::int64_t>(group, hp::shape{2}, l, blocks)));
}

}  // namespace
