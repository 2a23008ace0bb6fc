// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/indexing.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <support/error_of.hpp>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

TEST(Indexing, EmbeddingAndItsGradientAgreeWithTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    run_case<double> c(id_of<ops::embed>, "xy,vh->xyh", "in", {}, random);
    c.run_whole();
    const std::vector<std::int32_t>& id = c.operand[0].indices;
    const std::size_t width = c.operand[1].values.size() / at(c.op.loop[2].extent);
    for (std::size_t i = 0; i < id.size(); ++i)
      for (std::size_t h = 0; h < width; ++h)
        EXPECT_EQ(c.result[0].values[i * width + h], c.operand[1].values[at(id[i]) * width + h]);

    run_case<double> d(id_of<ops::embed_gradient>, "xy,xyh->vh", "in", {}, random);
    d.run_whole();
    const std::size_t d_width = d.operand[1].values.size() / d.operand[0].indices.size();
    std::vector<double> expected(d.result[0].values.size());
    for (std::size_t i = 0; i < d.operand[0].indices.size(); ++i)
      for (std::size_t h = 0; h < d_width; ++h)
        expected[at(d.operand[0].indices[i]) * d_width + h] += d.operand[1].values[i * d_width + h];
    EXPECT_EQ(d.result[0].values, expected);
  }
}

// A box of the table's rows gives zero for the numbers of other boxes, and the element for its own.
TEST(Indexing, NumbersOutsideTheBoxGiveZero) {
  std::mt19937 random(2);
  run_case<float> c(id_of<ops::pick>, "xv,x->x", "nl", {}, random);
  c.operand[1].indices[0] = -1;
  const extent_t v = c.op.loop[1].extent;
  for (extent_t begin = 0; begin < v; ++begin) {
    hp::operator_call call = c.whole();
    call.loop[1] = {begin, 1, v};
    const std::vector<float> picked = c.run_box(call)[0].values;
    for (std::size_t i = 0; i < picked.size(); ++i) {
      const std::int32_t label = c.operand[1].indices[i];
      EXPECT_EQ(picked[i], label == begin ? c.operand[0].values[i * at(v) + at(begin)] : 0.0F);
    }
  }
}

// What no device has is refused, wherever the box lies; a negative label is none.
TEST(Indexing, NumbersThatNoBoxHasAreRefused) {
  std::mt19937 random(3);
  run_case<float> rows(id_of<ops::embed>, "xy,vh->xyh", "in", {}, random),
      labels(id_of<ops::pick>, "xv,x->x", "nl", {}, random);
  const extent_t table = rows.op.loop[2].extent, columns = labels.op.loop[1].extent;
  const auto error = [](auto& c, std::size_t at, extent_t number) {
    const std::int32_t before =
        std::exchange(c.operand[c.op.kind == id_of<ops::embed> ? 0 : 1].indices[at], static_cast<std::int32_t>(number));
    const std::string what = tested::error_of<std::invalid_argument>([&] { c.run_whole(); });
    c.operand[c.op.kind == id_of<ops::embed> ? 0 : 1].indices[at] = before;
    return what;
  };
  EXPECT_EQ(error(rows, 1, table - 1), "no error");
  EXPECT_EQ(error(rows, 1, table), "embed: index " + std::to_string(table) +
                                       " at element 1 of its box, expected 0 to " + std::to_string(table - 1));
  EXPECT_NE(error(rows, 0, -1).find("embed: index -1 at element 0"), std::string::npos);
  EXPECT_EQ(error(labels, 0, columns - 1), "no error");
  EXPECT_EQ(error(labels, 0, -100), "no error");
  EXPECT_NE(error(labels, 0, columns).find("pick: index " + std::to_string(columns)), std::string::npos);
}

}  // namespace
