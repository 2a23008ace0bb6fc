// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/idle_fields.hpp>

#include <gtest/gtest.h>

#include <iterator>
#include <string>

namespace hp = hyperparallel;

static_assert(hp::why_idle("hidden_size") == nullptr && hp::why_idle("") == nullptr);

// In order, in one list, with a reason; none that bears on bytes, limits or times.
TEST(IdleFields, EachHasItsReason) {
  const auto check = [](const auto& list, const auto& other) {
    for (std::size_t i = 0; i < std::size(list); ++i) {
      if (i > 0) {
        EXPECT_LT(list[i - 1].name, list[i].name);
      }
      EXPECT_GT(std::string(list[i].why).size(), 20u) << list[i].name;
      EXPECT_EQ(hp::why_idle(list[i].name), list[i].why);
      for (const hp::detail::idle_field& o : other) EXPECT_NE(o.name, list[i].name);
    }
  };
  check(hp::detail::fields_without_layers, hp::detail::fields_set_aside);
  check(hp::detail::fields_set_aside, hp::detail::fields_without_layers);
  for (const char* read : {"quantization_config", "compression_config", "quantization", "max_position_embeddings",
                           "max_sequence_length", "model_max_length", "num_nextn_predict_layers", "sliding_window"})
    EXPECT_EQ(hp::why_idle(read), nullptr) << read;
}
