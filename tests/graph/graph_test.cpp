// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/graph.hpp>

#include <gtest/gtest.h>
#include <models/trained_models.hpp>

#include <set>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;

// Names stay where they were put, whatever is added, also where a name is made of names of the same graph.
TEST(graph, texts_keep_their_places) {
  hp::graph g;
  std::vector<int> place;
  std::vector<std::string> expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string a = "t" + std::to_string(i);
    if (i % 3 == 2) {
      place.push_back(hp::add_text(g, "gradient(", g.text_at(place[static_cast<std::size_t>(i - 1)]), ")"));
      expected.push_back("gradient(" + expected[static_cast<std::size_t>(i - 1)] + ")");
    } else {
      place.push_back(hp::add_text(g, a.c_str()));
      expected.push_back(a);
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(g.text_at(place[i]), expected[i]);
  EXPECT_STREQ(g.text_at(hp::add_text(g, "")), "");
}

TEST(graph, finds_what_it_has_by_name) {
  const hp::graph g = programs::moe_graph({.unrolled = true});
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].producer < 0) {
      EXPECT_EQ(hp::find_tensor(g, g.name_of_tensor(t)), t);
    }
  for (int d = 0; d < g.dim.size; ++d) EXPECT_EQ(hp::detail::find_dim(g, g.name_of_dim(d)), d);
  EXPECT_EQ(hp::find_tensor(g, "nobody"), -1);
  EXPECT_EQ(hp::detail::find_dim(g, "nobody"), -1);
}

TEST(graph, the_first_mistake_stays) {
  hp::graph g;
  g.fail({hp::graph_code::too_many_loops, 3});
  g.fail({hp::graph_code::text_is_malformed, 4});
  EXPECT_EQ(g.status, (hp::graph_status{hp::graph_code::too_many_loops, 3}));
}

TEST(graph, counts_repeated_parameters_as_often_as_they_are) {
  for (const hp::extent_t layers : {1, 2, 7}) {
    models::small_moe_config config = programs::divisible_moe;
    config.layers = layers;
    const hp::extent_t folded = hp::parameter_count(programs::moe_graph({}, config));
    EXPECT_EQ(folded, hp::parameter_count(programs::moe_graph({.unrolled = true}, config)));
    const hp::extent_t heads = config.query_heads * config.head_dim, keys = config.key_heads * config.head_dim;
    const hp::extent_t layer = config.hidden * (2 * heads + 2 * keys + 2 + config.experts) +
                               3 * config.experts * config.hidden * config.expert_width;
    EXPECT_EQ(folded, layers * layer + config.hidden * (2 * config.vocabulary + 1));
  }
  EXPECT_EQ(hp::detail::repeats_of(programs::moe_graph({}), -1), 1);
}

TEST(graph, sizes_are_of_the_type) {
  hp::graph_tensor t;
  t.shape = hp::shape{3, 5};
  EXPECT_EQ(hp::elements_of(t), 15);
  EXPECT_EQ(hp::bytes_of(t), 60);
  t.type = hp::data_type::bf16;
  EXPECT_EQ(hp::bytes_of(t), 30);
  t.shape = hp::shape{};
  EXPECT_EQ(hp::elements_of(t), 1);
}

TEST(graph, codes_and_phases_and_kinds_have_names_of_their_own) {
  std::set<std::string> names;
  const int codes = static_cast<int>(hp::graph_code::last_dim_is_no_multiple) + 1;
  for (int c = 0; c < codes; ++c) names.insert(hp::name_of(static_cast<hp::graph_code>(c)));
  for (int p = 0; p < hp::graph_phase_count; ++p) names.insert(hp::name_of(static_cast<hp::graph_phase>(p)));
  for (int k = 0; k <= static_cast<int>(hp::graph_tensor_kind::state); ++k)
    names.insert(hp::name_of(static_cast<hp::graph_tensor_kind>(k)));
  EXPECT_EQ(static_cast<int>(names.size()), codes + hp::graph_phase_count + 5);
}

constexpr bool grows_in_the_compiler() {
  hp::graph g;
  int last = 0;
  for (int i = 0; i < 600; ++i) last = hp::add_text(g, "long", "er", " name");
  return hp::detail::same_text(g.text_at(last), "longer name") && g.text.size == 600 * 12;
}
static_assert(grows_in_the_compiler());

}  // namespace
