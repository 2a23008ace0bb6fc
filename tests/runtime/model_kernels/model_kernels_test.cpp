// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/model_kernels/model_kernels.hpp>

#include <gtest/gtest.h>

#include <cstring>

#include "operator_cases.hpp"

#include <support/tries.hpp>

namespace {

using namespace kernel_test;
using hp::model_op;

const operator_case cases[] = {
    {model_op::contract, "xk,kn->xn", "nn"},
    {model_op::contract, "bxyk,bnk->nbyx", "nn"},
    {model_op::contract, "xkM,knM->xn", "nn"},
    {model_op::reduce, "xy->x", "n"},
    {model_op::reduce, "xyz->zx", "n"},
    {model_op::reduce, "xy->", "n"},
    {model_op::reduce, "xyz->y", "n", {{}, {}, hp::reduce_op::max}},
    {model_op::broadcast, "x->xy", "n"},
    {model_op::broadcast, "zx->xyz", "n"},
    {model_op::broadcast, "->xy", "n"},
    {model_op::sum, "xy,xy->xy", "nn"},
    {model_op::sum, "xyz,xyz,xyz,xyz->xyz", "nnnn"},
    {model_op::scale, "xy->xy", "n", {{}, {-1.5}}},
    {model_op::multiply, "xy,xy->xy", "nn"},
    {model_op::multiply, "xyz,zx->xyz", "nn"},
    {model_op::multiply, "xyz,xyz->xz", "nn"},
    {model_op::embed, "xy,vh->xyh", "in"},
    {model_op::embed_gradient, "xy,xyh->vh", "in"},
    {model_op::rms_norm, "xyH,H->xyH", "nn", {{}, {1e-5}}},
    {model_op::rms_norm_gradient, "xyH,xyH,H->xyH,H", "nnn", {{}, {1e-5}}},
    {model_op::rope, "bsxD->bsxD", "n", {{1}, {100}}},
    {model_op::rope, "bsD->bsD", "n", {{-1}, {100}}},
    {model_op::attention, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{0}, {0.5}}},
    {model_op::attention, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{1}, {0.5}}},
    {model_op::attention, "bsnD,bTnD,bTnE->bsnE,bsn", "nnn", {{1}, {0.5}}},
    {model_op::attention_gradient, "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE", "nnnnnp", {{0}, {0.5}}},
    {model_op::attention_gradient, "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE", "nnnnnp", {{1}, {0.5}}},
    {model_op::latent_attention, "bsnD,bsnR,bTnD,bTR,bTnE->bsnE,bsn", "nnnnn", {{1}, {0.5}}},
    {model_op::latent_attention_gradient,
     "bsnE,bsnD,bsnR,bTnD,bTR,bTnE,bsnE,bsn->bsnD,bsnR,bTnD,bTR,bTnE",
     "nnnnnnnp",
     {{1}, {0.5}}},
    {model_op::attention_block, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{1}, {0.5}}},
    {model_op::attention_merge, "bsmgE,bsmg,bsmgE,bsmg->bsmgE,bsmg", "nnnn"},
    {model_op::attention_block_gradient, "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE", "nnnnnp", {{1}, {0.5}}},
    {model_op::swiglu, "xy,xy->xy", "nn"},
    {model_op::swiglu_gradient, "xy,xy,xy->xy,xy", "nnn"},
    {model_op::silu, "xy->xy", "n"},
    {model_op::silu_gradient, "xy,xy->xy", "nn"},
    {model_op::sigmoid, "xy->xy", "n"},
    {model_op::sigmoid_gradient, "xy,xy->xy", "np"},
    {model_op::softmax, "xyE->xyE", "n"},
    {model_op::softmax_gradient, "xyE,xyE->xyE", "np"},
    {model_op::top_k, "xyE->xyK,xyK", "p", {{0, 1}, {2.5}}},
    {model_op::biased_top_k, "xyE,E->xyK,xyK", "pn", {{0, 0}, {2.5}}},
    {model_op::top_k_gradient, "xyK,xyE,xyK->xyE", "npe", {{0, 1}, {2.5}}},
    {model_op::count_experts, "xyK->e", "e"},
    {model_op::dispatch, "bSh,bSK->beCh", "ne"},
    {model_op::dispatch, "BSh,BSK->eCh", "ne"},
    {model_op::undispatch, "beCh,bSK->bSh", "ne"},
    {model_op::undispatch, "eCh,BSK->BSh", "ne"},
    {model_op::combine, "beCh,bSK,bSK->bSh", "nen"},
    {model_op::combine, "eCh,BSK,BSK->BSh", "nen"},
    {model_op::dispatch_weighted, "bSh,bSK,bSK->beCh", "nen"},
    {model_op::dispatch_weighted, "BSh,BSK,BSK->eCh", "nen"},
    {model_op::combine_weight_gradient, "bSh,beCh,bSK->bSK", "nne"},
    {model_op::combine_weight_gradient, "BSh,eCh,BSK->BSK", "nne"},
    {model_op::exp_sum, "xyv,xy->xy", "nn"},
    {model_op::pick, "xyv,xy->xy", "nl"},
    {model_op::token_loss, "xv,xv,xv,xv->xv", "npnl"},
    {model_op::cross_entropy_gradient, "xy,xyv,xy,xy,xy->xyv", "nnnpl"},
    {model_op::sum_of_squares, "xyz->", "n"},
    {model_op::clip_factor, "->", "p", {{}, {0.5}}},
    {model_op::fill, "->xy", "", {{}, {0.5}}},
    {model_op::accumulate, "xy,xy->xy", "nn"},
    {model_op::sgd, "xy,xy,xy,->xy,xy", "nnnp", {{}, {0.1, 0.9, 0.01}}},
    {model_op::adamw, "xy,xy,xy,xy,->xy,xy,xy", "nnnpp", {{}, {0.1, 0.9, 0.95, 1e-8, 0.01}}},
    {model_op::adamw_master, "xy,xy,xy,xy,xy,->xy,xy,xy,xy", "nnnnpp", {{}, {0.1, 0.9, 0.95, 1e-8, 0.01}}},
    {model_op::muon, "aYZ,aYZ,aYZ,->aYZ,aYZ", "nnnp", {{1, 2}, {0.1, 0.9, 0.01}}},
    {model_op::muon, "aYUZ,aYUZ,aYUZ,->aYUZ,aYUZ", "nnnp", {{1, 3}, {0.1, 0.9, 0.01}}},
    {model_op::update_bias, "E,E->E", "nn", {{}, {0.1}}},
};

