// SPDX-License-Identifier: Apache-2.0
// Fields are read by type and range; what is wrong is told with field and value, what was not asked for by name.

#include <hyperparallel/io/config_fields.hpp>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hp = hyperparallel;
using nlohmann::json;

namespace {

/// What `read` says of an object, behind "cannot read 'f': ".
template <class Read>
std::string complaint(const json& object, const Read& read) {
  hp::detail::config_fields f(object, "f");
  try {
    read(f);
  } catch (const hp::unsupported_model& e) {
    return "unsupported: " + std::string(e.what()).substr(17);
  } catch (const hp::io_error& e) {
    return std::string(e.what()).substr(17);
  }
  return "read";
}

TEST(config_fields, whole_numbers_have_a_type_and_a_range) {
  const auto read = [](hp::detail::config_fields& f) { f.whole("n", 10); };
  EXPECT_EQ(complaint({{"n", 10}}, read), "read");
  EXPECT_EQ(complaint(json::object(), read), "n is missing");
  EXPECT_EQ(complaint({{"n", nullptr}}, read), "n is missing");
  const std::string expected = "; expected a whole number from 1 to 10";
  EXPECT_EQ(complaint({{"n", 0}}, read), "n is 0" + expected);
  EXPECT_EQ(complaint({{"n", 11}}, read), "n is 11" + expected);
  EXPECT_EQ(complaint({{"n", -3}}, read), "n is -3" + expected);
  EXPECT_EQ(complaint({{"n", 4.0}}, read), "n is 4.0" + expected);
  EXPECT_EQ(complaint({{"n", "4"}}, read), "n is \"4\"" + expected);
  EXPECT_EQ(complaint({{"n", true}}, read), "n is true" + expected);
  EXPECT_EQ(complaint(json::parse(R"({"n":18446744073709551615})"), read), "n is 18446744073709551615" + expected);
  EXPECT_EQ(complaint(json::parse(R"({"n":-9223372036854775808})"), read), "n is -9223372036854775808" + expected);
  EXPECT_EQ(complaint({{"n", {1, "a\nb"}}}, read), "n is [1,\"a\\nb\"]" + expected);
  EXPECT_EQ(complaint({{"n", 0}}, [](hp::detail::config_fields& f) { EXPECT_EQ(f.optional_whole("n", 5, 0), 0); }),
            "read");
}

TEST(config_fields, flags_numbers_and_choices) {
  EXPECT_EQ(complaint({{"b", 1}}, [](hp::detail::config_fields& f) { f.flag("b", false); }),
            "b is 1; expected true or false");
  EXPECT_EQ(complaint({{"b", nullptr}}, [](hp::detail::config_fields& f) { EXPECT_TRUE(f.flag("b", true)); }), "read");
  const auto positive = [](hp::detail::config_fields& f) { f.positive("x"); };
  EXPECT_EQ(complaint({{"x", 1e-6}}, positive), "read");
  EXPECT_EQ(complaint({{"x", 0.0}}, positive), "x is 0.0; expected a number greater than 0");
  EXPECT_EQ(complaint({{"x", "1"}}, positive), "x is \"1\"; expected a number greater than 0");
  const auto only = [](hp::detail::config_fields& f) { f.only("a", {"silu", false}); };
  EXPECT_EQ(complaint({{"a", "silu"}}, only), "read");
  EXPECT_EQ(complaint({{"a", false}}, only), "read");
  EXPECT_EQ(complaint(json::object(), only), "read");
  EXPECT_EQ(complaint({{"a", "gelu"}}, only), "unsupported: a is \"gelu\"; known: \"silu\", false");
}

TEST(config_fields, what_is_not_asked_for_is_left) {
  const json object = {{"b", 1}, {"a", 2}, {"c", nullptr}, {"d", 3}};
  hp::detail::config_fields f(object, "f");
  f.whole("d", 5);
  EXPECT_TRUE(f.stands("c"));
  EXPECT_EQ(f.left(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(f.told("a"), "a is 2");
  EXPECT_EQ(f.told("x\ny"), "x\\ny is missing");
}

}  // namespace
