// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of gradient_parts.hpp; see support/compiled.hpp.

#include <atomic>
#include <cstddef>
#include <utility>

#include <hyperparallel/dtensor/gradient_parts.hpp>
#include <hyperparallel/dtensor/listed_operation.hpp>
#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_BODY std::int64_t next_node_number() {
  static std::atomic<std::int64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace detail

HYPERPARALLEL_BODY detail::gradient_node::gradient_node(const void* of, std::vector<shape> made,
                                                        gradient_targets targets)
    : kind(of), number(detail::next_node_number()), results(std::move(made)), operands(std::move(targets)) {}

namespace detail {

HYPERPARALLEL_BODY std::shared_ptr<const gradient_node> plain_node(const void* kind, const shape& made,
                                                                   gradient_targets operands) {
  return std::make_shared<const gradient_node>(kind, std::vector<shape>{made}, std::move(operands));
}

HYPERPARALLEL_BODY void add_gradient_part(gradient_parts& parts, const gradient_node& from, std::size_t operand,
                                          const dynamic_dtensor& gradient) {
  const gradient_target& to = from.operands[operand];
  parts.push_back({to.node, to.result, from.number, gradient});
}

HYPERPARALLEL_BODY detail::light_vector<std::shared_ptr<const gradient_node>> nodes_of_kind(const gradient_parts& parts,
                                                                                            const void* kind) {
  detail::light_vector<std::shared_ptr<const gradient_node>> nodes;
  for (const gradient_part& p : parts) {
    if (p.node->kind != kind) continue;
    std::shared_ptr<const gradient_node>* at = nodes.begin();
    while (at != nodes.end() && (*at)->number > p.node->number) ++at;
    if (at == nodes.end() || *at != p.node) nodes.insert(at, p.node);
  }
  return nodes;
}

HYPERPARALLEL_BODY dynamic_dtensor joined_sum(const std::vector<dynamic_dtensor>& terms) {
  dynamic_dtensor total = terms[0];
  for (std::size_t next = 1; next < terms.size();) {
    std::vector<dynamic_dtensor> operands{total};
    while (next < terms.size() && operands.size() < static_cast<std::size_t>(max_operands))
      operands.push_back(terms[next++]);
    std::vector<shape> shapes;
    for (const dynamic_dtensor& one : operands) shapes.push_back(one.shape());
    const rule_result made = listed<ops::sum>{}.rule(shapes.data(), static_cast<int>(shapes.size()));
    const data_type type = total.type();
    total = apply_rule(made.rule, operands, {&type, 1}, [type](const local_operation& at) {
      if (type == data_type::f64)
        detail::run_at<double>(at, operator_value_of<ops::sum>, kernel_of<double, ops::sum>(), {});
      else
        detail::run_at<float>(at, operator_value_of<ops::sum>, kernel_of<float, ops::sum>(), {});
    })[0];
  }
  return total;
}

HYPERPARALLEL_BODY dynamic_dtensor joined_gradient(const gradient_parts& parts, const gradient_node& node, int result,
                                                   data_type type, const layout_value& to) {
  detail::light_vector<const gradient_part*> mine;
  for (const gradient_part& p : parts) {
    if (p.node.get() != &node || p.result != result) continue;
    const gradient_part** at = mine.end();
    while (at != mine.begin() && (*(at - 1))->from < p.from) --at;
    mine.insert(at, &p);
  }
  std::vector<dynamic_dtensor> terms;
  for (const gradient_part* p : mine) terms.push_back(redistribute(p->gradient, to));
  if (!terms.empty()) return joined_sum(terms);
  return make_dtensor(parts.front().gradient.group(), {type, node.results[static_cast<std::size_t>(result)], to},
                      "zeros", [](int, const local_block&) {});
}

HYPERPARALLEL_BODY void forget_kind(gradient_parts& parts, const void* kind) {
  gradient_parts others;
  for (gradient_part& p : parts)
    if (p.node->kind != kind) others.push_back(std::move(p));
  parts = std::move(others);
}

HYPERPARALLEL_BODY void step_back(gradient_parts& parts, const void* kind, backward_step step) {
  gradient_parts next;
  for (const std::shared_ptr<const gradient_node>& node : nodes_of_kind(parts, kind)) step(*node, parts, next);
  forget_kind(parts, kind);
  for (gradient_part& one : next) parts.push_back(std::move(one));
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
