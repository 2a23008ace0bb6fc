// SPDX-License-Identifier: Apache-2.0
// What was saved is loaded bit for bit; what differs from the expectation is said line by line.

#include <hyperparallel/io/checkpoint.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "io/workplace.hpp"

namespace hp = hyperparallel;

namespace {

using lines = std::vector<std::string>;
using extents = std::vector<std::int64_t>;
constexpr hp::load_options converting{hp::element_conversion::allowed, hp::additional_tensors::refused};

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Any bit pattern: infinities, NaNs with payload, subnormals, negative zero.
template <class T>
std::vector<T> random_values(std::mt19937_64& random, std::size_t count) {
  std::vector<T> values(count);
  for (T& v : values) v = std::bit_cast<T>(static_cast<bits_of<T>>(random()));
  return values;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<bits_of<T>>(a[i]) != std::bit_cast<bits_of<T>>(b[i])) return false;
  return true;
}

template <class F>
std::string complaint(const F& f) {
  try {
    f();
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "";
}

template <class F>
lines differences(const F& f) {
  try {
    f();
  } catch (const hp::checkpoint_error& e) {
    return e.differences;
  }
  return {};
}

/// Parameters and optimizer states of a small model, with the step.
template <class T>
struct run {
  std::vector<T> weight, moment, bias;
  explicit run(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    weight = random_values<T>(random, 6);
    moment = random_values<T>(random, 6);
    bias = random_values<T>(random, 3);
  }
  void save(const std::string& path, std::int64_t step) const {
    hp::save_checkpoint<T>(path, {{"weight", {2, 3}, weight}, {"weight.moment", {2, 3}, moment}, {"bias", {3}, bias}},
                           {{"step", std::to_string(step)}, {"model", "small"}});
  }
  static std::vector<hp::expected_tensor> expected(const char* dtype = hp::detail::checkpoint_dtype<T>) {
    return {{"bias", dtype, {3}}, {"weight", dtype, {2, 3}}, {"weight.moment", dtype, {2, 3}}};
  }
};

template <class T>
void expect_round_trip() {
  const io_test::workplace place;
  const run<T> saved(1);
  saved.save(place.path("run"), 41);
  for (const bool told : {false, true}) {
    const hp::checkpoint<T> loaded = told ? hp::load_checkpoint<T>(place.path("run"), run<T>::expected())
                                          : hp::load_whole_checkpoint<T>(place.path("run"));
    ASSERT_EQ(loaded.tensors.size(), 3u);
    // In the order expected, otherwise of the file.
    EXPECT_EQ(loaded.tensors[0].name, told ? "bias" : "weight");
    for (const hp::loaded_tensor<T>& t : loaded.tensors) {
      EXPECT_EQ(t.extents, t.name == "bias" ? extents{3} : (extents{2, 3}));
      EXPECT_TRUE(same_bits(t.values, t.name == "bias"     ? saved.bias
                                      : t.name == "weight" ? saved.weight
                                                           : saved.moment));
    }
    EXPECT_EQ(loaded.integer("step"), 41);
    EXPECT_EQ(loaded.text("model"), "small");
    EXPECT_EQ(loaded.metadata.size(), 2u);
  }
}

TEST(checkpoint, is_loaded_bit_for_bit) {
  expect_round_trip<float>();
  expect_round_trip<double>();
}

TEST(checkpoint, integers_are_read_in_the_range_of_their_type) {
  const io_test::workplace place;
  const std::string path = place.path("run"), deed = "cannot load '" + path + "': ";
  hp::save_checkpoint<float>(path, {},
                             {{"least", "-9223372036854775808"},
                              {"seed", "18446744073709551615"},
                              {"words", "12 "},
                              {"line", "a\nb"},
                              {"none", ""}});
  const hp::checkpoint<float> loaded = hp::load_checkpoint<float>(path, {});
  EXPECT_EQ(loaded.integer("least"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(loaded.integer<std::uint64_t>("seed"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(complaint([&] { loaded.integer("seed"); }),
            deed + "the metadata 'seed' are no integer in range: '18446744073709551615'");
  EXPECT_EQ(complaint([&] { loaded.integer("words"); }), deed + "the metadata 'words' are no integer in range: '12 '");
  EXPECT_EQ(complaint([&] { loaded.integer("line"); }), deed + "the metadata 'line' are no integer in range: 'a?b'");
  EXPECT_EQ(complaint([&] { loaded.integer("none"); }), deed + "the metadata 'none' are no integer in range: ''");
  EXPECT_EQ(complaint([&] { loaded.integer("step"); }), deed + "the metadata have no 'step'");
  EXPECT_EQ(complaint([&] { loaded.text("step"); }), deed + "the metadata have no 'step'");
}

TEST(checkpoint, every_difference_from_the_expectation_is_a_line) {
  const io_test::workplace place;
  const std::string path = place.path("run");
  run<float>(2).save(path, 1);
  const std::vector<hp::expected_tensor> expected = {{"embedding", "F32", {8, 4}},
                                                     {"weight", "F32", {3, 2}},
                                                     {"bias", "F64", {3}},
                                                     {"bias", "F64", {3}},
                                                     {"scale\n", "F32", {}}};
  const lines all = {"tensor 'embedding', F32 [8, 4], is missing",
                     "tensor 'weight' is F32 [2, 3], expected is F32 [3, 2]",
                     "tensor 'bias' is F32 [3], expected is F64 [3]; no conversion was asked for",
                     "tensor 'bias', F64 [3], is expected twice",
                     "tensor 'scale?', F32 [], is missing",
                     "tensor 'weight.moment', F32 [2, 3], is not expected"};
  EXPECT_EQ(differences([&] { hp::load_checkpoint<float>(path, expected); }), all);
  EXPECT_EQ(complaint([&] { hp::load_checkpoint<float>(path, expected); }),
            "cannot load '" + path + "': tensor 'embedding', F32 [8, 4], is missing (the first of 6 differences)");
  EXPECT_EQ(complaint([&] { hp::load_checkpoint<float>(path, {{"bias", "F32", {3}}, {"weight", "F32", {2, 3}}}); }),
            "cannot load '" + path + "': tensor 'weight.moment', F32 [2, 3], is not expected");
}

TEST(checkpoint, additional_tensors_are_ignored_when_asked) {
  const io_test::workplace place;
  const run<double> saved(3);
  saved.save(place.path("run"), 1);
  const hp::load_options ignoring{hp::element_conversion::refused, hp::additional_tensors::ignored};
  const hp::checkpoint<double> loaded =
      hp::load_checkpoint<double>(place.path("run"), {{"weight", "F64", {2, 3}}}, ignoring);
  ASSERT_EQ(loaded.tensors.size(), 1u);
  EXPECT_TRUE(same_bits(loaded.tensors[0].values, saved.weight));
  EXPECT_EQ(differences([&] { hp::load_checkpoint<double>(place.path("run"), {{"w", "F64", {}}}, ignoring); }),
            lines{"tensor 'w', F64 [], is missing"});
}

TEST(checkpoint, elements_are_converted_only_when_asked) {
  const io_test::workplace place;
  const std::string path = place.path("run");
  const std::vector<float> single = {1.5f, -0.0f, std::numeric_limits<float>::denorm_min(),
                                     std::numeric_limits<float>::infinity()};
  hp::save_checkpoint<float>(path, {{"w", {4}, single}});
  EXPECT_EQ(differences([&] { hp::load_checkpoint<double>(path, {{"w", "F64", {4}}}); }),
            lines{"tensor 'w' is F32 [4], expected is F64 [4]; no conversion was asked for"});
  const lines as_double = {"tensor 'w' is F32 [4], elements are loaded as F64; no conversion was asked for"};
  EXPECT_EQ(differences([&] { hp::load_checkpoint<double>(path, {{"w", "F32", {4}}}); }), as_double);
  EXPECT_EQ(differences([&] { hp::load_whole_checkpoint<double>(path); }), as_double);
  const std::vector<double> widened(single.begin(), single.end());
  for (const char* dtype : {"F32", "F64"})
    EXPECT_TRUE(
        same_bits(hp::load_checkpoint<double>(path, {{"w", dtype, {4}}}, converting).tensors[0].values, widened));
  EXPECT_TRUE(
      same_bits(hp::load_whole_checkpoint<double>(path, hp::element_conversion::allowed).tensors[0].values, widened));

  const double most = std::numeric_limits<float>::max();
  const std::vector<double> fine = {0.1, -most, std::numeric_limits<double>::infinity(), 1e-300};
  hp::save_checkpoint<double>(path, {{"w", {4}, fine}});
  const hp::checkpoint<float> narrowed = hp::load_whole_checkpoint<float>(path, hp::element_conversion::allowed);
  EXPECT_TRUE(same_bits(narrowed.tensors[0].values, std::vector<float>{0.1f, -std::numeric_limits<float>::max(),
                                                                       std::numeric_limits<float>::infinity(), 0.0f}));
  const std::vector<double> large = {1, std::nextafter(most, 2 * most)};
  hp::save_checkpoint<double>(path, {{"w", {2}, large}});
  const std::string said = complaint([&] { hp::load_whole_checkpoint<float>(path, hp::element_conversion::allowed); });
  EXPECT_EQ(said.find("cannot load '" + path + "': tensor 'w': element 1, 34028234663852"), 0u) << said;
  EXPECT_NE(said.find(", is too large for F32"), std::string::npos) << said;
}

TEST(checkpoint, other_element_types_are_refused) {
  const io_test::workplace place;
  const std::string path = place.path("run");
  const std::vector<std::byte> bytes(6);
  hp::detail::write_safetensors(path, std::vector<hp::detail::tensor_source>{{"w", "BF16", {3}, bytes}});
  EXPECT_EQ(differences([&] { hp::load_whole_checkpoint<float>(path, hp::element_conversion::allowed); }),
            lines{"tensor 'w' is BF16 [3], elements are loaded as F32"});
  EXPECT_EQ(differences([&] { hp::load_checkpoint<float>(path, {{"w", "F32", {3}}}, converting); }),
            lines{"tensor 'w' is BF16 [3], expected is F32 [3]"});
  EXPECT_EQ(differences([&] { hp::load_checkpoint<float>(path, {{"w", "BF16", {3}}}, converting); }),
            lines{"tensor 'w' is BF16 [3], elements are loaded as F32"});
}

TEST(checkpoint, of_another_tool_is_loaded) {
  const io_test::workplace place;
  const std::string header = R"({"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}} )";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  place.put("foreign", file + header + std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
  const hp::checkpoint<float> loaded = hp::load_checkpoint<float>(place.path("foreign"), {{"w", "F32", {1, 2}}});
  EXPECT_EQ(loaded.tensors[0].values, (std::vector<float>{1.0f, -2.0f}));
}

TEST(checkpoint, damaged_in_any_byte_is_refused_with_the_tensor_or_the_header_named) {
  const io_test::workplace place;
  const std::string path = place.path("run");
  run<float>(4).save(path, 9);
  const std::string file = place.get("run");
  const std::size_t data_begin = file.size() - 60;
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    place.put("damaged", damaged);
    const std::string said =
        complaint([&] { hp::load_checkpoint<float>(place.path("damaged"), run<float>::expected()); });
    ASSERT_NE(said, "") << at;
    if (at >= data_begin) {
      const std::size_t offset = at - data_begin;
      const std::string name = offset < 24 ? "weight" : offset < 48 ? "weight.moment" : "bias";
      EXPECT_NE(said.find("tensor '" + name + "' is damaged"), std::string::npos) << said;
    }
  }
  EXPECT_EQ(place.get("run"), file);
}

TEST(checkpoint, that_cannot_be_saved_leaves_the_previous_one) {
  const io_test::workplace place;
  const std::string path = place.path("run");
  run<double>(5).save(path, 1);
  const std::vector<double> values(5);
  EXPECT_EQ(complaint([&] { hp::save_checkpoint<double>(path, {{"w", {2, 3}, values}}); }),
            "cannot write '" + path + "': tensor 'w', F64 [2, 3], has 48 bytes, 40 are given");
  EXPECT_EQ(hp::load_checkpoint<double>(path, run<double>::expected()).integer("step"), 1);
}

}  // namespace
