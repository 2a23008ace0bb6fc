// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/missing_layers.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

TEST(missing_layers, each_is_found_by_its_field_alone) {
  for (const hp::missing_layer& each : hp::missing_layers) {
    json fields = {{"hidden_size", 64}};
    EXPECT_FALSE(hp::detail::missing_layer_of(fields).has_value());
    for (const json& none : {json(nullptr), json(false), json(0)}) {
      fields[each.field] = none;
      EXPECT_FALSE(hp::detail::missing_layer_of(fields).has_value()) << each.field;
    }
    fields[each.field] = each.text == nullptr ? json({1, 2}) : json::array({"other", each.text});
    const auto found = hp::detail::missing_layer_of(fields);
    ASSERT_TRUE(found.has_value()) << each.field;
    EXPECT_EQ(found->rfind(each.field, 0), 0u) << *found;
    EXPECT_NE(found->find(each.layer), std::string::npos) << *found;
    if (each.text == nullptr) continue;
    fields[each.field] = json::array({"other"});
    EXPECT_FALSE(hp::detail::missing_layer_of(fields).has_value()) << each.field;
  }
}

TEST(missing_layers, patterns_and_numbers_of_lists_are_looked_into) {
  EXPECT_EQ(hp::detail::missing_layer_of({{"hybrid_override_pattern", "-M*"}}),
            "hybrid_override_pattern has M: Mamba-2 layers of this family are not known");
  EXPECT_FALSE(hp::detail::missing_layer_of({{"hybrid_override_pattern", "-*-"}}).has_value());
  EXPECT_EQ(hp::detail::missing_layer_of({{"attn_type_list", {1, 0, 1}}}),
            "attn_type_list has 0: lightning attention is not known");
  EXPECT_FALSE(hp::detail::missing_layer_of({{"attn_type_list", {1, 1}}}).has_value());
}

}  // namespace
