// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/index_check.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/forms/cross_entropy.hpp>
#include <hyperparallel/dtensor/operations/indexing.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>

namespace hp = hyperparallel;
namespace op = hyperparallel::operations;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
constexpr hp::layout_value by_rows = hp::layout<mesh, "dp", hp::none>::value;

hp::rank_group ranks() { return hp::rank_group(4, {.threads = 1}); }

template <class T>
hp::dynamic_dtensor spread(const hp::rank_group& group, const hp::layout_value& l, const hp::shape& s,
                           const std::vector<T>& whole) {
  return hp::distribute<T>(group, s, l, whole);
}

std::string text_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const hp::rank_error& e) {
    return e.what();
  }
  return "";
}

// Law: every index of [0, extent) is taken and every other refused, wherever it stands, with its value and its place.
TEST(index_check, each_place_of_each_rank) {
  const hp::rank_group group = ranks();
  const hp::shape s(4, 2);
  const auto x = spread<float>(group, by_rows, s, std::vector<float>(8));
  for (std::size_t place = 0; place < 8; ++place)
    for (const std::int64_t index : {-3, -1, 0, 1, 2, 1000}) {
      std::vector<std::int64_t> all(8, 1);
      all[place] = index;
      const auto at = spread<std::int64_t>(group, by_rows, s, all);
      const std::string expected = index == 0 || index == 1
                                       ? ""
                                       : "gather failed at position " + std::to_string(place / 4 * 2) + ": index " +
                                             std::to_string(index) + " at [" + std::to_string(place / 2) + ", " +
                                             std::to_string(place % 2) + "], expected 0 to 1";
      EXPECT_EQ(text_of([&] { hp::apply(op::gather{1}, x, at); }), expected);
    }
}

// A vocabulary in shards: an index of another rank's rows is none that is wrong.
TEST(index_check, counts_in_the_whole_dim) {
  const hp::rank_group group = ranks();
  const auto table =
      spread<float>(group, hp::layout<mesh, "tp", hp::none>::value, hp::shape(8, 1), std::vector<float>(8));
  const hp::layout_value flat = hp::layout<mesh, "dp">::value;
  for (std::int32_t id = -1; id < 10; ++id) {
    const auto ids = spread<std::int32_t>(group, flat, hp::shape(2), {id, 0});
    EXPECT_EQ(text_of([&] { hp::apply(op::embedding{}, ids, table); }).empty(), id >= 0 && id < 8) << id;
  }
}

TEST(index_check, of_every_operator_that_reads_or_writes_by_index) {
  const hp::rank_group group = ranks();
  const hp::layout_value whole = hp::layout<mesh, hp::none, hp::none>::value, flat = hp::layout<mesh, hp::none>::value;
  const auto x = spread<std::int64_t>(group, whole, hp::shape(3, 2), std::vector<std::int64_t>(6));
  const auto same = [&](std::int64_t i) {
    return spread<std::int64_t>(group, whole, hp::shape(3, 2), std::vector<std::int64_t>(6, i));
  };
  const auto one = [&](std::int64_t i) { return spread<std::int64_t>(group, flat, hp::shape(1), {i}); };
  const auto pair = [&](std::int64_t i, std::int64_t j) {
    return spread<std::int64_t>(group, whole, hp::shape(1, 2), {i, j});
  };
  const auto row = spread<std::int64_t>(group, whole, hp::shape(1, 2), {1, 2});
  for (std::int64_t i = -2; i < 5; ++i) {
    const bool a_row = i >= 0 && i < 3, a_column = i >= 0 && i < 2;
    const auto taken = [](const std::function<void()>& f) { return text_of(f).empty(); };
    EXPECT_EQ(taken([&] { hp::apply(op::gather{0}, x, same(i)); }), a_row);
    EXPECT_EQ(taken([&] { hp::apply(op::gather{-1}, x, same(i)); }), a_column);
    EXPECT_EQ(taken([&] { hp::apply(op::index_select{0}, x, one(i)); }), a_row);
    EXPECT_EQ(taken([&] { hp::apply(op::index_select{-1}, x, one(i)); }), a_column);
    EXPECT_EQ(taken([&] { hp::apply(op::gather_nd{}, x, pair(i, 0)); }), a_row);
    EXPECT_EQ(taken([&] { hp::apply(op::gather_nd{}, x, pair(0, i)); }), a_column);
    EXPECT_EQ(taken([&] { hp::apply(op::scatter{0}, x, same(i), x); }), a_row);
    EXPECT_EQ(taken([&] { hp::apply(op::scatter_add{1}, x, same(i), x); }), a_column);
    EXPECT_EQ(taken([&] { hp::apply(op::scatter_update{}, x, one(i), row); }), a_row);
    EXPECT_EQ(hp::full_tensor<bool>(hp::apply(op::one_hot{2}, one(i))), (std::vector<bool>{i == 0, i == 1}));
  }
}

TEST(index_check, a_label_is_a_class_or_ignored) {
  const hp::rank_group group = ranks();
  const auto logits = spread<float>(group, by_rows, hp::shape(2, 4), std::vector<float>(8));
  const auto cut = spread<float>(group, hp::layout<mesh, "dp", "tp">::value, hp::shape(2, 4), std::vector<float>(8));
  for (const std::int32_t label : {-101, -100, -1, 0, 3, 4}) {
    const auto labels = spread<std::int32_t>(group, hp::layout<mesh, "dp">::value, hp::shape(2), {0, label});
    const std::string expected =
        label == -100 || label == 0 || label == 3
            ? ""
            : "cross_entropy failed at position 2: index " + std::to_string(label) + " at [1], expected 0 to 3";
    EXPECT_EQ(text_of([&] { hp::apply(op::cross_entropy{}, logits, labels); }), expected);
    EXPECT_EQ(text_of([&] { hp::distributed::apply_form(hp::distributed::forms::cross_entropy{}, cut, labels); }),
              expected);
  }
}

}  // namespace
