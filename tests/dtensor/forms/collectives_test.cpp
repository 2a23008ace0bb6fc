// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/forms/collectives.hpp>

#include <gtest/gtest.h>

#include "dtensor/forms/form_worlds.hpp"

namespace {

using namespace form_worlds;

TEST(collectives, all_reduce_folds_in_the_order_of_pieces_on_every_member) {
  in_every_world(30, [](const hp::rank_group& group, const hp::mesh_shape& m, dice& d) {
    const hp::layout_value l = d.layout(m, 2, 1);
    hpd::traffic counted(group.ranks());
    const hpd::communicator c{group, hpd::group_over(l, 2u), &counted};
    const int length = d.roll(0, 9);
    // Appending digits does not commute, so the order shows.
    hpd::local_lists<std::string> x = c.lists<std::string>();
    for (int p = 0; p < group.ranks(); ++p)
      for (int e = 0; e < length; ++e)
        x[static_cast<std::size_t>(p)].push_back(std::to_string(p) + ":" + std::to_string(e) + " ");
    const hpd::local_lists<std::string> before = x;
    hpd::all_reduce(c, x, [](const std::string& a, const std::string& b) { return a + b; });
    for (int p = 0; p < group.ranks(); ++p)
      for (std::size_t e = 0; e < static_cast<std::size_t>(length); ++e) {
        std::string expected;
        for (int i = 0; i < c.pieces.size; ++i)
          expected += before[static_cast<std::size_t>(hpd::detail::member_of(c.pieces, p, i))][e];
        EXPECT_EQ(x[static_cast<std::size_t>(p)][e], expected);
      }
    EXPECT_EQ(counted.busiest_elements(), hpd::detail::all_reduce_price(c.pieces.size, length));
    EXPECT_EQ(counted.busiest_bytes(), counted.busiest_elements() * static_cast<std::int64_t>(sizeof(std::string)));
  });
  static_assert(hpd::detail::all_reduce_price(4, 8) == 12 && hpd::detail::all_reduce_price(1, 8) == 0);
}

TEST(collectives, shift_hands_lists_to_the_next_member_where_wanted) {
  in_every_world(20, [](const hp::rank_group& group, const hp::mesh_shape& m, dice& d) {
    const hp::layout_value l = d.layout(m, 2, 1);
    hpd::traffic counted(group.ranks());
    const hpd::communicator c{group, hpd::group_over(l, 2u), &counted};
    hpd::local_lists<int> x = c.lists<int>();
    for (int p = 0; p < group.ranks(); ++p) x[static_cast<std::size_t>(p)].assign(static_cast<std::size_t>(1 + p), p);
    const auto wanted = [](int p) { return p % 2 == 0; };
    const hpd::local_lists<int> y = hpd::shift(c, x, wanted);
    for (int p = 0; p < group.ranks(); ++p) {
      const int n = c.pieces.size;
      const int from = hpd::detail::member_of(c.pieces, p, (hpd::detail::piece_of(c.pieces, p) + n - 1) % n);
      EXPECT_EQ(y[static_cast<std::size_t>(p)], wanted(p) ? x[static_cast<std::size_t>(from)] : std::vector<int>{});
      EXPECT_EQ(counted.elements[static_cast<std::size_t>(p)], wanted(p) && from != p ? 1 + from : 0);
    }
  });
}

TEST(collectives, moves_are_priced_as_they_are_counted) {
  in_every_world(30, [](const hp::rank_group& group, const hp::mesh_shape& m, dice& d) {
    const hp::layout_value from = d.layout(m, 2, 1), to = d.layout(m, 2, 0);
    hp::shape s;
    for (int e = 0; e < 2; ++e) s.extent[s.rank++] = hp::position_count(m);
    const auto x = spread(group, s, from, d.numbers<float>(s, 9));
    hpd::traffic counted(group.ranks());
    const hp::dynamic_dtensor y = hpd::redistribute(x, to, &counted);
    EXPECT_TRUE(y.layout() == to);
    EXPECT_EQ(counted.busiest_elements(), hpd::detail::move_price(from, to, s));
    EXPECT_EQ(counted.busiest_bytes(), 4 * hpd::detail::move_price(from, to, s));
    EXPECT_EQ(hp::full_tensor<float>(y), hp::full_tensor<float>(x));
  });
}

}  // namespace
