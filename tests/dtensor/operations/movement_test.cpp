// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/movement.hpp>

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/gradient.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
template <class Extents, class Layout>
using tensor = hp::dtensor<int, Extents, Layout>;
using rows = hp::layout<mesh, "dp", hp::none>;
using matrix = tensor<hp::extents<4, 6>, rows>;

class movement : public testing::Test {
 protected:
  hp::rank_group ranks{4, {.threads = 1}};
  matrix x = hp::arange<matrix>(ranks);
};

TEST_F(movement, views_share_blocks_and_keep_their_order) {
  const auto r = hp::reshape<2, 2, 6>(x);
  const auto f = hp::flatten(x);
  const auto e = hp::expand_dims<1>(x);
  const auto s = hp::squeeze(e);
  static_assert(
      std::is_same_v<decltype(r), const tensor<hp::extents<2, 2, 6>, hp::layout<mesh, "dp", hp::none, hp::none>>>);
  static_assert(std::is_same_v<decltype(f), const tensor<hp::extents<24>, hp::layout<mesh, "dp">>>);
  static_assert(std::is_same_v<decltype(e)::extents, hp::extents<4, 1, 6>> &&
                std::is_same_v<decltype(s), const matrix>);
  static_assert(std::is_same_v<decltype(hp::reshape<-1, 12>(x))::extents, hp::extents<2, 12>>);
  for (const int rank : {0, 3}) {
    EXPECT_EQ(r.to_local(rank).data(), x.to_local(rank).data());
    EXPECT_EQ(f.to_local(rank).data(), x.to_local(rank).data());
    EXPECT_EQ(s.to_local(rank).data(), x.to_local(rank).data());
  }
  EXPECT_EQ(f.full_tensor(), x.full_tensor());
}

TEST_F(movement, dims_exchanged) {
  const auto t = hp::transpose(x);
  const auto p = hp::permute<1, 0>(x);
  static_assert(std::is_same_v<decltype(t), const tensor<hp::extents<6, 4>, hp::layout<mesh, hp::none, "dp">>>);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(t.full_tensor()[i], static_cast<int>(i % 4 * 6 + i / 4));
  EXPECT_EQ(p.full_tensor(), t.full_tensor());
}

TEST_F(movement, joined_and_taken_apart) {
  const auto both = hp::concat<1>(x, x);
  const auto pair = hp::stack<0>(x, x);
  const auto part = hp::slice_dim<1, 1, -1, 2>(x);
  static_assert(std::is_same_v<decltype(both), const tensor<hp::extents<4, 12>, rows>>);
  static_assert(std::is_same_v<decltype(pair)::extents, hp::extents<2, 4, 6>>);
  static_assert(std::is_same_v<decltype(part), const tensor<hp::extents<4, 2>, rows>>);
  static_assert(!hp::applies<hp::operations::concat{0}, matrix, matrix>);  // along the sharded dim
  for (std::size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(both.full_tensor()[i], static_cast<int>(i / 12 * 6 + i % 6));
    EXPECT_EQ(pair.full_tensor()[i], static_cast<int>(i % 24));
  }
  EXPECT_EQ(part.full_tensor(), (std::vector<int>{1, 3, 7, 9, 13, 15, 19, 21}));
}

TEST_F(movement, moved_around_repeated_and_cut) {
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(hp::flip<1>(x).full_tensor()[i], static_cast<int>(i / 6 * 6 + 5 - i % 6));
    EXPECT_EQ(hp::roll<1>(x, 2).full_tensor()[i], static_cast<int>(i / 6 * 6 + (i + 4) % 6));
  }
  const auto twice = hp::repeat_interleave<0, 2>(x);
  static_assert(std::is_same_v<decltype(twice), const tensor<hp::extents<8, 6>, rows>>);
  EXPECT_EQ(twice.full_tensor()[6], 0);
  const auto wide = hp::expand<3, 4, 6>(x);
  static_assert(std::is_same_v<decltype(wide)::layout, hp::layout<mesh, hp::none, "dp", hp::none>>);
  EXPECT_EQ(wide.full_tensor()[24 + 7], 7);
  const auto whole = x.redistribute<hp::layout<mesh, hp::none, hp::none>>();
  EXPECT_EQ(tril(whole).full_tensor()[1], 0);
  EXPECT_EQ(tril(whole, 1).full_tensor()[1], 1);
}

/// A user's: the elements of a whole dim the other way round, and back by the same.
struct turned {
  int dim = 0;
  constexpr turned back(const hp::shape*, int) const { return *this; }
  constexpr hp::rule_result rule(const hp::shape* x, int) const { return hp::rules::flip(x[0].rank, dim); }
  template <class X>
  void run(const hp::local_operation&, hp::const_view<X> x, hp::tensor_view<X> out) const {
    hp::kernels::flip(x, out, 1u << dim);
  }
};
TEST_F(movement, a_description_that_says_its_way_back_is_differentiated) {
  const auto z = hp::cast<double>(x);
  const auto weighed = [&](const auto& a) {
    const auto y = hp::apply<turned{1}>(a);
    return sum(y * y * z);
  };
  const auto d = hp::gradient(weighed, z).full_tensor();
  const auto v = z.full_tensor();
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 6; ++c) EXPECT_EQ(d[6 * r + c], 2 * v[6 * r + c] * v[6 * r + 5 - c]);
}

}  // namespace
