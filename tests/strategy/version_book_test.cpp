// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/version_book.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;

struct shelf {
  hp::sharded_program p;

  shelf() {
    p.mesh.shape = {2, {2, 4}};
    for (const hp::graph_tensor_kind kind : {hp::graph_tensor_kind::activation, hp::graph_tensor_kind::parameter}) {
      hp::graph_tensor t;
      t.shape = hp::shape{8, 16};
      t.kind = kind;
      p.graph.tensor.push(t);
    }
  }
  /// Cut along dim 0 and 1 by these axes, -1 for none; waiting along `partial`.
  hp::layout_value layout(int rows, int columns, int partial = -1) const {
    hp::layout_value l;
    l.mesh = p.mesh.shape;
    l.rank = 2;
    if (rows >= 0) hp::append_cut(l, {0, rows, 1, l.mesh.size[rows]});
    if (columns >= 0) hp::append_cut(l, {1, columns, 1, l.mesh.size[columns]});
    if (partial >= 0) l.partial[partial] = hp::reduce_op::sum;
    return l;
  }
};

TEST(version_book, finds_exactly_what_was_added_and_is_at_hand) {
  shelf s;
  hp::version_book book(s.p);
  std::vector<int> values;
  for (int rows = -1; rows < 2; ++rows)
    for (int columns = -1; columns < 2; ++columns) {
      if (rows >= 0 && rows == columns) continue;
      EXPECT_EQ(book.find(0, s.layout(rows, columns)), -1);
      const int v = book.add(0, s.layout(rows, columns));
      EXPECT_EQ(v, static_cast<int>(values.size()));
      values.push_back(v);
      EXPECT_EQ(s.p.storage[s.p.value[v].storage].bytes, hp::local_bytes(s.p, v));
    }
  for (const int v : values) EXPECT_EQ(book.find(0, s.p.value[v].layout), v);
  EXPECT_EQ(book.find(1, s.layout(-1, -1)), -1) << "of another tensor";
  EXPECT_EQ(book.best(1), -1);
  EXPECT_EQ(book.source(1, s.layout(-1, -1)), -1);
  book.forget(values[2]);
  EXPECT_EQ(book.find(0, s.p.value[values[2]].layout), -1);
  book.keep_only(0, values[3]);
  for (const int v : values) EXPECT_EQ(book.find(0, s.p.value[v].layout), v == values[3] ? v : -1);
}

TEST(version_book, blocks_that_travel_are_values_of_their_own) {
  shelf s;
  hp::version_book book(s.p);
  const int at_home = book.add(0, s.layout(0, -1)), away = book.add(0, s.layout(0, -1), {0, 1});
  EXPECT_EQ(book.find(0, s.layout(0, -1)), at_home);
  EXPECT_EQ(book.find(0, s.layout(0, -1), {0, 1}), away);
  EXPECT_EQ(book.find_turned(0, {0, 1}), away);
  EXPECT_EQ(book.find_turned(0, {0, 2}), -1);
  book.forget(at_home);
  EXPECT_EQ(book.best(0), -1) << "rotated ones are not asked";
}

// The one that leaves the least to receive, by counting elements on every device; the earliest of equals.
TEST(version_book, a_source_leaves_the_least_to_receive) {
  std::mt19937 random(6);
  for (int round = 0; round < 400; ++round) {
    shelf s;
    hp::version_book book(s.p);
    const int count = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < count; ++i) {
      const int rows = static_cast<int>(random() % 3) - 1, columns = static_cast<int>(random() % 3) - 1;
      book.add(0,
               s.layout(rows, rows == columns ? -1 : columns, random() % 3 == 0 && rows != 0 && columns != 0 ? 0 : -1));
    }
    const hp::layout_value wanted = s.layout(static_cast<int>(random() % 2), -1);
    int expected = -1, waiting = -1;
    hp::extent_t most = -1;
    for (int v = 0; v < s.p.value.size; ++v) {
      if (hp::is_partial(s.p.value[v].layout)) {
        if (waiting < 0) waiting = v;
        continue;
      }
      hp::extent_t held = 0;
      for (int at = 0; at < 8; ++at) {
        const hp::coordinate c = hp::coordinates_of(s.p.mesh.shape, at);
        const hp::shape& whole = s.p.graph.tensor[0].shape;
        held +=
            hp::volume(hp::intersection(hp::slice_at(s.p.value[v].layout, whole, c), hp::slice_at(wanted, whole, c)));
      }
      if (held > most) {
        most = held;
        expected = v;
      }
    }
    EXPECT_EQ(book.source(0, wanted), expected >= 0 ? expected : waiting);
  }
}

TEST(version_book, between_forward_and_backward_one_value_of_each_stays_and_homes) {
  for (const bool keep_gathered : {false, true})
    for (const bool keep_moved : {false, true}) {
      shelf s;
      hp::version_book book(s.p);
      const int terms = book.add(0, s.layout(-1, -1, 0)), whole = book.add(0, s.layout(-1, -1)),
                cut = book.add(0, s.layout(0, -1));
      const int home = book.add(1, s.layout(0, -1), {}, -1, true), gathered = book.add(1, s.layout(-1, -1)),
                other = book.add(1, s.layout(-1, 1));
      EXPECT_EQ(book.best(0), whole);
      book.enter_backward([&](int, bool parameter) { return parameter ? keep_gathered : keep_moved; });
      const auto at_hand = [&](int v) { return book.find(s.p.value[v].tensor, s.p.value[v].layout) == v; };
      EXPECT_TRUE(at_hand(whole));
      EXPECT_EQ(at_hand(terms), keep_moved);
      EXPECT_EQ(at_hand(cut), keep_moved);
      EXPECT_TRUE(at_hand(home));
      EXPECT_EQ(at_hand(gathered), keep_gathered);
      EXPECT_EQ(at_hand(other), keep_gathered);
    }
}

}  // namespace
