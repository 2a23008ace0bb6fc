// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/movement.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
namespace ops = hp::ops;
using values = std::vector<double>;

/// Extents of letters, as "A3B4".
letter_extents extents_of(const std::string& sizes) {
  std::mt19937 unused(1);
  letter_extents e("", unused);
  for (std::size_t i = 0; i + 1 < sizes.size(); i += 2) e.of[static_cast<int>(sizes[i])] = sizes[i + 1] - '0';
  return e;
}

/// The results on operands that count on from 0.
std::vector<values> moved(hp::operator_id op, const char* text, const char* sizes, int operands = 1,
                          const case_options& how = {}) {
  std::mt19937 random(1);
  run_case<double> c(op, text, std::string(at(operands), 'n'), how, extents_of(sizes), random);
  double next = 0;
  for (case_block<double>& x : c.operand)
    for (double& v : x.values) v = next++;
  c.run_whole();
  std::vector<values> all;
  for (const case_block<double>& r : c.result) all.push_back(r.values);
  return all;
}

std::string refusal(hp::operator_id op, const char* text, const char* sizes, int operands = 1,
                    const case_options& how = {}) {
  try {
    moved(op, text, sizes, operands, how);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(MovementOperators, TransposeOrdersDims) {
  EXPECT_EQ(moved(id_of<ops::transpose>, "ab->ba", "a2b3")[0], (values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(moved(id_of<ops::transpose>, "abc->cab", "a2b2c2")[0], (values{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(refusal(id_of<ops::transpose>, "ab->a", "a2b3"), "transpose: operand and result have different dims");
}

TEST(MovementOperators, ReshapeKeepsTheOrderOfElements) {
  for (const char* text : {"aBCd->aDd", "aDd->aBCd"})
    EXPECT_EQ(moved(id_of<ops::reshape>, text, "a2B2C3D6d2")[0][23], 23) << text;
  EXPECT_EQ(moved(id_of<ops::reshape>, "aB->aCD", "a2B6C2D3")[0][7], 7);
  EXPECT_EQ(refusal(id_of<ops::reshape>, "aBC->aD", "a2B2C3D5"),
            "reshape: the dims that are made have a product of 5, not 6");
  EXPECT_EQ(refusal(id_of<ops::reshape>, "abC->baC", "a2b2C3"), "reshape: dims that stay change their order");
  // The product of all dims fits, that on either side of a dim that stays does not: elements would change their row.
  EXPECT_EQ(refusal(id_of<ops::reshape>, "BaC->DaE", "B2a2C3D3E2"),
            "reshape: the dims that are made have a product of 3, not 2");
}

TEST(MovementOperators, ConcatAndSplitAreTransposes) {
  EXPECT_EQ(moved(id_of<ops::concat>, "aB,aC->aD", "a2B1C2D3", 2)[0], (values{0, 2, 3, 1, 4, 5}));
  EXPECT_EQ(moved(id_of<ops::concat>, "Bb,Cb,Bb->Db", "B1b2C2D4", 3)[0], (values{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(moved(id_of<ops::split>, "aD->aB,aC", "a2B1C2D3"), (std::vector<values>{{0, 3}, {1, 2, 4, 5}}));
  EXPECT_EQ(moved(id_of<ops::split>, "aD->aC", "a2C2D3", 1, {{-1}}), (std::vector<values>{{1, 2, 4, 5}}));
  EXPECT_EQ(refusal(id_of<ops::concat>, "aB,aC->aD", "a2B1C2D4", 2),
            "concat: the dim that is made has the extent 4, not 3");
  EXPECT_EQ(refusal(id_of<ops::concat>, "aB,Ca->aD", "a2B1C2D3", 2), "concat: operand and result differ in one dim");
  EXPECT_EQ(refusal(id_of<ops::split>, "aD->aB,aC", "a2B2C2D3"), "split: the parts are more than the whole");
}

TEST(MovementOperators, SlicesLieWhereTheirAttributesSay) {
  EXPECT_EQ(moved(id_of<ops::slice>, "aB->aC", "a2B5C2", 1, {{1}})[0], (values{1, 2, 6, 7}));
  EXPECT_EQ(moved(id_of<ops::slice>, "aB->aC", "a2B5C3", 1, {{0, 2}})[0], (values{0, 2, 4, 5, 7, 9}));
  EXPECT_EQ(moved(id_of<ops::slice_gradient>, "aC->aB", "a1B5C2", 1, {{1, 3}})[0], (values{0, 0, 0, 0, 1}));
  EXPECT_EQ(refusal(id_of<ops::slice>, "aB->aC", "a2B5C3", 1, {{3}}), "slice: takes elements 3 to 5 of 5");
  EXPECT_EQ(refusal(id_of<ops::slice>, "aB->aC", "a2B5C3", 1, {{-1}}), "slice: takes elements -1 to 1 of 5");
}

TEST(Mean, DividesBySizesOfTheWhole) {
  EXPECT_EQ(moved(id_of<ops::mean>, "ab->a", "a2b3")[0], (values{1, 4}));
  EXPECT_EQ(moved(id_of<ops::mean_gradient>, "a->ab", "a2b4")[0], (values{0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(refusal(id_of<ops::mean>, "ab->a", "a2b3", 1, {{}, {}, hp::reduce_op::max}),
            "mean: a mean knows no other reduction than the sum");
}

}  // namespace
