// SPDX-License-Identifier: Apache-2.0
// Amounts read back: a text is within half of its last digit of the value, in a unit that leaves at least one.

#include <hyperparallel/report/format_units.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace report = hyperparallel::report;

namespace {

const std::map<std::string, double> sizes{{"ps", 1},  {"ns", 1e3},   {"us", 1e6},      {"ms", 1e9},     {"s", 1e12},
                                          {"B", 1},   {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
                                          {"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6},    {"GB/s", 1e9},   {"TB/s", 1e12}};

void expect_reads_back(const std::string& text, std::int64_t value, double decimals) {
  const std::size_t blank = text.find(' ');
  ASSERT_NE(blank, std::string::npos) << text;
  const double number = std::stod(text.substr(0, blank)), size = sizes.at(text.substr(blank + 1));
  const double exact = static_cast<double>(value);
  EXPECT_LE(std::abs(number * size - exact), 0.5000001 * std::pow(10.0, -decimals) * size + std::abs(exact) * 1e-15)
      << text;
  EXPECT_TRUE(size == 1 || std::abs(number) >= 1.0) << text;
}

TEST(format_units, read_back_within_half_a_digit) {
  for (int shift = 0; shift < 63; ++shift)
    for (const std::int64_t near : {-1, 0, 1})
      for (const std::int64_t sign : {-1, 1}) {
        const std::int64_t value = sign * ((std::int64_t{1} << shift) + near);
        expect_reads_back(to_text(report::duration{value}), value, 3);
        expect_reads_back(to_text(report::byte_count{value}), value, 1);
        expect_reads_back(to_text(report::rate{value}), value, 1);
      }
  for (std::int64_t power = 1; power < 1'000'000'000'000'000'000; power *= 10)
    for (const std::int64_t near : {-1, 0, 1}) {
      expect_reads_back(to_text(report::duration{power + near}), power + near, 3);
      expect_reads_back(to_text(report::rate{power + near}), power + near, 1);
    }
}

TEST(format_units, golden) {
  EXPECT_EQ(fmt::format("{}", report::duration{9'870'000'000}), "9.870 ms");
  EXPECT_EQ(fmt::format("{}", report::duration{999'999'600}), "1.000 ms");
  EXPECT_EQ(fmt::format("{}", report::duration{999'999'400}), "999.999 us");
  EXPECT_EQ(fmt::format("{}", report::duration{0}), "0 ps");
  EXPECT_EQ(fmt::format("{}", report::duration{-1500}), "-1.500 ns");
  EXPECT_EQ(fmt::format("{}", report::byte_count{402'653'184}), "384.0 MiB");
  EXPECT_EQ(fmt::format("{}", report::byte_count{1023}), "1023 B");
  EXPECT_EQ(fmt::format("{}", report::rate{196 * hyperparallel::gigabyte}), "196.0 GB/s");
  EXPECT_EQ(fmt::format("{}", report::percent{9420}), "94.20 %");
  EXPECT_EQ(fmt::format("{}", report::percent{-5}), "-0.05 %");
  EXPECT_EQ(fmt::format("{}", report::ratio{10230}), "1.0230");
}

}  // namespace
