// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/fold_terms.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace {

namespace hp = hyperparallel;
namespace k = hp::kernels;

constexpr hp::reduce_op operations[] = {hp::reduce_op::sum,  hp::reduce_op::avg, hp::reduce_op::max, hp::reduce_op::min,
                                        hp::reduce_op::prod, hp::reduce_op::all, hp::reduce_op::any};

/// The definition, one element at a time.
template <class C>
C fold(hp::reduce_op op, C a, C b) {
  switch (op) {
    case hp::reduce_op::max:
      return a < b || b != b ? b : a;
    case hp::reduce_op::min:
      return b < a || b != b ? b : a;
    case hp::reduce_op::prod:
      return static_cast<C>(a * b);
    case hp::reduce_op::all:
      return static_cast<C>(a != C{} && b != C{});
    case hp::reduce_op::any:
      return static_cast<C>(a != C{} || b != C{});
    default:
      return static_cast<C>(a + b);
  }
}

/// Small numbers whose sums and products round, and a few that are not numbers.
template <class T>
T sample(std::mt19937& random) {
  using C = k::computing<T>;
  if constexpr (std::is_integral_v<C>) {
    return k::store<T>(static_cast<C>(random() % 3));
  } else {
    if (random() % 97 == 0) return k::store<T>(std::numeric_limits<C>::quiet_NaN());
    if (random() % 9 == 0) return k::store<T>(C{});
    return k::store<T>(static_cast<C>(static_cast<double>(random() % 20001) / 7000.0 - 1.5));
  }
}

/// An array; a vector of bool is none.
template <class T>
struct block {
  std::int64_t size;
  std::unique_ptr<T[]> data = std::make_unique<T[]>(static_cast<std::size_t>(size));
  T& operator[](std::int64_t i) { return data[static_cast<std::size_t>(i)]; }
};

template <class T>
class FoldTerms : public testing::Test {};
using types = testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, hp::f16_bits, hp::bf16_bits,
                             float, double>;
TYPED_TEST_SUITE(FoldTerms, types);

TYPED_TEST(FoldTerms, FoldsInOrderAndRoundsOnceWhateverTheSplit) {
  using T = TypeParam;
  using C = k::computing<T>;
  constexpr std::int64_t size = sizeof(T);
  std::mt19937 random(17);
  for (const int terms : {1, 2, 3, 8})
    for (const std::int64_t n : {0, 1, 63, 64, 5000})
      for (const hp::reduce_op op : operations) {
        std::vector<block<T>> term;
        std::vector<const std::byte*> start;
        for (int t = 0; t < terms; ++t) {
          term.push_back({n});
          for (std::int64_t i = 0; i < n; ++i) term.back()[i] = sample<T>(random);
          start.push_back(reinterpret_cast<const std::byte*>(term.back().data.get()));
        }
        const hp::extent_t divisor = op == hp::reduce_op::avg ? terms : 1;
        block<T> expected{n}, got{n};
        for (std::int64_t i = 0; i < n; ++i) {
          C sum = k::load(term[0][i]);
          for (std::size_t t = 1; t < term.size(); ++t) sum = fold<C>(op, sum, k::load(term[t][i]));
          if (divisor != 1) sum = static_cast<C>(sum / static_cast<C>(divisor));
          expected[i] = k::store<T>(sum);
        }
        const k::term_fold what{hp::detail::data_type_of<T>, op, divisor};
        auto* const to = reinterpret_cast<std::byte*>(got.data.get());
        const std::int64_t cut = n * 3 / 7 * size;
        k::detail::fold_runs(what, terms, start.data(), 0, cut, to, hp::store_kind::cached);
        k::detail::fold_runs(what, terms, start.data(), cut, n * size - cut, to + cut, hp::store_kind::streaming);
        for (std::int64_t i = 0; i < n; ++i) {
          if (k::load(expected[i]) != k::load(expected[i]))
            ASSERT_TRUE(k::load(got[i]) != k::load(got[i])) << "which NaN is not said";
          else
            ASSERT_EQ(std::memcmp(&got[i], &expected[i], sizeof(T)), 0) << hp::name_of(op) << ' ' << terms << ' ' << i;
        }
      }
}

// A float has no room for a + b here, so another order gives another sum.
TEST(FoldTermsOfFloats, OrderIsThatOfTheList) {
  const float terms[3] = {1e8F, 1.0F, -1e8F};
  for (const auto& [order, expected] : {std::pair{std::array{0, 1, 2}, 0.0F}, std::pair{std::array{0, 2, 1}, 1.0F}}) {
    float sum = -1;
    k::fold_terms<float>(
        hp::reduce_op::sum, 1, 3, 1, [&, o = order](int t) { return &terms[o[static_cast<std::size_t>(t)]]; }, &sum);
    EXPECT_EQ(sum, expected);
  }
}

TEST(FoldTermsOfFloats, TheResultMayLieOnATerm) {
  constexpr std::int64_t n = 3000;
  for (const hp::store_kind stores : {hp::store_kind::cached, hp::store_kind::streaming})
    for (std::size_t own = 0; own < 3; ++own) {
      std::vector<std::vector<float>> term(3, std::vector<float>(n));
      for (std::size_t t = 0; t < 3; ++t)
        for (std::size_t i = 0; i < n; ++i) term[t][i] = static_cast<float>(i * (t + 1));
      k::fold_terms<float>(
          hp::reduce_op::sum, 1, 3, n, [&](int t) { return term[static_cast<std::size_t>(t)].data(); },
          term[own].data(), stores);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(term[own][i], static_cast<float>(6 * i));
    }
}

}  // namespace
