// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>

#include <gtest/gtest.h>

#include <cstring>

#include "operator_cases.hpp"

#include <support/tries.hpp>

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

const operator_case cases[] = {
    {id_of<ops::contract>, "xk,kn->xn", "nn"},
    {id_of<ops::contract>, "bxyk,bnk->nbyx", "nn"},
    {id_of<ops::contract>, "xkM,knM->xn", "nn"},
    {id_of<ops::reduce>, "xy->x", "n"},
    {id_of<ops::reduce>, "xyz->zx", "n"},
    {id_of<ops::reduce>, "xy->", "n"},
    {id_of<ops::reduce>, "xyz->y", "n", {{}, {}, hp::reduce_op::max}},
    {id_of<ops::broadcast>, "x->xy", "n"},
    {id_of<ops::broadcast>, "zx->xyz", "n"},
    {id_of<ops::broadcast>, "->xy", "n"},
    {id_of<ops::sum>, "xy,xy->xy", "nn"},
    {id_of<ops::sum>, "xyz,xyz,xyz,xyz->xyz", "nnnn"},
    {id_of<ops::add_bias>, "xyz,z->xyz", "nn"},
    {id_of<ops::add_bias>, "xyz,yz->xyz", "nn"},
    {id_of<ops::add_bias>, "xyz,y->xyz", "nn"},
    {id_of<ops::scale>, "xy->xy", "n", {{}, {-1.5}}},
    {id_of<ops::multiply>, "xy,xy->xy", "nn"},
    {id_of<ops::multiply>, "xyz,zx->xyz", "nn"},
    {id_of<ops::multiply>, "xyz,xyz->xz", "nn"},
    {id_of<ops::embed>, "xy,vh->xyh", "in"},
    {id_of<ops::embed_gradient>, "xy,xyh->vh", "in"},
    {id_of<ops::rms_norm>, "xyH,H->xyH", "nn", {{}, {1e-5}}},
    {id_of<ops::rms_norm_gradient>, "xyH,xyH,H->xyH,H", "nnn", {{}, {1e-5}}},
    {id_of<ops::rope>, "bsxD->bsxD", "n", {{1}, {100}}},
    {id_of<ops::rope>, "bsD->bsD", "n", {{-1}, {100}}},
    {id_of<ops::attention>, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{0}, {0.5}}},
    {id_of<ops::attention>, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{1}, {0.5}}},
    {id_of<ops::attention>, "bsnD,bTnD,bTnE->bsnE,bsn", "nnn", {{1}, {0.5}}},
    {id_of<ops::attention_gradient>, "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE", "nnnnnp", {{0}, {0.5}}},
    {id_of<ops::attention_gradient>, "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE", "nnnnnp", {{1}, {0.5}}},
    {id_of<ops::attention>, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{1}, {0.5, 0.8}}},
    {id_of<ops::attention_gradient>, "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE", "nnnnnp", {{1}, {0.5, 0.8}}},
    {id_of<ops::attention_with_sinks>, "bsmgD,bTmD,bTmE,mg->bsmgE,bsmg", "nnnn", {{1}, {0.5}}},
    {id_of<ops::attention_sink_gradient>, "bsmgE,mg,bsmgE,bsmg->mg", "nnnp"},
    {id_of<ops::latent_attention>, "bsnD,bsnR,bTnD,bTR,bTnE->bsnE,bsn", "nnnnn", {{1}, {0.5}}},
    {id_of<ops::latent_attention_gradient>,
     "bsnE,bsnD,bsnR,bTnD,bTR,bTnE,bsnE,bsn->bsnD,bsnR,bTnD,bTR,bTnE",
     "nnnnnnnp",
     {{1}, {0.5}}},
    {id_of<ops::attention_block>, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{1}, {0.5}}},
    {id_of<ops::attention_merge>, "bsmgE,bsmg,bsmgE,bsmg->bsmgE,bsmg", "nnnn"},
    {id_of<ops::attention_block_gradient>, "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE", "nnnnnp", {{1}, {0.5}}},
    {id_of<ops::swiglu>, "xy,xy->xy", "nn"},
    {id_of<ops::swiglu_gradient>, "xy,xy,xy->xy,xy", "nnn"},
    {id_of<ops::geglu>, "xy,xy->xy", "nn"},
    {id_of<ops::geglu_gradient>, "xy,xy,xy->xy,xy", "nnn"},
    {id_of<ops::clamped_swiglu>, "xy,xy->xy", "nn", {{}, {0.5, 1.7}}},
    {id_of<ops::clamped_swiglu_gradient>, "xy,xy,xy->xy,xy", "nnn", {{}, {0.5, 1.7}}},
    {id_of<ops::gelu_tanh>, "xy->xy", "n"},
    {id_of<ops::gelu_tanh_gradient>, "xy,xy->xy", "nn"},
    {id_of<ops::silu>, "xy->xy", "n"},
    {id_of<ops::silu_gradient>, "xy,xy->xy", "nn"},
    {id_of<ops::sigmoid>, "xy->xy", "n"},
    {id_of<ops::sigmoid_gradient>, "xy,xy->xy", "np"},
    {id_of<ops::softmax>, "xyE->xyE", "n"},
    {id_of<ops::softmax_gradient>, "xyE,xyE->xyE", "np"},
    {id_of<ops::top_k>, "xyE->xyK,xyK", "p", {{0, 1}, {2.5}}},
    {id_of<ops::biased_top_k>, "xyE,E->xyK,xyK", "pn", {{0, 0}, {2.5}}},
    {id_of<ops::top_k_gradient>, "xyK,xyE,xyK->xyE", "npe", {{0, 1}, {2.5}}},
    {id_of<ops::count_experts>, "xyK->e", "e"},
    {id_of<ops::dispatch>, "bSh,bSK->bech", "ne"},
    {id_of<ops::dispatch>, "BSh,BSK->ech", "ne"},
    {id_of<ops::undispatch>, "bech,bSK->bSh", "ne"},
    {id_of<ops::undispatch>, "ech,BSK->BSh", "ne"},
    {id_of<ops::combine>, "bech,bSK,bSK->bSh", "nen"},
    {id_of<ops::combine>, "ech,BSK,BSK->BSh", "nen"},
    {id_of<ops::dispatch_weighted>, "bSh,bSK,bSK->bech", "nen"},
    {id_of<ops::dispatch_weighted>, "BSh,BSK,BSK->ech", "nen"},
    {id_of<ops::combine_weight_gradient>, "bSh,bech,bSK->bSK", "nne"},
    {id_of<ops::combine_weight_gradient>, "BSh,ech,BSK->BSK", "nne"},
    {id_of<ops::exp_sum>, "xyv,xy->xy", "nn"},
    {id_of<ops::pick>, "xyv,xy->xy", "nl"},
    {id_of<ops::token_loss>, "xv,xv,xv,xv->xv", "npnl"},
    {id_of<ops::cross_entropy_gradient>, "xy,xyv,xy,xy,xy->xyv", "nnnpl"},
    {id_of<ops::sum_of_squares>, "xyz->", "n"},
    {id_of<ops::clip_factor>, "->", "p", {{}, {0.5}}},
    {id_of<ops::fill>, "->xy", "", {{}, {0.5}}},
    {id_of<ops::accumulate>, "xy,xy->xy", "nn"},
    {id_of<ops::sgd>, "xy,xy,xy,->xy,xy", "nnnp", {{}, {0.1, 0.9, 0.01}}},
    {id_of<ops::sgd_master>, "xy,xy,xy,xy,->xy,xy,xy", "nnnnp", {{}, {0.1, 0.9, 0.01}}},
    {id_of<ops::adamw>, "xy,xy,xy,xy,->xy,xy,xy", "nnnpp", {{}, {0.1, 0.9, 0.95, 1e-8, 0.01}}},
    {id_of<ops::adamw_master>, "xy,xy,xy,xy,xy,->xy,xy,xy,xy", "nnnnpp", {{}, {0.1, 0.9, 0.95, 1e-8, 0.01}}},
    {id_of<ops::muon>, "aYZ,aYZ,aYZ,->aYZ,aYZ", "nnnp", {{1, 2}, {0.1, 0.9, 0.01}}},
    {id_of<ops::muon>, "aYUZ,aYUZ,aYUZ,->aYUZ,aYUZ", "nnnp", {{1, 3}, {0.1, 0.9, 0.01}}},
    {id_of<ops::muon_master>, "aYZ,aYZ,aYZ,aYZ,->aYZ,aYZ,aYZ", "nnnnp", {{1, 2}, {0.1, 0.9, 0.01}}},
    {id_of<ops::update_bias>, "E,E->E", "nn", {{}, {0.1}}},
    {id_of<ops::relu>, "xy->xy", "n"},
    {id_of<ops::relu_gradient>, "xy,xy->xy", "nn"},
    {id_of<ops::tanh>, "xy->xy", "n"},
    {id_of<ops::tanh_gradient>, "xy,xy->xy", "nn"},
    {id_of<ops::exp>, "xy->xy", "n"},
    {id_of<ops::log>, "xy->xy", "p"},
    {id_of<ops::sqrt>, "xy->xy", "p"},
    {id_of<ops::sqrt_gradient>, "xy,xy->xy", "np"},
    {id_of<ops::divide>, "xy,xy->xy", "np"},
    {id_of<ops::divide>, "xyz,zx->xyz", "np"},
    {id_of<ops::divide_gradient>, "xy,xy,xy->xy", "nnp"},
    {id_of<ops::maximum>, "xy,xy->xy", "nn"},
    {id_of<ops::negate>, "xy->xy", "n"},
    {id_of<ops::subtract>, "xy,xy->xy", "nn"},
    {id_of<ops::shift>, "xy->xy", "n", {{}, {0.3}}},
    {id_of<ops::subtract>, "xyz,zx->xyz", "nn"},
    {id_of<ops::maximum_gradient>, "xy,xy,xy->xy,xy", "nnn"},
    {id_of<ops::mean>, "xyz->y", "n"},
    {id_of<ops::mean>, "xy->", "n"},
    {id_of<ops::mean_gradient>, "y->xyz", "n"},
    {id_of<ops::transpose>, "xyz->zxy", "n"},
    {id_of<ops::transpose>, "xyYz->zxyY", "n"},
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
        if (hp::detail::is_whole(c.rule(), l)) continue;
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

TEST(ModelKernels, EveryOperatorHasAKernel) {
  for (int i = 0; i < hp::builtin_operator_count; ++i) {
    const operator_id op = static_cast<operator_id>(i);
    EXPECT_NE(hp::kernel_of<float>(op), nullptr) << name_of(op);
    EXPECT_NE(hp::kernel_of<double>(op), nullptr) << name_of(op);
  }
}

// What replaces an operand is written in its memory.
TEST(ModelKernels, ResultsMayBeTheOperandsThatTheyReplace) {
  struct alias_case {
    operator_id op;
    std::vector<int> replaced;  ///< operand of each result
  };
  const alias_case aliases[] = {{id_of<ops::accumulate>, {0}},       {id_of<ops::sgd>, {0, 2}},
                                {id_of<ops::adamw>, {0, 2, 3}},      {id_of<ops::adamw_master>, {0, 2, 3, 4}},
                                {id_of<ops::muon>, {0, 2}},          {id_of<ops::update_bias>, {0}},
                                {id_of<ops::sgd_master>, {0, 2, 3}}, {id_of<ops::muon_master>, {0, 2, 3}}};
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
