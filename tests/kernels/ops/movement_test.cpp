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
}

TEST(MovementOperators, ReshapeKeepsTheOrderOfElements) {
  for (const char* text : {"aBCd->aDd", "aDd->aBCd"})
    EXPECT_EQ(moved(id_of<ops::reshape>, text, "a2B2C3D6d2")[0][23], 23) << text;
  EXPECT_EQ(moved(id_of<ops::reshape>, "aB->aCD", "a2B6C2D3")[0][7], 7);
}

TEST(MovementOperators, ConcatAndSplitAreTransposes) {
  EXPECT_EQ(moved(id_of<ops::concat>, "aB,aC->aD", "a2B1C2D3", 2)[0], (values{0, 2, 3, 1, 4, 5}));
  EXPECT_EQ(moved(id_of<ops::concat>, "Bb,Cb,Bb->Db", "B1b2C2D4", 3)[0], (values{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(moved(id_of<ops::split>, "aD->aB,aC", "a2B1C2D3"), (std::vector<values>{{0, 3}, {1, 2, 4, 5}}));
  EXPECT_EQ(moved(id_of<ops::split>, "aD->aC", "a2C2D3", 1, {{-1}}), (std::vector<values>{{1, 2, 4, 5}}));
  EXPECT_EQ(refusal(id_of<ops::split>, "aD->aB,aC", "a2B2C2D3"), "split: the parts are more than the whole");
}

TEST(MovementOperators, SlicesLieWhereTheirAttributesSay) {
  EXPECT_EQ(moved(id_of<ops::slice>, "aB->aC", "a2B5C2", 1, {{1}})[0], (values{1, 2, 6, 7}));
  EXPECT_EQ(moved(id_of<ops::slice>, "aB->aC", "a2B5C3", 1, {{0, 2}})[0], (values{0, 2, 4, 5, 7, 9}));
  EXPECT_EQ(moved(id_of<ops::slice_gradient>, "aC->aB", "a1B5C2", 1, {{1, 3}})[0], (values{0, 0, 0, 0, 1}));
}

// A call whose attributes or extents are others than those that were bound.
TEST(MovementOperators, KernelsRefuseWhatDoesNotFit) {
  const auto refused = [](hp::operator_id op, const char* text, const char* sizes, int operands, extent_t begin) {
    std::mt19937 random(1);
    run_case<double> c(op, text, std::string(at(operands), 'n'), {}, extents_of(sizes), random);
    hp::operator_attributes moved_on = c.op;
    moved_on.integer[0] = begin;
    hp::operator_call call = c.whole();
    call.attributes = &moved_on;
    if (begin == 0) --call.loop[call.rule->result[0].term[1]].extent;
    try {
      c.run_box(call);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(id_of<ops::slice>, "aB->aC", "a2B5C3", 1, 3),
            "slice: makes a dim of extent 3, where its operands have 2");
  EXPECT_EQ(refused(id_of<ops::concat>, "aB,aC->aD", "a2B1C2D3", 2, 0),
            "concat: makes a dim of extent 2, where its operands have 3");
  EXPECT_EQ(refused(id_of<ops::reshape>, "aBC->aD", "a2B2C3D6", 1, 0),
            "reshape: makes a dim of extent 5, where its operands have 6");
}

TEST(Mean, DividesBySizesOfTheWhole) {
  EXPECT_EQ(moved(id_of<ops::mean>, "ab->a", "a2b3")[0], (values{1, 4}));
  EXPECT_EQ(moved(id_of<ops::mean_gradient>, "a->ab", "a2b4")[0], (values{0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(refusal(id_of<ops::mean>, "ab->a", "a2b3", 1, {{}, {}, hp::reduce_op::max}),
            "mean: a mean knows no other reduction than the sum");
}

}  // namespace
