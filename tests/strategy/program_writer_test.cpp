// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/program_writer.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>

#include <gtest/gtest.h>
#include <models/trained_models.hpp>

namespace {

namespace hp = hyperparallel;

/// The writer with its doors open.
struct open_writer : hp::program_writer {
  using hp::program_writer::base_;
  using hp::program_writer::bring_home;
  using hp::program_writer::ensure;
  using hp::program_writer::home;
  using hp::program_writer::next_value;
  using hp::program_writer::program_;
  using hp::program_writer::program_writer;
  using hp::program_writer::replicated_of;
  using hp::program_writer::turned_by;

  hp::layout_value cut_along(int tensor, int dim) const {
    hp::layout_value l = replicated_of(program_.graph.tensor[tensor].shape.rank);
    hp::append_cut(l, {dim, 0, 1, mesh().size[0]});
    return l;
  }
};

struct case_of_one_matrix {
  hp::graph g = programs::one_matrix();
  hp::strategy_value s = hp::strategy_called("zero3", 4).strategy;
  open_writer writer{hp::graph(g), s};
  int x = hp::find_tensor(g, "x"), weight = hp::find_tensor(g, "weight");
};

TEST(program_writer, a_home_lies_as_its_first_reader_wants_it) {
  case_of_one_matrix c;
  const hp::layout_value rows = c.writer.cut_along(c.x, 0);
  const int home = c.writer.home(c.x, rows);
  EXPECT_TRUE(c.writer.program_.value[home].layout == rows);
  EXPECT_TRUE(c.writer.program_.storage[c.writer.program_.value[home].storage].home);
  EXPECT_EQ(c.writer.home(c.x, c.writer.replicated_of(2)), home) << "there is one";
  EXPECT_EQ(c.writer.ensure(c.x, rows), home);
  EXPECT_EQ(c.writer.program_.step.size, 0);
}

TEST(program_writer, a_parameter_lives_as_the_strategy_refines_it_and_is_gathered_once) {
  case_of_one_matrix c;
  const hp::layout_value whole = c.writer.replicated_of(2);
  const int gathered = c.writer.ensure(c.weight, whole);
  const hp::sharded_program& p = c.writer.program_;
  EXPECT_TRUE(c.writer.base_[c.weight] == whole);
  EXPECT_TRUE(p.value[p.home[c.weight]].layout == c.writer.cut_along(c.weight, 0));
  ASSERT_EQ(p.step.size, 1);
  EXPECT_TRUE(p.step[0].is_move);
  EXPECT_EQ(p.move[0].source, p.home[c.weight]);
  EXPECT_EQ(p.move[0].target, gathered);
  EXPECT_EQ(c.writer.ensure(c.weight, whole), gathered) << "twice gives one value";
  EXPECT_EQ(p.step.size, 1);
  EXPECT_FALSE(p.storage[p.value[gathered].storage].home);
}

TEST(program_writer, blocks_travel_place_by_place) {
  hp::graph g = programs::one_matrix();
  hp::strategy_value s = hp::strategy_called("ring", 4).strategy;
  open_writer writer(hp::graph(g), s);
  const int x = hp::find_tensor(g, "x");
  const hp::layout_value rows = writer.cut_along(x, 0);
  const int third = writer.ensure(x, rows, writer.turned_by(3));
  const hp::sharded_program& p = writer.program_;
  ASSERT_EQ(p.move.size, 3);
  for (int hop = 0; hop < 3; ++hop) {
    EXPECT_EQ(p.value[p.move[hop].source].rotation.by, hop);
    EXPECT_EQ(p.value[p.move[hop].target].rotation.by, hop + 1);
  }
  EXPECT_EQ(p.move[2].target, third);
  EXPECT_NE(writer.ensure(x, rows, writer.turned_by(2)), third);
  EXPECT_EQ(p.move.size, 3) << "it has passed there";
}

// An updated parameter takes its home's memory at once where it lies alike, and is brought there otherwise.
TEST(program_writer, next_values_take_the_memory_of_what_they_replace) {
  hp::graph g = programs::one_matrix();
  const int weight = hp::find_tensor(g, "weight");
  hp::graph_tensor updated = g.tensor[weight];
  updated.replaces = weight;
  const int next = g.tensor.push(updated);
  for (const bool alike : {true, false}) {
    open_writer writer(hp::graph(g), hp::strategy_called("dp", 4).strategy);
    const int home = writer.home(weight, writer.replicated_of(2));
    const hp::layout_value l = alike ? writer.replicated_of(2) : writer.cut_along(weight, 0);
    const int value = writer.next_value(next, l, {});
    const hp::sharded_program& p = writer.program_;
    EXPECT_EQ(p.value[value].storage == p.value[home].storage, alike);
    writer.bring_home(next, value);
    ASSERT_EQ(p.move.size, alike ? 0 : 1);
    if (alike) continue;
    const hp::program_value& back = p.value[p.move[0].target];
    EXPECT_EQ(p.move[0].source, value);
    EXPECT_EQ(back.storage, p.value[home].storage);
    EXPECT_TRUE(back.layout == p.value[home].layout);
  }
}

}  // namespace
