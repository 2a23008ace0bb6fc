// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator on tensors in any layouts: operands that do not meet are moved as `resolve` finds cheapest, and the
// answer tells what was moved, where to, and at what price.
//
//   const auto [results, how] = apply_resolved(matmul{}, x, w);      // how.moved, how.price, how.strict
//   const auto asked = apply_resolved_for(wanted, matmul{}, x, w);   // the result's own move is weighed in and made
//
// Law: the gathered results are those of the operator on the whole operands, whatever the layouts.

#include <hyperparallel/dtensor/operation.hpp>
#include <hyperparallel/operators/resolve.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct resolved_results {
  std::vector<dynamic_dtensor> results;
  resolution how{};
};

namespace detail {

template <operation_description Description, std::size_t Count>
resolved_results apply_resolved(const layout_value* consumer, const Description& d,
                                std::array<dynamic_dtensor, Count> operands) {
  const layout_value* layouts[Count];
  shape shapes[Count];
  resolve_options options;
  options.consumer = consumer;
  for (std::size_t o = 0; o < Count; ++o) {
    layouts[o] = &operands[o].layout();
    shapes[o] = operands[o].shape();
    options.element_bytes[o] = bytes_of(operands[o].type());
  }
  options.result_bytes = options.element_bytes[0];
  const rule_result made = d.rule(shapes, static_cast<int>(Count));
  if (made.status.code != rule_code::ok) throw operator_error(made.rule.name.text, made.status);
  resolved_results r;
  r.how = resolve(made.rule, layouts, shapes, static_cast<int>(Count), options);
  if (r.how.code == resolve_code::extents_are_refused) throw operator_error(made.rule.name.text, r.how.extents);
  if (r.how.code != resolve_code::ok) throw operator_error(made.rule.name.text, r.how.strict);
  for (std::size_t o = 0; o < Count; ++o) operands[o] = redistribute(operands[o], r.how.placed.operand[o]);
  r.results = apply_all(d, operands);
  if (consumer != nullptr) r.results[0] = redistribute(r.results[0], *consumer);
  return r;
}

}  // namespace detail

/// Runs `d` after the cheapest moves. Throws operator_error where no move helps, and as `apply_all`.
template <operation_description Description, std::same_as<dynamic_dtensor>... Operands>
resolved_results apply_resolved(const Description& d, const Operands&... operands) {
  return detail::apply_resolved<Description, sizeof...(Operands)>(nullptr, d, {operands...});
}

/// The same for a first result that is needed as `wanted`, in which it comes.
template <operation_description Description, std::same_as<dynamic_dtensor>... Operands>
resolved_results apply_resolved_for(const layout_value& wanted, const Description& d, const Operands&... operands) {
  return detail::apply_resolved<Description, sizeof...(Operands)>(&wanted, d, {operands...});
}

}}  // namespace hyperparallel::v0_2
