// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/latent_attention.hpp>

#include <gtest/gtest.h>

#include "attention_reference.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

// Latent attention is attention whose queries and keys are laid end to end, the shared keys copied to each head; the
// gradient of the shared keys is the sum over heads.
TEST(LatentAttention, IsAttentionOverBothPartsEndToEnd) {
  std::mt19937 random(1);
  for (const extent_t positions : {5, 66, 130})
    for (const bool causal : {false, true}) {
      const extent_t batch = 2, heads = 3, depth = 4, shared = 6, width = 5, keys = positions;
      letter_extents extents("", random);
      for (const auto& [letter, extent] : std::initializer_list<std::pair<char, extent_t>>{
               {'b', batch}, {'s', positions}, {'n', heads}, {'D', depth}, {'R', shared}, {'T', keys}, {'E', width}})
        extents.of[static_cast<int>(letter)] = extent;
      const case_options options{{causal ? 1 : 0}, {0.4}};
      run_case<double> c(id_of<ops::latent_attention>, "bsnD,bsnR,bTnD,bTR,bTnE->bsnE,bsn", "nnnnn", options, extents,
                         random);
      run_case<double> d(id_of<ops::latent_attention_gradient>,
                         "bsnE,bsnD,bsnR,bTnD,bTR,bTnE,bsnE,bsn->bsnD,bsnR,bTnD,bTR,bTnE", "nnnnnnnn", options, extents,
                         random);
      c.run_whole();
      for (std::size_t i = 0; i < 5; ++i) d.operand[i + 1] = c.operand[i];
      d.operand[6] = c.result[0];
      d.operand[7] = c.result[1];
      d.run_whole();

      const attention_sizes z{batch, positions, heads, 1, depth + shared, keys, width, causal, 0.4};
      std::vector<double> q, k;
      const auto append = [](std::vector<double>& to, const std::vector<double>& from, extent_t row, extent_t n) {
        to.insert(to.end(), from.begin() + row * n, from.begin() + (row + 1) * n);
      };
      for (extent_t row = 0; row < batch * positions * heads; ++row) {
        append(q, c.operand[0].values, row, depth);
        append(q, c.operand[1].values, row, shared);
        append(k, c.operand[2].values, row, depth);
        append(k, c.operand[3].values, row / heads, shared);
      }
      const attention_values expected = attention_by_definition(z, q, k, c.operand[4].values, d.operand[0].values);
      std::vector<double> dq, dqr, dk, dkr(d.result[3].values.size());
      for (extent_t row = 0; row < batch * positions * heads; ++row) {
        const auto at_q = expected.dq.begin() + row * (depth + shared);
        const auto at_k = expected.dk.begin() + row * (depth + shared);
        dq.insert(dq.end(), at_q, at_q + depth);
        dqr.insert(dqr.end(), at_q + depth, at_q + depth + shared);
        dk.insert(dk.end(), at_k, at_k + depth);
        for (extent_t i = 0; i < shared; ++i) dkr[at(row / heads * shared + i)] += at_k[depth + i];
      }
      EXPECT_LE(largest_difference(c.result[0].values, expected.o), 1e-13);
      EXPECT_LE(largest_difference(c.result[1].values, expected.lse), 1e-13);
      EXPECT_LE(largest_difference(d.result[0].values, dq), 1e-12);
      EXPECT_LE(largest_difference(d.result[1].values, dqr), 1e-12);
      EXPECT_LE(largest_difference(d.result[2].values, dk), 1e-12);
      EXPECT_LE(largest_difference(d.result[3].values, dkr), 1e-12);
      EXPECT_LE(largest_difference(d.result[4].values, expected.dv), 1e-12);
    }
}

}  // namespace
