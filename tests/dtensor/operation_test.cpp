// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operation.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
template <class T, class Layout = rows>
using matrix = hp::dtensor<T, hp::extents<4, 6>, Layout>;

/// A user's operator: the running extremes of each row, and where it was last raised; rows are whole.
struct record {
  int dim = -1;
  std::int64_t floor = 0;
  template <class X, class...>
  using results = std::tuple<X, bool>;
  constexpr hp::rule_result rule(const hp::shape* x, int) const {
    hp::rule_result r = hp::rules::reads_along("record", x[0].rank, dim, hp::refuse_partials(), 1);
    if (r.status.code != hp::rule_code::ok) return r;
    hp::add_result(r.rule) = r.rule.result[0];
    return hp::checked_rule(r.rule);
  }
  template <class X>
    requires std::integral<X>
  void run(const hp::local_operation&, hp::const_view<X> x, hp::tensor_view<X> best,
           hp::tensor_view<bool> raised) const {
    const hp::extent_t width = x.extents.extent[1];
    for (hp::extent_t i = 0; i < hp::volume(x); ++i) {
      const X before = i % width == 0 ? static_cast<X>(floor) : best.data[i - 1];
      raised.data[i] = x.data[i] > before;
      best.data[i] = raised.data[i] ? x.data[i] : before;
    }
  }
};
static_assert(hp::operation_description<record>);
static_assert(hp::applies<record{}, matrix<int>>);
static_assert(!hp::applies<record{}, matrix<float>>);         // the kernel takes integers
static_assert(!hp::applies<record{2}, matrix<int>>);          // no such dim
static_assert(!hp::applies<record{}, matrix<int, columns>>);  // the dim is sharded
static_assert(hp::applies<record{0}, matrix<int, columns>>);

TEST(operation, one_description_makes_both_faces) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::generate<matrix<int>>(ranks, [](hp::extent_t i) { return static_cast<int>(i * 7 % 5); });
  const auto [best, raised] = hp::apply<record{}>(x);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(raised)>, matrix<bool>>);
  const auto dynamic = hp::detail::apply_all(record{}, std::array{x.dynamic()});
  ASSERT_EQ(dynamic.size(), 2U);
  EXPECT_EQ(best.full_tensor(), hp::full_tensor<int>(dynamic[0]));
  EXPECT_EQ(raised.full_tensor(), hp::full_tensor<bool>(dynamic[1]));
  EXPECT_EQ(best.full_tensor()[2], 4);
}

TEST(operation, attributes_of_the_kernel_may_come_at_run_time) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::zeros<matrix<int>>(ranks);
  for (const int floor : {-1, 3}) {
    const auto best = std::get<0>(hp::apply_as<record{}>(record{-1, floor}, x));
    EXPECT_EQ(best.full_tensor()[0], floor < 0 ? 0 : floor);
  }
}

TEST(operation, the_twin_refuses_with_the_same_words) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto text = [](const record& d, const hp::dynamic_dtensor& x) -> std::string {
    try {
      hp::apply(d, x);
    } catch (const hp::dtensor_error& e) {
      return e.what();
    }
    return "accepted";
  };
  const auto x = hp::zeros<matrix<int>>(ranks).dynamic();
  EXPECT_EQ(text({}, x), "accepted");
  EXPECT_EQ(text({2}, x), "record: attributes_do_not_fit_operands: axis_is_out_of_range, 2");
  EXPECT_EQ(text({0}, x), "record: dim_must_be_whole: operand 0, dim 0, axis 0");
  EXPECT_EQ(text({}, hp::zeros<matrix<float>>(ranks).dynamic()), "record: element_types_are_not_computed: f32");
}

// Where a rule asks which dims broadcast, a dynamic extent is whatever the others have.
constexpr hp::shape given[] = {{-1, 6}, hp::shape{-3}, {-1, 1}};
constexpr hp::detail::aligned_shapes<3> aligned(given, 3);
static_assert(aligned.at[0] == hp::shape{2, 6} && aligned.at[1] == hp::shape{6} && aligned.at[2] == hp::shape{2, 1});

}  // namespace