int rounds() { return tested::tries(12, 300); }

/// Ends of `pieces` random parts of [0, extent), none empty.
std::vector<extent_t> random_ends(extent_t extent, extent_t pieces, std::mt19937& random) {
  std::vector<extent_t> ends(at(extent - 1));
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<extent_t>(i) + 1;
  std::shuffle(ends.begin(), ends.end(), random);
  ends.resize(at(std::min(pieces, extent) - 1));
  ends.push_back(extent);
  std::sort(ends.begin(), ends.end());
  return ends;
}

template <class T>
void expect_parts_make_the_whole(const run_case<T>& c, const std::vector<std::vector<extent_t>>& cuts, double bound) {
  const std::vector<case_block<T>> joined = c.run_cut(cuts);
  std::string pieces;
  for (int l = 0; l < c.op.loop_count; ++l) pieces += c.letter_of(l) + std::to_string(cuts[at(l)].size()) + " ";
  for (int r = 0; r < c.op.result_count; ++r) {
    EXPECT_EQ(joined[at(r)].indices, c.result[at(r)].indices) << name_of(c.op.kind) << " " << c.text << ": " << pieces;
    EXPECT_LE(largest_difference(joined[at(r)].values, c.result[at(r)].values), bound)
        << name_of(c.op.kind) << " " << c.text << ", result " << r << ": " << pieces;
  }
}

