// SPDX-License-Identifier: Apache-2.0
// Units of every type, and conversions against the definitions.

#include "reshard/element_type.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace hp = hyperparallel;
namespace rs = hp_tool::reshard;

TEST(ElementType, UnitsFillBytes) {
  for (const hp::detail::dtype_name& d : hp::detail::all_dtypes) {
    const rs::element_unit u = rs::unit_of(d.name);
    EXPECT_EQ(u.elements * d.bits, u.bytes * 8) << d.name;
  }
  EXPECT_EQ(rs::find_float("I32"), nullptr);
  EXPECT_EQ(rs::largest_of(*rs::find_float("F8_E4M3")), 448.0);
  EXPECT_EQ(rs::largest_of(*rs::find_float("F8_E5M2")), 57344.0);
  EXPECT_EQ(rs::largest_of(*rs::find_float("F16")), 65504.0);
}

TEST(ElementType, EveryNarrowPatternComesBackAndEveryNeighbourIsNearest) {
  for (const char* name : {"F8_E4M3", "F8_E5M2", "F16", "BF16"}) {
    const rs::float_format& f = *rs::find_float(name);
    const int bits = hp::detail::dtype_bits(name);
    double before = NAN;
    for (std::uint64_t p = 0; p < std::uint64_t{1} << bits; ++p) {
      const double value = rs::decoded(f, p);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(rs::decoded(f, rs::encoded(f, value))));
        before = NAN;
        continue;
      }
      EXPECT_EQ(rs::encoded(f, value), p) << name << " " << p;
      if (std::isfinite(before) && std::isfinite(value) && (p & 1u) == 1) {  // p - 1 is even: it wins the tie
        const double middle = before + (value - before) / 2;
        EXPECT_EQ(rs::encoded(f, middle), p - 1) << name << " " << p;
        EXPECT_EQ(rs::encoded(f, std::nextafter(middle, value)), p) << name << " " << p;
      }
      before = value;
    }
    EXPECT_EQ(rs::decoded(f, rs::encoded(f, 1e39)), f.has_infinity ? INFINITY : 448.0) << name;
  }
}

TEST(ElementType, TheFastWaysAreTheSlowOnes) {
  std::mt19937_64 random(2);
  std::vector<std::uint32_t> wide(5000);
  for (std::uint32_t& w : wide) w = static_cast<std::uint32_t>(random());
  wide[0] = 0x7F800001u;
  wide[1] = 0x7F7FFFFFu;
  wide[2] = 0x00018000u;
  std::vector<std::uint16_t> narrow(wide.size());
  rs::convert_elements("F32", std::as_bytes(std::span(wide)).data(), "BF16",
                       std::as_writable_bytes(std::span(narrow)).data(), wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const double value = std::bit_cast<float>(wide[i]);
    const std::uint64_t expected = rs::encoded(*rs::find_float("BF16"), value);
    EXPECT_EQ(narrow[i], expected) << wide[i];
  }
  std::vector<std::uint32_t> again(wide.size());
  rs::convert_elements("BF16", std::as_bytes(std::span(narrow)).data(), "F32",
                       std::as_writable_bytes(std::span(again)).data(), wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i)
    if (!std::isnan(std::bit_cast<float>(again[i]))) {
      EXPECT_EQ(again[i], std::uint32_t{narrow[i]} << 16);
    }
}
