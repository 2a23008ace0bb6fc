// SPDX-License-Identifier: Apache-2.0
// Rows that grow, beside std::vector, of elements that count how many live, of which some only move.
#include <hyperparallel/exec/light_vector.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hp = hyperparallel;
using hp::detail::light_vector;

namespace {

int living = 0;
struct counted {
  std::string text;  // longer than what a string keeps in itself, so that a lost or doubled element is seen
  counted() : counted(std::string()) {}
  explicit counted(const std::string& t) : text(t) { ++living; }
  counted(const counted& other) : text(other.text) { ++living; }
  counted(counted&& other) noexcept : text(std::move(other.text)) { ++living; }
  counted& operator=(const counted&) = default;
  counted& operator=(counted&&) noexcept = default;
  ~counted() { --living; }
};

std::string text_of(unsigned i) { return "element of the row with the number " + std::to_string(i); }

void expect_same(const light_vector<counted>& row, const std::vector<std::string>& wanted) {
  ASSERT_EQ(row.size(), wanted.size());
  EXPECT_EQ(row.empty(), wanted.empty());
  std::size_t i = 0;
  for (const counted& one : row) EXPECT_EQ(one.text, wanted[i++]);
}

TEST(light_vector, holds_what_a_vector_holds_under_random_changes) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    light_vector<counted> row;
    std::vector<std::string> wanted;
    for (unsigned step = 0; step < 40; ++step) {
      const std::string text = text_of(step);
      const std::size_t at = random() % (row.size() + 1), count = random() % 20;
      const std::size_t change = random() % 7;
      if (change == 0) {
        row.push_back(counted(text));
        wanted.push_back(text);
      } else if (change == 1) {
        EXPECT_EQ(row.emplace_back(text).text, text);
        wanted.push_back(text);
      } else if (change == 2) {
        row.insert(row.begin() + at, counted(text));
        wanted.insert(wanted.begin() + static_cast<std::ptrdiff_t>(at), text);
      } else if (change == 3) {
        row.resize(count, counted(text));
        wanted.resize(count, text);
      } else if (change == 4) {
        row.reserve(count);
      } else if (!wanted.empty() && change == 5) {
        row.pop_back();
        wanted.pop_back();
      } else if (!wanted.empty()) {  // lies in the row that grows
        row.push_back(row.front());
        wanted.push_back(wanted.front());
      }
      expect_same(row, wanted);
      EXPECT_EQ(living, static_cast<int>(row.size()));
    }
  }
  EXPECT_EQ(living, 0);
}

TEST(light_vector, copies_are_deep_and_what_was_moved_from_is_empty) {
  {
    light_vector<counted> a;
    for (unsigned i = 0; i < 9; ++i) a.emplace_back(text_of(i));
    light_vector<counted> b = a, c;
    b[4].text = "other";
    EXPECT_EQ(a[4].text, text_of(4));
    c = b;
    c = *&c;
    EXPECT_EQ(c[4].text, "other");
    light_vector<counted> d = std::move(c);
    EXPECT_TRUE(c.empty());
    EXPECT_EQ(d.size(), 9u);
    c = std::move(d);
    c.clear();
    EXPECT_TRUE(c.empty());
    EXPECT_EQ(living, 18);
  }
  EXPECT_EQ(living, 0);
}

TEST(light_vector, elements_may_only_move_and_be_aligned_further) {
  light_vector<std::unique_ptr<int>> owners;
  for (int i = 0; i < 100; ++i) owners.push_back(std::make_unique<int>(i));
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(*owners[i], static_cast<int>(i));
  struct alignas(256) line {
    int number = 0;
  };
  light_vector<line> lines(3);
  lines.emplace_back();
  for (const line& l : lines) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&l) % 256, 0u);
}

TEST(light_vector, begins_as_a_list_as_copies_and_as_a_range) {
  const light_vector<int> list{3, 1, 2};
  EXPECT_EQ(std::vector<int>(list.begin(), list.end()), (std::vector<int>{3, 1, 2}));
  const light_vector<int> same(std::size_t{4}, 7);
  EXPECT_EQ(std::vector<int>(same.begin(), same.end()), (std::vector<int>(4, 7)));
  light_vector<int> range(std::size_t{2});
  EXPECT_EQ(range[0] + range[1], 0);
  const int from[] = {5, 6, 7};
  range.assign(from, from + 3);
  EXPECT_EQ(std::vector<int>(range.begin(), range.end()), (std::vector<int>{5, 6, 7}));
  light_vector<int> none;
  none.assign(from, from);
  EXPECT_TRUE(none.empty());
}

}  // namespace