template <class T>
void check_law(double bound) {
  std::mt19937 random(7);
  for (const operator_case& row : cases)
    for (int round = 0; round < rounds(); ++round) {
      run_case<T> c(row.op, row.text, row.domains, row.options, random);
      c.run_whole();
      std::vector<std::vector<extent_t>> whole(at(c.op.loop_count));
      for (int l = 0; l < c.op.loop_count; ++l) whole[at(l)] = {c.op.loop[l].extent};
      std::vector<std::vector<extent_t>> all = whole;
      for (int l = 0; l < c.op.loop_count; ++l) {
        if (hp::is_whole(c.rule(), l)) continue;
        for (const extent_t pieces : {2, 3}) {
          std::vector<std::vector<extent_t>> cuts = whole;
          cuts[at(l)] = random_ends(c.op.loop[l].extent, pieces, random);
          expect_parts_make_the_whole(c, cuts, bound);
        }
        all[at(l)] = random_ends(c.op.loop[l].extent, 1 + static_cast<extent_t>(random() % 3), random);
      }
      expect_parts_make_the_whole(c, all, bound);
      if (::testing::Test::HasFailure()) return;
    }
}

TEST(ModelKernels, BoxesOfAnyCutMakeTheWholeInDouble) { check_law<double>(1e-12); }
TEST(ModelKernels, BoxesOfAnyCutMakeTheWholeInFloat) { check_law<float>(2e-5); }

TEST(ModelKernels, EveryOperatorHasAKernelAndACase) {
  for (int i = 0; i < hp::model_op_count; ++i) {
    const model_op op = static_cast<model_op>(i);
    EXPECT_NE(hp::kernel_of<float>(op), nullptr) << name_of(op);
    EXPECT_NE(hp::kernel_of<double>(op), nullptr) << name_of(op);
    bool found = false;
    for (const operator_case& row : cases) found = found || row.op == op;
    EXPECT_TRUE(found) << name_of(op);
  }
}

// What replaces an operand is written in its memory.
TEST(ModelKernels, ResultsMayBeTheOperandsThatTheyReplace) {
  struct alias_case {
    model_op op;
    std::vector<int> replaced;  ///< operand of each result
  };
  const alias_case aliases[] = {{model_op::accumulate, {0}},  {model_op::sgd, {0, 2}},
                                {model_op::adamw, {0, 2, 3}}, {model_op::adamw_master, {0, 2, 3, 4}},
                                {model_op::muon, {0, 2}},     {model_op::update_bias, {0}}};
  std::mt19937 random(8);
  for (const alias_case& alias : aliases)
    for (const operator_case& row : cases) {
      if (row.op != alias.op) continue;
      run_case<double> c(row.op, row.text, row.domains, row.options, random);
      c.run_whole();
      hp::operator_call call = c.whole();
      for (int i = 0; i < c.op.operand_count; ++i) call.operand[i] = c.operand[at(i)].values.data();
      for (std::size_t r = 0; r < alias.replaced.size(); ++r)
        call.result[r] = c.operand[at(alias.replaced[r])].values.data();
      hp::kernel_of<double>(row.op)(call);
      for (std::size_t r = 0; r < alias.replaced.size(); ++r)
        EXPECT_EQ(c.operand[at(alias.replaced[r])].values, c.result[r].values) << name_of(row.op) << ", result " << r;
    }
}

TEST(ModelKernels, TheSameBoxGivesTheSameBits) {
  std::mt19937 random(9);
  for (const operator_case& row : cases) {
    run_case<float> c(row.op, row.text, row.domains, row.options, random);
    c.run_whole();
    const std::vector<case_block<float>> again = c.run_box(c.whole());
    for (std::size_t r = 0; r < again.size(); ++r) {
      const std::vector<float>&first = c.result[r].values, &second = again[r].values;
      const bool same = first.empty() || std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0;
      EXPECT_TRUE(same && again[r].indices == c.result[r].indices) << name_of(row.op);
    }
  }
}

}  // namespace
