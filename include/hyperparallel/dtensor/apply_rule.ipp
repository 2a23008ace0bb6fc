// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of apply_rule.hpp; see support/compiled.hpp.

#include <array>
#include <span>
#include <vector>

#include <hyperparallel/dtensor/apply_rule.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

HYPERPARALLEL_BODY placed_operation place_operation(const factor_rule& rule, std::span<const dynamic_dtensor> operands,
                                                    std::span<const data_type> types) {
  const int count = static_cast<int>(operands.size());
  detail::light_vector<const layout_value*> layouts;
  std::vector<shape> shapes;
  for (const dynamic_dtensor& x : operands) {
    if (!(x.group() == operands[0].group())) throw group_error(rule.name.text, static_cast<int>(layouts.size()));
    layouts.push_back(&x.layout());
    shapes.push_back(x.shape());
  }
  const extents_code sizes = result_shape(rule, shapes.data(), count).status.code;
  if (sizes_disagree(sizes)) throw operator_error(rule.name.text, result_shape(rule, shapes.data(), count).status);
  const full_propagation placed = propagate_fully(rule, layouts.data(), count);
  if (placed.status.code != propagation_code::ok) throw operator_error(rule.name.text, placed.status);
  placed_operation r;
  for (int i = 0; i < rule.result_count; ++i) {
    const result_shape_result s = result_shape(rule, shapes.data(), count, i);
    if (s.status.code != extents_code::ok) throw operator_error(rule.name.text, s.status);
    const layout_status fits = check_shape(placed.result[i], s.shape);
    if (fits.code != layout_code::ok) throw layout_error(fits);
    r.results.push_back({types[static_cast<std::size_t>(i)], s.shape, placed.result[i]});
  }
  for (int o = 0; o < count; ++o)
    r.operands.push_back(redistribute(operands[static_cast<std::size_t>(o)], placed.operand[o]));
  return r;
}

HYPERPARALLEL_BODY std::vector<dynamic_dtensor> apply_rule(const factor_rule& rule,
                                                           std::span<const dynamic_dtensor> operands,
                                                           std::span<const data_type> types,
                                                           void (*call)(const void* work, const local_operation& at),
                                                           const void* work) {
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
    call(work, local_operation{position, {in.data(), x.operands.size()}, {out.data(), x.results.size()}, &rule});
  });
  std::vector<dynamic_dtensor> results;
  for (std::size_t i = 0; i < x.results.size(); ++i) results.emplace_back(group, x.results[i], std::move(blocks[i]));
  return results;
}

HYPERPARALLEL_BODY dynamic_dtensor apply_view(const factor_rule& rule, const dynamic_dtensor& x) {
  const data_type type = x.type();
  const placed_operation placed = place_operation(rule, {&x, 1}, {&type, 1});
  std::vector<dynamic_dtensor::block> blocks;
  for (int p = 0; p < x.ranks(); ++p) blocks.push_back(placed.operands[0].shared_block(p));
  return {x.group(), placed.results[0], std::move(blocks)};
}

}}}  // namespace hyperparallel::v0_2::detail
