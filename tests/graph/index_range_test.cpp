// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/index_range.hpp>

#include <hyperparallel/graph/model_builder.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

struct reading {
  hp::model_builder m{hp::build_options{.unrolled = true}};
  int tokens = 0, labels = 0, experts = 0, unread = 0;
  reading() {
    const int batch = m.dim("batch", 2), seq = m.dim("seq", 4), hidden = m.dim("hidden", 3);
    const int large = m.dim("large", 32), small = m.dim("small", 20), kinds = m.dim("experts", 6);
    tokens = m.index_input("tokens", {batch, seq});
    labels = m.index_input("labels", {batch, seq});
    experts = m.index_input("chosen", {batch, seq, m.dim("top_k", 2)});
    unread = m.index_input("unread", {batch});
    m.apply<hp::ops::embed>("first", {tokens, m.parameter("a", {large, hidden})});
    m.apply<hp::ops::pick>("picked", {m.input("logits", {batch, seq, large}), labels});
    m.apply<hp::ops::count_experts>("count", {experts}, {.created = {{'e', kinds}}, .created_count = 1});
    m.apply<hp::ops::embed>("second", {tokens, m.parameter("b", {small, hidden})});
  }
};

TEST(index_range, is_that_of_the_readers) {
  const reading r;
  ASSERT_EQ(r.m.graph.status.code, hp::graph_code::ok) << hp::name_of(r.m.graph.status.code);
  const hp::index_range tokens = hp::index_range_of(r.m.graph, r.tokens);
  EXPECT_EQ(tokens.limit, 20) << "the smaller table";
  EXPECT_STREQ(r.m.graph.name_of_op(tokens.op), "second");
  EXPECT_TRUE(tokens.has(0) && tokens.has(19) && !tokens.has(20) && !tokens.has(-1));
  const hp::index_range labels = hp::index_range_of(r.m.graph, r.labels);
  EXPECT_TRUE(labels.has(0) && labels.has(31) && !labels.has(32) && labels.has(-100)) << "negative: no label";
  const hp::index_range experts = hp::index_range_of(r.m.graph, r.experts);
  EXPECT_TRUE(experts.has(5) && !experts.has(6) && !experts.has(-1));
  EXPECT_EQ(hp::detail::index_limit(r.m.graph, r.experts), 6);
  const hp::index_range unread = hp::index_range_of(r.m.graph, r.unread);
  EXPECT_TRUE(unread.has(-5) && unread.has(1'000'000) && unread.op < 0);
  EXPECT_EQ(hp::detail::index_limit(r.m.graph, r.unread), 1);
}

}  // namespace
