// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/refused_split.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
using code = hp::split_code;

namespace {

constexpr const char* names[] = {"prefill", "decode"};

TEST(refused_split, sentences_name_modules_and_sizes) {
  const auto say = [](const hp::split_status& s) { return hp::text_of_refusal(s, names); };
  EXPECT_EQ(say({}), "ok");
  EXPECT_EQ(say({.code = code::devices_are_not_positive, .given = -2}), "-2 devices cannot be split");
  EXPECT_EQ(say({.code = code::split_has_no_module}), "there is no module to split devices among");
  EXPECT_EQ(say({.code = code::size_is_not_positive, .module = 1, .choice = 3, .given = 0}),
            "entry 3 of module decode has 0 devices, expected at least 1");
  EXPECT_EQ(say({.code = code::time_is_negative, .module = 0, .choice = 0}),
            "entry 0 of module prefill has a negative time");
  EXPECT_EQ(say({.code = code::module_has_no_size, .module = 1, .expected = 4}),
            "module decode needs 4 devices, and none of its entries has as many");
  EXPECT_EQ(say({.code = code::devices_are_too_few, .given = 3, .expected = 5}),
            "3 devices are fewer than the 5 that the modules need at least");
}

TEST(refused_split, a_choice_that_cannot_be_is_named) {
  using choice = hp::split_choice_code;
  const auto say = [](const hp::split_choice& c) { return hp::text_of_refusal(c, names); };
  EXPECT_EQ(say({}), "ok");
  EXPECT_EQ(say({.code = choice::no_split_is_compiled}), "no split is compiled");
  EXPECT_EQ(say({.code = choice::split_has_other_modules, .split = 2, .given = 3, .expected = 2}),
            "compiled split 2 is of 3 modules, expected 2");
  EXPECT_EQ(say({.code = choice::time_is_negative, .split = 1}),
            "compiled split 1 or the move to it takes less than no time");
  EXPECT_EQ(say({.code = choice::present_is_no_split, .given = 7, .expected = 2}),
            "the present split is number 7 of 2");
  EXPECT_EQ(say({.code = choice::times_overflow, .split = 0}), "the time of the steps of compiled split 0 overflows");
  EXPECT_EQ(say({.code = choice::load_is_too_large, .module = 1, .given = 9, .expected = 8}),
            "no compiled split has room for the load: 9 of module decode, the largest has 8");
  EXPECT_EQ(say({.code = choice::load_is_too_large}), "no compiled split has room for the load");
}

TEST(refused_split, every_code_has_words) {
  for (int c = 1; c <= static_cast<int>(hp::split_choice_code::load_is_too_large); ++c) {
    const std::string key = std::string("split_choice_code::") + hp::name_of(static_cast<hp::split_choice_code>(c));
    EXPECT_NE(hp::detail::find_refusal(key.c_str()), nullptr) << key;
  }
  for (int c = 1; c <= static_cast<int>(code::devices_are_too_few); ++c) {
    const std::string key = std::string("split_code::") + hp::name_of(static_cast<code>(c));
    EXPECT_NE(hp::detail::find_refusal(key.c_str()), nullptr) << key;
  }
}

TEST(refused_split, a_proof_is_one_line) {
  hp::growing_array<hp::module_load> load(2);
  load[0].choice.push({1, 50});
  load[0].choice.push({2, 25});
  load[1].choice.push({1, 28});
  load[1].choice.push({2, 14});
  EXPECT_EQ(hp::text_of_proof(hp::split_devices(load, 3), names, 3),
            "less than 28 takes 4 devices, more than 3: prefill 2, decode 2");
  EXPECT_EQ(hp::text_of_proof(hp::split_devices(load, 4), names, 4),
            "less than 25 is reached by no number of devices of prefill");
}

}  // namespace
