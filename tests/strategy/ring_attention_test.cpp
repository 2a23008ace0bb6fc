// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/ring_attention.hpp>

#include <gtest/gtest.h>
#include <models/trained_models.hpp>

#include <set>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

int count(const hp::graph& g, operator_id kind) {
  int n = 0;
  for (const hp::graph_operator& o : g.op) n += o.kind == kind;
  return n;
}

TEST(ring_attention, one_block_is_the_graph_as_it_was) {
  const hp::graph g = programs::moe_graph({});
  const hp::graph r = hp::rotate_attention(g, 1);
  EXPECT_TRUE(r.tensor == g.tensor);
  EXPECT_EQ(r.op.size, g.op.size);
  EXPECT_EQ(count(r, id_of<ops::attention>), 1) << "of one period";
}

// Every operand is made before it is read, every tensor once, the tensors of the given graph all as before.
TEST(ring_attention, the_graph_stays_a_graph) {
  for (const bool unrolled : {false, true})
    for (const char* recomputed : {static_cast<const char*>(nullptr), "layers.*"})
      for (const int blocks : {2, 3, 8, 24}) {
        const hp::graph g = programs::moe_graph({.unrolled = unrolled, .recomputed = recomputed});
        const hp::graph r = hp::rotate_attention(g, blocks);
        std::set<int> made;
        for (int t = 0; t < r.tensor.size; ++t)
          if (r.tensor[t].producer < 0) made.insert(t);
        for (int o = 0; o < r.op.size; ++o) {
          for (int i = 0; i < r.op[o].operand_count; ++i) {
            ASSERT_TRUE(made.count(r.op[o].operand[i]) == 1)
                << blocks << " " << r.name_of_op(o) << " reads " << r.name_of_tensor(r.op[o].operand[i]);
            const hp::tensor_factors& t = r.rule_of(r.op[o]).operand[i];
            for (int d = 0; d < t.rank; ++d)
              ASSERT_EQ(r.op[o].loop[t.term[d]].extent, r.tensor[r.op[o].operand[i]].shape.extent[d]);
          }
          for (int k = 0; k < r.op[o].result_count; ++k) {
            const int t = r.op[o].result[k];
            EXPECT_TRUE(made.insert(t).second) << r.name_of_tensor(t);
            EXPECT_EQ(r.tensor[t].producer, o);
          }
          if (r.op[o].forward >= 0) {
            EXPECT_LT(r.op[o].forward, o);
            EXPECT_EQ(r.op[r.op[o].forward].loop_count, r.op[o].loop_count) << r.name_of_op(o);
          }
        }
        for (int t = 0; t < g.tensor.size; ++t) {
          EXPECT_TRUE(r.tensor[t].shape == g.tensor[t].shape);
          EXPECT_EQ(made.count(t), 1u) << g.name_of_tensor(t);
        }
        EXPECT_EQ(count(r, id_of<ops::attention>), 0);
        EXPECT_EQ(count(r, id_of<ops::attention_gradient>), 0);
        const int attentions = count(g, id_of<ops::attention>);
        EXPECT_EQ(count(r, id_of<ops::attention_block>), blocks * attentions);
        EXPECT_EQ(count(r, id_of<ops::attention_merge>), (blocks - 1) * attentions);
        EXPECT_EQ(count(r, id_of<ops::attention_block_gradient>), blocks * count(g, id_of<ops::attention_gradient>));
      }
}

