// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/operator_loops.hpp>

#include <gtest/gtest.h>

#include <algorithm>
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
  const hp::factor_rule& rule() const { return g.rule_of(op); }
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
        if (std::find(dims.begin(), dims.end(), dim) != dims.end()) continue;
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
    const auto expect = [&](const std::string& letters, const hp::tensor_factors& t) {
      ASSERT_EQ(t.rank, static_cast<int>(letters.size())) << text;
      for (int d = 0; d < t.rank; ++d) {
        const char c = letters[static_cast<std::size_t>(d)];
        const auto [at, fresh] = loop.insert({c, t.term[d]});
        EXPECT_EQ(at->second, t.term[d]) << text;
        const hp::operator_loop& l = b.op.loop[t.term[d]];
        const bool whole = c < 'a';
        EXPECT_EQ(l.dim, c - (whole ? 'A' : 'a')) << text;
        EXPECT_EQ(l.extent, l.dim + 2) << text;
        EXPECT_EQ(hp::detail::is_whole(b.rule(), t.term[d]), whole) << text;
        EXPECT_EQ(hp::has_factor(b.rule().result[0], t.term[d]), result.find(c) != std::string::npos) << text;
      }
    };
    for (int i = 0; i < count; ++i) expect(operands[static_cast<std::size_t>(i)], b.rule().operand[i]);
    ASSERT_EQ(b.op.result_count, 1);
    expect(result, b.rule().result[0]);
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
    EXPECT_EQ(b.rule().result[0].rank, run + 1);
    for (int d = 0; d < run; ++d) EXPECT_EQ(b.rule().result[0].term[d], b.rule().operand[0].term[d]);
    EXPECT_EQ(b.op.loop[b.rule().result[0].term[run]].dim, 6);
    EXPECT_EQ(b.rule().reduced, 1u << b.rule().operand[1].term[0]);
  }
}

TEST(operator_loops, the_last_part_is_repeated_for_further_operands) {
  bench b;
  for (int i = 0; i < 5; ++i) b.tensor({1, 2});
  ASSERT_EQ(b.bind("*->*").code, graph_code::ok);
  EXPECT_EQ(b.op.operand_count, 5);
  for (int i = 1; i < 5; ++i)
    for (int d = 0; d < 2; ++d) EXPECT_EQ(b.rule().operand[i].term[d], b.rule().operand[0].term[d]);
}

TEST(operator_loops, numbers_have_no_loop_and_results_may_be_several) {
  bench b;
  b.tensor({});
  b.tensor({1});
  ASSERT_EQ(b.bind(",a->a,").code, graph_code::ok);
  EXPECT_EQ(b.rule().operand[0].rank, 0);
  EXPECT_EQ(b.op.result_count, 2);
  EXPECT_EQ(b.rule().result[1].rank, 0);
  EXPECT_EQ(b.rule().factor[0].kind, hp::factor_kind::pass_through) << "one result has it";
  EXPECT_EQ(b.rule().factor[0].op, hp::reduce_op::sum) << "the other one lacks it";
}

TEST(operator_loops, results_make_the_dims_that_are_created) {
  bench b;
  b.tensor({1});
  const hp::created_dim created[] = {{'e', 4}, {'C', 9}};
  ASSERT_EQ(b.bind("b->beC", created, 2).code, graph_code::ok);
  EXPECT_EQ(b.op.loop[1], (hp::operator_loop{4, 6}));
  EXPECT_EQ(b.op.loop[2], (hp::operator_loop{9, 11}));
  EXPECT_EQ(b.rule().fixed, 0b100u);
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
  EXPECT_EQ(b.bind("ab,cb,b->a").code, graph_code::text_is_malformed) << "there are two operands";
  EXPECT_EQ(b.bind("a.,cb->a").code, graph_code::text_is_malformed) << "every dim follows a loop";
  EXPECT_EQ(b.bind("aa,cb->a").code, graph_code::loop_is_used_twice_in_one_tensor);
  bench wide;
  wide.tensor({0, 1, 2, 3, 4, 5, 6, 7});
  wide.tensor({0, 1, 2, 3, 4, 5, 6, 7});
  wide.tensor({8});
  EXPECT_EQ(wide.bind("abcdefgh,ijklmnop,q->a").code, graph_code::too_many_loops);
  bench many;
  for (int i = 0; i <= hp::max_operator_operands; ++i) many.tensor({1});
  EXPECT_EQ(many.bind("*->*"), (hp::graph_status{graph_code::too_many_operands, -1, -1, 9}));
}

}  // namespace
