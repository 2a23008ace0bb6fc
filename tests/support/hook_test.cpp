// SPDX-License-Identifier: Apache-2.0
// Hooks hold any callable of their signature, copy it, and know when there is none.
#include <hyperparallel/support/hook.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace {

namespace hp = hyperparallel;
using sum = hp::hook<int(int, int)>;

int difference(int a, int b) { return a - b; }

static_assert(std::is_convertible_v<int (*)(int, int), sum> && std::is_nothrow_move_constructible_v<sum>);
static_assert(!std::is_constructible_v<sum, int> && !std::is_constructible_v<sum, int (*)(int)>);
static_assert(!std::is_constructible_v<sum, const char* (*)(int, int)>);

TEST(hook, calls_what_it_is_given) {
  int calls = 0;
  const sum lambda = [&](int a, int b) { return ++calls, a + b; };
  EXPECT_EQ(lambda(2, 3), 5);
  EXPECT_EQ(calls, 1);
  const sum pointer = &difference, function = difference, standard = std::function<int(int, int)>(difference);
  for (const sum& h : {pointer, function, standard}) EXPECT_EQ(h(2, 3), -1);
}

TEST(hook, none_is_false) {
  int (*const null)(int, int) = nullptr;
  const sum nothing, pointer = null, standard = std::function<int(int, int)>(), named = nullptr, copy = nothing;
  for (const sum* h : {&nothing, &pointer, &standard, &named, &copy}) EXPECT_FALSE(*h);
  EXPECT_TRUE(sum(difference));
}

TEST(hook, a_copy_has_a_callable_of_its_own) {
  sum counts = [n = 0](int a, int) mutable { return n += a; };
  EXPECT_EQ(counts(1, 0), 1);
  sum copy = counts;
  EXPECT_EQ(counts(1, 0), 2);
  EXPECT_EQ(copy(5, 0), 6);
  const sum moved = std::move(counts);
  EXPECT_FALSE(counts);  // NOLINT: moved from, it has none
  EXPECT_EQ(moved(1, 0), 3);
  copy = moved;
  EXPECT_EQ(copy(1, 0), 4);
  copy = nullptr;
  EXPECT_FALSE(copy);
}

TEST(hook, destroys_every_copy_once) {
  const auto held = std::make_shared<int>(4);
  {
    sum one = [held](int a, int b) { return *held + a + b; };
    EXPECT_EQ(held.use_count(), 2);
    sum two = one;
    EXPECT_EQ(held.use_count(), 3);
    one = two;
    EXPECT_EQ(held.use_count(), 3);
    EXPECT_EQ(one(1, 1), 6);
    two = difference;
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(hook, references_reach_the_callable) {
  const hp::hook<void(int&)> add = [](int& n) { ++n; };
  int n = 1;
  add(n);
  EXPECT_EQ(n, 2);
  const hp::hook<void(int)> result_is_dropped = [](int v) { return v; };
  result_is_dropped(1);
}

}  // namespace