// Every device meets every block once each way: forward its own first, backward its own last.
TEST(ring_attention, blocks_are_met_in_the_order_of_the_ring) {
  for (const int blocks : {2, 5}) {
    models::small_moe_config config = programs::divisible_moe;
    config.layers = 1;
    const hp::graph r = hp::rotate_attention(programs::moe_graph({}, config), blocks);
    std::vector<int> forward, backward, sums;
    for (const hp::graph_operator& o : r.op) {
      if (o.kind == id_of<ops::attention_block>) forward.push_back(o.rotation);
      if (o.kind == id_of<ops::attention_block_gradient>) backward.push_back(o.rotation);
      if (o.kind == id_of<ops::sum> && o.rotation >= 0) sums.push_back(o.rotation);
      if (o.kind == id_of<ops::attention_merge>) {
        EXPECT_EQ(o.rotation, -1);
      }
    }
    ASSERT_EQ(static_cast<int>(forward.size()), blocks);
    for (int i = 0; i < blocks; ++i) {
      EXPECT_EQ(forward[static_cast<std::size_t>(i)], i);
      EXPECT_EQ(backward[static_cast<std::size_t>(i)], (i + 1) % blocks);
    }
    // Sums of the keys' and values' gradients travel with their block and end at home.
    ASSERT_EQ(static_cast<int>(sums.size()), 2 * (blocks - 1));
    for (int i = 0; i < blocks - 1; ++i) {
      EXPECT_EQ(sums[static_cast<std::size_t>(2 * i)], (i + 2) % blocks);
      EXPECT_EQ(sums[static_cast<std::size_t>(2 * i + 1)], (i + 2) % blocks);
    }
  }
}

TEST(ring_attention, keys_may_be_sharded_where_blocks_travel) {
  const hp::graph r = hp::rotate_attention(programs::moe_graph({}), 4);
  for (const hp::graph_operator& o : r.op) {
    if (o.kind != id_of<ops::attention_block> && o.kind != id_of<ops::attention_block_gradient>) continue;
    const hp::factor_rule& rule = r.rule_of(o);
    const hp::tensor_factors& keys = rule.operand[o.kind == id_of<ops::attention_block> ? 1 : 2];
    EXPECT_FALSE(hp::detail::is_whole(rule, keys.term[1]));
    EXPECT_TRUE(hp::detail::is_whole(rule, keys.term[3])) << "the width of a head is not";
  }
}

struct own_attention : ops::attention {
  static constexpr const char* name = "own_attention";
};
struct whole_attention : ops::attention {
  static constexpr const char* name = "whole_attention";
  using ring_block = own_attention;  // which is not listed
};

// Attention travels where its operator names those of a ring and the graph lists them.
TEST(ring_attention, operators_name_those_of_their_ring) {
  const auto rotated = [](auto attention, const hp::operator_list& listed) {
    hp::model_builder m({.operators = listed});
    const int batch = m.dim("batch", 2), sequence = m.dim("sequence", 4), heads = m.dim("heads", 1),
              group = m.dim("group", 2), width = m.dim("width", 3);
    const int q = m.parameter("q", {batch, sequence, heads, group, width});
    const int k = m.parameter("k", {batch, sequence, heads, width}),
              v = m.parameter("v", {batch, sequence, heads, width});
    const int o = m.apply<decltype(attention)>("attention", {q, k, v}, {.real = {1.0}});
    m.loss(m.apply<ops::reduce>("loss", {o}, {.text = "*->"}));
    hp::differentiate(m.graph);
    EXPECT_EQ(m.graph.status.code, hp::graph_code::ok);
    return hp::rotate_attention(m.graph, 2);
  };
  const hp::graph own = rotated(own_attention{}, hp::operators<hp::builtin, own_attention>::list);
  EXPECT_EQ(count(own, id_of<ops::attention_block>), 2);
  EXPECT_EQ(count(own, id_of<ops::attention_merge>), 1);
  EXPECT_EQ(count(own, id_of<ops::attention_block_gradient>), 2);
  const hp::graph whole = rotated(whole_attention{}, hp::operators<hp::builtin, whole_attention>::list);
  EXPECT_EQ(count(whole, id_of<ops::attention_merge>), 0) << "its block is not listed";
}

constexpr int blocks_in_the_compiler() {
  const hp::graph r = hp::rotate_attention(programs::moe_graph({}), 2);
  int n = 0;
  for (const hp::graph_operator& o : r.op) n += o.kind == id_of<ops::attention_block> ? 1 : 0;
  return n;
}
static_assert(blocks_in_the_compiler() == 2);

}  // namespace
