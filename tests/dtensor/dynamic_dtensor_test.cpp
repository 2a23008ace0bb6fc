// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/dynamic_dtensor.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

#include "dtensor/worlds.hpp"

namespace hp = hyperparallel;
using namespace worlds;

namespace {

hp::dynamic_dtensor numbered(const hp::rank_group& group, const hp::shape& s, const hp::layout_value& l) {
  return hp::detail::make_dtensor(group, {hp::i32, s, l}, "number", [&](int position, const hp::local_block& b) {
    const hp::tensor_view<std::int32_t> view = b.view<std::int32_t>();
    for (hp::extent_t i = 0; i < hp::volume(view); ++i) {
      EXPECT_EQ(view.data[i], 0);  // blocks read as zero
      view.data[i] = position * 100 + static_cast<std::int32_t>(i);
    }
  });
}

TEST(dynamic_dtensor, holds_one_block_of_the_slice_s_size_a_position) {
  for (const hp::mesh_shape& m : small_meshes()) {
    const hp::rank_group group(hp::position_count(m), {.threads = 2, .pin = false});
    for (const hp::layout_value& l : all_layouts(m, 2)) {
      const hp::shape s = divisible_shape(m, 2);
      const hp::dynamic_dtensor x = numbered(group, s, l);
      for (int p = 0; p < x.ranks(); ++p) {
        const hp::box expected = hp::slice_of(l, s, p).box;
        ASSERT_EQ(x.local_box(p), expected);
        ASSERT_EQ(x.local_shape(p), hp::detail::shape_of(expected));
        const std::span<const std::int32_t> held = x.to_local<std::int32_t>(p);
        ASSERT_EQ(static_cast<hp::extent_t>(held.size()), hp::volume(expected));
        ASSERT_EQ(held.back(), p * 100 + static_cast<std::int32_t>(held.size()) - 1);
        const hp::const_local_block b = x.local(p);
        ASSERT_EQ(b.place, expected);
        ASSERT_EQ(b.whole, s);
        ASSERT_EQ(b.view<std::int32_t>().data, held.data());
      }
    }
  }
}

TEST(dynamic_dtensor, pads_where_the_layout_does) {
  hp::layout_value l = hp::replicated({1, {4}}, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  l.padded = 1;
  const hp::dynamic_dtensor x = numbered(hp::rank_group(4, {.threads = 1}), hp::shape{5}, l);
  const std::size_t sizes[] = {2, 2, 1, 0};
  for (int p = 0; p < 4; ++p) EXPECT_EQ(x.to_local<std::int32_t>(p).size(), sizes[p]);
}

TEST(dynamic_dtensor, copies_share_their_blocks) {
  const hp::dynamic_dtensor x = numbered(hp::rank_group(2, {.threads = 1}), hp::shape{4}, hp::replicated({1, {2}}, 1));
  const hp::dynamic_dtensor y = x;
  for (int p = 0; p < 2; ++p) EXPECT_EQ(x.data(p), y.data(p));
}

TEST(dynamic_dtensor, refuses_what_does_not_fit) {
  const hp::rank_group group(4, {.threads = 1});
  hp::layout_value rows = hp::replicated({1, {4}}, 1);
  hp::append_cut(rows, {0, 0, 1, 4});
  EXPECT_THROW(numbered(group, hp::shape{6}, rows), hp::layout_error);
  EXPECT_THROW(numbered(group, hp::shape(4, 4), rows), hp::layout_error);
  EXPECT_THROW(numbered(hp::rank_group(2, {.threads = 1}), hp::shape{8}, rows), hp::dtensor_error);
  EXPECT_THROW(hp::dynamic_dtensor(group, {hp::f32, hp::shape{8}, rows}, {}), hp::dtensor_error);
  const hp::dynamic_dtensor x = numbered(group, hp::shape{8}, rows);
  EXPECT_THROW(x.to_local<float>(0), hp::dtensor_error);
}

TEST(dynamic_dtensor, a_writer_that_throws_is_named_with_its_position) {
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  const auto write = [](int position, const hp::local_block&) {
    if (position == 2) throw std::runtime_error("no data");
  };
  try {
    hp::detail::make_dtensor(group, {hp::f32, hp::shape{4}, hp::replicated({1, {4}}, 1)}, "load", write);
    FAIL() << "nothing thrown";
  } catch (const hp::rank_error& e) {
    EXPECT_STREQ(e.what(), "load failed at position 2: no data");
  }
}

}  // namespace
