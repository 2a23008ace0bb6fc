// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/mesh/axis_names.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tensor", 4}, hp::axis{"ep", 1}> {};
struct nothing : hp::device_matrix<> {};
using names = hp::detail::axis_names_of<mesh, hp::detail::make_indices<3>::type>;
using no_names = hp::detail::axis_names_of<nothing, hp::detail::make_indices<0>::type>;

static_assert(
    std::is_same_v<names::there, hp::axes_there_are<hp::alias<'d', 'p'>, hp::alias<'t', 'e', 'n', 's', 'o', 'r'>,
                                                    hp::alias<'e', 'p'>>>);
static_assert(std::is_same_v<no_names::there, hp::axes_there_are<>>);

template <hp::fixed_string Name>
struct called {
  static constexpr const char* text = Name.text;
  static constexpr int length = Name.size();
};
template <class Names, hp::fixed_string Name>
std::string nearest() {
  return Names::template nearest_to<called<Name>>::text;
}

TEST(axis_names, the_nearest_needs_the_fewest_changes) {
  EXPECT_EQ((nearest<names, "tensors">()), "tensor");
  EXPECT_EQ((nearest<names, "sensor">()), "tensor");
  EXPECT_EQ((nearest<names, "e">()), "ep");
  EXPECT_EQ((nearest<names, "pe">()), "ep");  // neighbours swapped
  EXPECT_EQ((nearest<names, "xp">()), "dp");  // the first of equals
  EXPECT_EQ((nearest<names, "">()), "dp");
  EXPECT_EQ((nearest<no_names, "tp">()), "");
}

}  // namespace
