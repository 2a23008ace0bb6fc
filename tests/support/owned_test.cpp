// SPDX-License-Identifier: Apache-2.0
// Owners of one object: each object is destroyed once, by its last owner.
#include <hyperparallel/support/owned.hpp>

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

namespace {

namespace hp = hyperparallel;
using hp::detail::owned;

struct hidden;  // incomplete here
owned<hidden> made(int& alive);
int value_of(const hidden&);
void destroy(hidden*) noexcept;

struct holder {
  owned<hidden> state;
};

static_assert(!std::is_copy_constructible_v<owned<hidden>> && !std::is_copy_assignable_v<owned<hidden>>);
static_assert(std::is_nothrow_move_constructible_v<owned<hidden>> && std::is_nothrow_move_assignable_v<owned<hidden>>);

TEST(owned, destroys_its_object_once_where_the_type_is_incomplete) {
  int alive = 0;
  {
    holder one{made(alive)};
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(value_of(*one.state), 7);
    holder two{std::move(one.state)};
    EXPECT_FALSE(one.state);
    EXPECT_TRUE(two.state);
    EXPECT_EQ(alive, 1);
    one.state = std::move(two.state);
    EXPECT_EQ(value_of(*one.state), 7);
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(owned, an_object_that_is_replaced_is_destroyed) {
  int first = 0, second = 0;
  owned<hidden> one = made(first);
  one = made(second);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  one.reset();
  EXPECT_EQ(second, 0);
  EXPECT_EQ(one.get(), nullptr);
  one.reset();
}

TEST(owned, what_is_released_has_no_owner_until_one_takes_it) {
  int alive = 0;
  hidden* object = nullptr;
  {
    owned<hidden> one = made(alive);
    object = one.release();
    EXPECT_FALSE(one);
  }
  EXPECT_EQ(alive, 1);
  {
    const owned<hidden> back(object, &destroy);
    EXPECT_EQ(value_of(*back.get()), 7);
  }
  EXPECT_EQ(alive, 0);
}

struct element {
  int number = 3;
  static inline int alive = 0;
  element() { ++alive; }
  ~element() { --alive; }
};

TEST(owned, an_array_is_destroyed_whole_and_begins_with_values) {
  {
    owned<element[]> array = hp::detail::make_owned_array<element>(5);
    EXPECT_EQ(element::alive, 5);
    EXPECT_EQ(array[4].number, 3);
    array = hp::detail::make_owned_array<element>(2);
    EXPECT_EQ(element::alive, 2);
    const owned<element[]> other = std::move(array);
    EXPECT_FALSE(array);  // NOLINT: moved from, it has none
    EXPECT_EQ(&other[1], other.get() + 1);
    EXPECT_EQ(hp::detail::make_owned_array<int>(3)[2], 0);
  }
  EXPECT_EQ(element::alive, 0);
}

struct hidden {
  explicit hidden(int& alive) : alive_(alive) { ++alive_; }
  ~hidden() { --alive_; }
  int value = 7;

 private:
  int& alive_;
};
owned<hidden> made(int& alive) { return hp::detail::make_owned<hidden>(alive); }
int value_of(const hidden& h) { return h.value; }
void destroy(hidden* h) noexcept { delete h; }

}  // namespace
