// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running an operator on distributed tensors, given its rule and its kernel as values.
//
// The rule tells the results' layouts and what has to happen to the operands first, which is local: whole operands are
// sliced to the shards of others, or filled to meet partial ones. Then every rank runs the kernel on its blocks. Law:
// where the kernel obeys the rule, the gathered results are those of the kernel on the whole operands.

#include <array>
#include <span>
#include <vector>

#include <hyperparallel/operators/propagate.hpp>
#include <hyperparallel/runtime/dtensor/move.hpp>

namespace hyperparallel::inline v0_2 {

/// What a kernel gets at one position: its blocks of the operands, and of the results, which read as zero.
struct local_operation {
  int position;
  std::span<const const_local_block> operand;
  std::span<const local_block> result;
  const factor_rule* rule = nullptr;
};

/// Operands as they meet the operator, and what its results are.
struct placed_operation {
  std::vector<dynamic_dtensor> operands;
  std::vector<tensor_description> results;
};

/// Checks the operands against the rule and prepares them. `types`: of each result. Domain: `check_rule(rule)` is ok.
/// Throws operator_error (layouts or shapes do not fit the rule), layout_error (a result's layout does not divide its
/// shape), dtensor_error (operands of different groups).
placed_operation place_operation(const factor_rule& rule, std::span<const dynamic_dtensor> operands,
                                 std::span<const data_type> types);

/// Runs the kernel `function(const local_operation&)` at every position. Throws as `place_operation`, and rank_error
/// where the kernel throws.
template <class Kernel>
std::vector<dynamic_dtensor> apply_rule(const factor_rule& rule, std::span<const dynamic_dtensor> operands,
                                        std::span<const data_type> types, const Kernel& function) {
  const placed_operation x = place_operation(rule, operands, types);
  const rank_group& group = operands[0].group();
  const std::size_t ranks = static_cast<std::size_t>(group.ranks());
  std::vector<std::vector<dynamic_dtensor::block>> blocks(x.results.size());
  for (std::vector<dynamic_dtensor::block>& b : blocks) b.resize(ranks);
  group.for_each_rank(rule.name.text, [&](int position) {
    std::array<const_local_block, max_operands> in;
    std::array<local_block, max_results> out;
    for (std::size_t o = 0; o < x.operands.size(); ++o) in[o] = x.operands[o].local(position);
    for (std::size_t i = 0; i < x.results.size(); ++i) {
      const tensor_description& d = x.results[i];
      const box place = slice_at(d.layout, d.shape, coordinates_of(d.layout.mesh, position));
      const std::shared_ptr<std::byte> bytes = allocate_block(block_bytes(d, place));
      out[i] = {bytes.get(), d.type, place, d.shape};
      blocks[i][static_cast<std::size_t>(position)] = bytes;
    }
    function(local_operation{position, {in.data(), x.operands.size()}, {out.data(), x.results.size()}, &rule});
  });
  std::vector<dynamic_dtensor> results;
  for (std::size_t i = 0; i < x.results.size(); ++i) results.emplace_back(group, x.results[i], std::move(blocks[i]));
  return results;
}

/// An operator that leaves every block as it is and only tells its extents anew (reshape, expand_dims, squeeze): the
/// result shares the operand's blocks. Domain: the local blocks of operand and result have the same elements in the
/// same order.
dynamic_dtensor apply_view(const factor_rule& rule, const dynamic_dtensor& x);

}  // namespace hyperparallel::inline v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/runtime/dtensor/apply_rule.ipp>
#endif
