// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/layout_words.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"cp", 2}, hp::axis{"tp", 4}> {};
using dp = hp::alias<'d', 'p'>;
using cp = hp::alias<'c', 'p'>;
using tp = hp::alias<'t', 'p'>;
template <class Layout, class... Words>
inline constexpr bool reads = std::is_same_v<hp::detail::in_words<Layout>, hp::mapped<mesh, Words...>>;

static_assert(reads<hp::layout<mesh>>);
static_assert(reads<hp::layout<mesh, hp::none>, hp::whole>);
static_assert(reads<hp::layout<mesh, "tp", hp::none, "dp">, tp, hp::whole, dp>);
static_assert(reads<hp::layout<mesh, hp::axes("tp", "dp"), "cp">, hp::detail::axes_in_order<tp, dp>, cp>);
static_assert(reads<hp::layout<mesh, hp::axes("tp", "dp", "cp")>, hp::detail::axes_in_order<tp, dp, cp>>);
static_assert(reads<hp::layout<mesh, hp::padded("tp"), hp::padded(hp::axes("dp", "cp"))>, hp::detail::padded_over<tp>,
                    hp::detail::padded_over<dp, cp>>);
static_assert(reads<hp::layout<mesh, "cp", hp::partial("tp", hp::reduce_op::max), hp::partial("dp")>, cp,
                    hp::partial_over<dp, hp::reduce_op::sum>, hp::partial_over<tp, hp::reduce_op::max>>);

TEST(layout_words, of_different_layouts_differ) {
  EXPECT_FALSE((std::is_same_v<hp::detail::in_words<hp::layout<mesh, hp::axes("tp", "dp")>>,
                               hp::detail::in_words<hp::layout<mesh, hp::axes("dp", "tp")>>>));
  EXPECT_FALSE((std::is_same_v<hp::detail::in_words<hp::layout<mesh, "tp">>,
                               hp::detail::in_words<hp::layout<mesh, hp::padded("tp")>>>));
  EXPECT_FALSE((std::is_same_v<hp::detail::in_words<hp::layout<mesh, hp::none>>,
                               hp::detail::in_words<hp::layout<mesh, hp::none, hp::partial("tp")>>>));
}

}  // namespace
