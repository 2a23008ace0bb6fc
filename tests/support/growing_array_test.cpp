// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/growing_array.hpp>

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace {

namespace hp = hyperparallel;

/// Counts who is alive and who was copied or moved.
struct counted {
  inline static int alive = 0, copied = 0, moved = 0;
  int value = 0;
  counted() { ++alive; }
  explicit counted(int v) : value(v) { ++alive; }
  counted(const counted& other) : value(other.value) {
    ++alive;
    ++copied;
  }
  counted& operator=(const counted& other) {
    value = other.value;
    ++copied;
    return *this;
  }
  counted& operator=(counted&& other) noexcept {
    value = std::exchange(other.value, -1);
    ++moved;
    return *this;
  }
  ~counted() { --alive; }
};

constexpr int sum_of(int count) {
  hp::growing_array<int> a;
  for (int i = 0; i < count; ++i) a.push(i);
  hp::growing_array<int> b = a;
  b[0] += 1000;
  int sum = b[0] - a[0] - 1000;
  for (const int x : a) sum += x;
  return sum;
}
static_assert(sum_of(100) == 4950, "it lives inside a constant evaluation");

// Holds the array against std::vector through any sequence of operations.
TEST(growing_array, does_what_a_vector_does) {
  std::mt19937 random(1);
  hp::growing_array<counted> a;
  std::vector<int> expected;
  for (int step = 0; step < 20000; ++step) {
    switch (random() % 12) {
      case 0:
        a.clear();
        expected.clear();
        break;
      case 1: {
        const int n = static_cast<int>(random() % 40);
        a.resize(n, counted(step));
        expected.resize(static_cast<std::size_t>(n), step);
        break;
      }
      case 2:
        a.reserve(static_cast<int>(random() % 64));
        break;
      case 3: {
        hp::growing_array<counted> copy = a;
        copy.push(counted(-5));  // a copy is deep
        if (copy.size > 1) copy[0].value = -6;
        hp::growing_array<counted> other;
        other.push(counted(3));
        other = a;
        a = other;
        break;
      }
      case 4: {
        hp::growing_array<counted> taken = std::move(a);
        EXPECT_EQ(a.size, 0);
        EXPECT_EQ(a.capacity(), 0);
        a = std::move(taken);
        EXPECT_EQ(taken.item, nullptr);
        break;
      }
      case 5:
        a = *&a;
        break;
      case 6:
        if (!a.empty()) {  // the pushed value lies in the array
          const int from = static_cast<int>(random() % static_cast<unsigned>(a.size));
          expected.push_back(expected[static_cast<std::size_t>(from)]);
          const int place = a.push(a[from]);
          ASSERT_EQ(place, a.size - 1);
        }
        break;
      default:
        expected.push_back(step);
        ASSERT_EQ(a.push(counted(step)), static_cast<int>(expected.size()) - 1);
    }
    ASSERT_EQ(a.size, static_cast<int>(expected.size()));
    ASSERT_GE(a.capacity(), a.size);
    for (int i = 0; i < a.size; ++i) ASSERT_EQ(a[i].value, expected[static_cast<std::size_t>(i)]) << step;
    if (a.size > 0) {
      EXPECT_EQ(a.last().value, expected.back());
    }
  }
  hp::growing_array<counted>().push(counted(1));
  a = {};
  EXPECT_EQ(counted::alive, 0) << "every element is destroyed once";
}

TEST(growing_array, n_pushes_move_fewer_than_2n_elements_and_none_after_reserve) {
  for (const int n : {1, 7, 8, 9, 64, 65, 1000}) {
    hp::growing_array<counted> a;
    const counted one(1);
    counted::moved = 0;
    for (int i = 0; i < n; ++i) a.push(one);
    EXPECT_LT(counted::moved, 2 * n);
    hp::growing_array<counted> b;
    b.reserve(n);
    const counted* const before = b.item;
    counted::moved = 0;
    for (int i = 0; i < n; ++i) b.push(one);
    EXPECT_EQ(counted::moved, 0);
    EXPECT_EQ(b.item, before);
    EXPECT_EQ(b.capacity(), n);
  }
}

// An array that follows another one element by element is `resize`d each time.
TEST(growing_array, n_times_one_element_more_move_fewer_than_2n_elements_and_none_after_reserve) {
  for (const int first : {0, 1, 7, 100})
    for (const int n : {1, 8, 65, 1000}) {
      hp::growing_array<counted> a;
      a.resize(first, counted(1));
      EXPECT_EQ(a.capacity(), first);
      counted::moved = 0;
      for (int i = 1; i <= n; ++i) a.resize(first + i, counted(2));
      EXPECT_LT(counted::moved, 2 * (first + n));
      for (int i = 0; i < a.size; ++i) ASSERT_EQ(a[i].value, i < first ? 1 : 2);
      hp::growing_array<counted> b;
      b.reserve(n);
      counted::moved = 0;
      for (int i = 1; i <= n; ++i) b.resize(i, counted(2));
      EXPECT_EQ(counted::moved, 0);
      EXPECT_EQ(b.capacity(), n);
    }
}

TEST(growing_array, equality_looks_at_the_elements_in_use) {
  hp::growing_array<int> a, b;
  EXPECT_TRUE(a == b);
  a.push(1);
  EXPECT_FALSE(a == b);
  b.reserve(100);
  b.push(1);
  EXPECT_TRUE(a == b);
  b[0] = 2;
  EXPECT_FALSE(a == b);
  b.clear();
  a.clear();
  EXPECT_TRUE(a == b);
}

TEST(growing_array, resize_gives_new_elements_the_value) {
  hp::growing_array<int> a;
  a.push(5);
  a.resize(4, 7);
  EXPECT_EQ(a.size, 4);
  EXPECT_EQ(a[0], 5);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(a[i], 7);
  a.resize(2);
  a.resize(3);
  EXPECT_EQ(a[1], 7);
  EXPECT_EQ(a[2], 0) << "what was cut off does not come back";
}

}  // namespace
