// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/model/operator_loops.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::graph_code;

/// Dims "d0", "d1", … of the extents 2, 3, 4, …; tensors of some of them.
struct bench {
  hp::graph g;
  std::vector<int> tensors;

  bench() {
    for (int d = 0; d < 12; ++d) g.dim.push({hp::add_text(g, ("d" + std::to_string(d)).c_str()), d + 2});
  }
  int tensor(const std::vector<int>& dims) {
    hp::graph_tensor t;
    t.name = hp::add_text(g, "t");
    t.shape.rank = static_cast<int>(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) {
      t.dim[d] = dims[d];
      t.shape.extent[d] = g.dim[dims[d]].extent;
    }
    tensors.push_back(g.tensor.push(t));
    return tensors.back();
  }
  hp::graph_operator op;
  hp::graph_status bind(const char* text, const hp::created_dim* created = nullptr, int count = 0) {
    op = {};
    return hp::bind_loops(g, op, text, tensors.data(), static_cast<int>(tensors.size()), created, count);
  }
};

// Random einsums: letters stand for dims; what is bound says, of each tensor and dim, the letter's dim and extent.
TEST(operator_loops, a_letter_is_one_loop_wherever_it_stands) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 3000; ++round) {
    bench b;
    std::string text;
    std::vector<std::string> operands;
    const int count = 1 + below(3);
    std::string used;
    for (int i = 0; i < count; ++i) {
      std::string letters;
      std::vector<int> dims;
      for (int d = below(4); d >= 0; --d) {
        const int dim = below(8);
        letters += static_cast<char>((dim % 3 == 0 ? 'A' : 'a') + dim);
        dims.push_back(dim);
      }
      b.tensor(dims);
      operands.push_back(letters);
      used += letters;
      text += (i > 0 ? "," : "") + letters;
    }
    text += "->";
    std::string result;
    for (const char c : used)
      if (below(2) == 0 && result.find(c) == std::string::npos) result += c;
    text += result;
    ASSERT_EQ(b.bind(text.c_str()).code, graph_code::ok) << text;
    std::map<char, int> loop;
    const auto expect = [&](const std::string& letters, const hp::operator_tensor& t) {
      ASSERT_EQ(t.rank, static_cast<int>(letters.size())) << text;
      for (int d = 0; d < t.rank; ++d) {
        const char c = letters[static_cast<std::size_t>(d)];
        const auto [at, fresh] = loop.insert({c, t.loop[d]});
        EXPECT_EQ(at->second, t.loop[d]) << text;
        const hp::operator_loop& l = b.op.loop[t.loop[d]];
        const bool whole = c < 'a';
        EXPECT_EQ(l.dim, c - (whole ? 'A' : 'a')) << text;
        EXPECT_EQ(l.extent, l.dim + 2) << text;
        EXPECT_EQ(l.whole, whole) << text;
        EXPECT_EQ(l.reduced, result.find(c) == std::string::npos) << text;
      }
    };
    for (int i = 0; i < count; ++i) expect(operands[static_cast<std::size_t>(i)], b.op.operand[i]);
    ASSERT_EQ(b.op.result_count, 1);
    expect(result, b.op.result[0]);
    EXPECT_EQ(b.op.loop_count, static_cast<int>(loop.size()));
  }
}

TEST(operator_loops, a_star_is_the_same_run_of_dims_everywhere) {
  for (int run = 0; run <= 4; ++run) {
    bench b;
    std::vector<int> left, right;
    for (int d = 0; d < run; ++d) left.push_back(d);
    left.push_back(5);
    b.tensor(left);
    b.tensor({5, 6});
    ASSERT_EQ(b.bind("*k,kn->*n").code, graph_code::ok);
    EXPECT_EQ(b.op.loop_count, run + 2);
    EXPECT_EQ(b.op.result[0].rank, run + 1);
    for (int d = 0; d < run; ++d) EXPECT_EQ(b.op.result[0].loop[d], b.op.operand[0].loop[d]);
    EXPECT_EQ(b.op.loop[b.op.result[0].loop[run]].dim, 6);
    EXPECT_TRUE(b.op.loop[b.op.operand[1].loop[0]].reduced);
  }
}

TEST(operator_loops, the_last_part_is_repeated_for_further_operands) {
  bench b;
  for (int i = 0; i < 5; ++i) b.tensor({1, 2});
  ASSERT_EQ(b.bind("*->*").code, graph_code::ok);
  EXPECT_EQ(b.op.operand_count, 5);
  for (int i = 1; i < 5; ++i)
    for (int d = 0; d < 2; ++d) EXPECT_EQ(b.op.operand[i].loop[d], b.op.operand[0].loop[d]);
}

TEST(operator_loops, numbers_have_no_loop_and_results_may_be_several) {
  bench b;
  b.tensor({});
  b.tensor({1});
  ASSERT_EQ(b.bind(",a->a,").code, graph_code::ok);
  EXPECT_EQ(b.op.operand[0].rank, 0);
  EXPECT_EQ(b.op.result_count, 2);
  EXPECT_EQ(b.op.result[1].rank, 0);
  EXPECT_FALSE(b.op.loop[0].reduced) << "one result has it";
}

TEST(operator_loops, results_make_the_dims_that_are_created) {
  bench b;
  b.tensor({1});
  const hp::created_dim created[] = {{'e', 4}, {'C', 9}};
  ASSERT_EQ(b.bind("b->beC", created, 2).code, graph_code::ok);
  EXPECT_EQ(b.op.loop[1], (hp::operator_loop{4, 6, false, false}));
  EXPECT_EQ(b.op.loop[2], (hp::operator_loop{9, 11, true, false}));
}

TEST(operator_loops, refusals_name_operand_dim_and_extents) {
  bench b;
  const int first = b.tensor({1, 2}), second = b.tensor({3, 2});
  const int name_of_first = b.g.tensor[first].name, name_of_second = b.g.tensor[second].name;
  EXPECT_EQ(b.bind("abc,bd->a"), (hp::graph_status{graph_code::rank_differs_from_text, -1, name_of_first, 0, 0, 2, 0}));
  EXPECT_EQ(b.bind("ab,d->a"), (hp::graph_status{graph_code::rank_differs_from_text, -1, name_of_second, 1, 0, 2, 0}));
  EXPECT_EQ(b.bind("ab,ac->a"),
            (hp::graph_status{graph_code::dim_differs_between_operands, -1, name_of_second, 1, 0, 5, 3}));
  EXPECT_EQ(b.bind("ab,cb->z").code, graph_code::dim_of_result_is_unknown);
  EXPECT_EQ(b.bind("ab,cb").code, graph_code::text_is_malformed);
  EXPECT_EQ(b.bind("ab,cb-a").code, graph_code::text_is_malformed);
  EXPECT_EQ(b.bind("ab,cb->a->b").code, graph_code::text_is_malformed);
  bench wide;
  wide.tensor({0, 1, 2, 3, 4, 5});
  wide.tensor({6, 7, 8, 9, 10});
  EXPECT_EQ(wide.bind("abcdef,ghijk->a"),
            (hp::graph_status{graph_code::too_many_loops, -1, wide.g.tensor[1].name, 1, 4}));
  bench many;
  for (int i = 0; i <= hp::max_operator_operands; ++i) many.tensor({1});
  EXPECT_EQ(many.bind("*->*"), (hp::graph_status{graph_code::too_many_operands, -1, -1, 9}));
}

}  // namespace
