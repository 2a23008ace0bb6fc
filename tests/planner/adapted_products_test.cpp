// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/adapted_products.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <hyperparallel/planner/decoder_plan.hpp>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

/// Names of the products that got adapters, without their layer.
std::vector<std::string> adapted_in(const hp::decoder& d, hp::adapted_products which) {
  const hp::decoder_plan p{.adapter_rank = 2, .adapted = which, .batch = 4, .sequence = 8};
  const hp::graph g = hp::training_graph_of(d, p);
  EXPECT_EQ(g.status.code, hp::graph_code::ok);
  std::vector<std::string> names;
  const std::string suffix = ".adapter_in.weight";
  for (const hp::graph_tensor& t : g.tensor) {
    std::string name = g.text_at(t.name);
    if (t.kind != hp::graph_tensor_kind::parameter || t.replaces >= 0 || !name.ends_with(suffix)) continue;
    name.resize(name.size() - suffix.size());
    name = name.substr(static_cast<std::size_t>(hp::detail::repetition_length(name.c_str())) + 1);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

TEST(AdaptedProducts, AreTheLinearMapsOfLayers) {
  using names = std::vector<std::string>;
  const hp::adapted_products all = hp::adapted_products::all, inputs = hp::adapted_products::attention_inputs;
  EXPECT_EQ(adapted_in(small_decoders::dense(), all),
            (names{"attention.query", "attention.key", "attention.value", "attention.output", "feed_forward.gate",
                   "feed_forward.up", "feed_forward.down"}));
  EXPECT_EQ(adapted_in(small_decoders::dense(), inputs),
            (names{"attention.query", "attention.key", "attention.value"}));
  EXPECT_EQ(adapted_in(small_decoders::with_experts(), all),
            (names{"attention.query", "attention.key", "attention.value", "attention.output", "feed_forward.gate",
                   "feed_forward.up", "feed_forward.down", "moe.shared.gate", "moe.shared.up", "moe.shared.down"}));
  EXPECT_EQ(adapted_in(small_decoders::with_sinks(), all),
            (names{"attention.query", "attention.key", "attention.value", "attention.output"}));
  EXPECT_EQ(adapted_in(small_decoders::latent(), inputs),
            (names{"attention.query_down", "attention.query_up", "attention.query_rope", "attention.key_value_down",
                   "attention.key_up", "attention.key_rope", "attention.value_up"}));
}

// Whatever the family, patterns name products, and parameters that are trained are those of adapters.
TEST(AdaptedProducts, AreInEveryGraph) {
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::adapted_products which : {hp::adapted_products::all, hp::adapted_products::attention_inputs})
      EXPECT_GE(adapted_in(d, which).size(), 3u);
}

static_assert(hp::adapted_of(hp::decoder{}, hp::adapted_products::all).size == 2);

}  // namespace
