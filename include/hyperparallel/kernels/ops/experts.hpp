// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens in experts' slots and back: dispatch, combine and their transposes.
//
// Groups are the loops that the index and the slots share; in each, tokens take slots of their experts in order of
// token, then choice, and what comes after the last slot is dropped. Experts and slots outside the box are elsewhere.
// Laws: a slot's row depends on its group's choices alone; unfilled slots are zero; results over the loops of experts and
// slots are sums of parts. Each kernel derives the slots again from the choices, O(choices), and moves O(choices · width).

#include <cstdint>
#include <cstring>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/ops/block_steps.hpp>
#include <hyperparallel/kernels/row_arithmetic.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels { namespace detail {

/// Offsets of one choice in the three tensors of an operator of experts; `slot` is -1 without one in this box.
struct expert_choice {
  extent_t row, index, slot;
};

/// Calls body(choice) for every token and choice, group by group. `rows` are of tokens, `slots` of experts.
/// Returns the width of a row.
template <class Body>
extent_t for_each_choice(const operator_call& c, const tensor_factors& rows, const tensor_factors& index,
                         const tensor_factors& slots, const std::int32_t* chosen, const Body& body) {
  const loop_list groups = loops_of(index, {&slots}, {});
  loop_list tokens = loops_of(index, {}, {&slots});
  const loop_list places = loops_of(slots, {}, {&index, &rows});
  expect(places.count == 2 && tokens.count > 0 && last_loop(c, rows) == last_loop(c, slots), c,
         "the slots are not of groups, experts, places and one dim of the rows");
  const int expert = places.loop[0], place = places.loop[1];
  const int choice = tokens.loop[--tokens.count];
  const extent_t width = c.loop[last_loop(c, rows)].extent;
  const loop_steps steps[3] = {steps_of(c, rows), steps_of(c, index), steps_of(c, slots)};
  const loop_span experts = c.loop[expert], places_here = c.loop[place];
  extent_t* const filled = thread_memory<extent_t, 0>(experts.extent);
  for_each_point(c, groups, steps, [&](const extent_t(&group)[3]) {
    for (extent_t e = 0; e < experts.extent; ++e) filled[e] = 0;
    for_each_point(c, tokens, steps, [&](const extent_t(&token)[3]) {
      for (extent_t j = 0; j < c.loop[choice].extent; ++j) {
        const extent_t at = group[1] + token[1] + j * steps[1].of[choice];
        const extent_t e = chosen[at] - experts.begin;
        extent_t slot = -1;
        if (e >= 0 && e < experts.extent) {
          const extent_t taken = filled[e]++ - places_here.begin;
          if (taken >= 0 && taken < places_here.extent)
            slot = group[2] + e * steps[2].of[expert] + taken * steps[2].of[place];
        }
        body(expert_choice{group[0] + token[0], at, slot});
      }
    });
  });
  return width;
}

template <class T>
void clear(T* to, extent_t n) {
  for (extent_t i = 0; i < n; ++i) to[i] = T(0);
}

/// x, index -> slots.
template <class T>
void dispatch_kernel(const operator_call& c) {
  const factor_rule& rule = *c.rule;
  const T* const x = operand<T>(c, 0);
  T* const slots = result<T>(c, 0);
  const extent_t width = c.loop[last_loop(c, rule.operand[0])].extent;
  detail::clear(slots, c.result_elements(0));
  detail::for_each_choice(c, rule.operand[0], rule.operand[1], rule.result[0], operand<std::int32_t>(c, 1),
                          [&](const detail::expert_choice& at) {
                            if (at.slot >= 0)
                              std::memcpy(slots + at.slot, x + at.row, static_cast<std::size_t>(width) * sizeof(T));
                          });
}

/// d slots, index -> dx.
template <class T>
void undispatch_kernel(const operator_call& c) {
  const factor_rule& rule = *c.rule;
  const T* const slots = operand<T>(c, 0);
  T* const dx = result<T>(c, 0);
  const extent_t width = c.loop[last_loop(c, rule.operand[0])].extent;
  detail::clear(dx, c.result_elements(0));
  detail::for_each_choice(c, rule.result[0], rule.operand[1], rule.operand[0], operand<std::int32_t>(c, 1),
                          [&](const detail::expert_choice& at) {
                            if (at.slot >= 0) add_row(width, slots + at.slot, dx + at.row);
                          });
}

/// slots, index, weight -> y.
template <class T>
void combine_kernel(const operator_call& c) {
  const factor_rule& rule = *c.rule;
  const T *slots = operand<T>(c, 0), *weight = operand<T>(c, 2);
  T* const y = result<T>(c, 0);
  const extent_t width = c.loop[last_loop(c, rule.operand[0])].extent;
  detail::clear(y, c.result_elements(0));
  detail::for_each_choice(c, rule.result[0], rule.operand[1], rule.operand[0], operand<std::int32_t>(c, 1),
                          [&](const detail::expert_choice& at) {
                            if (at.slot >= 0) add_scaled_row(width, weight[at.index], slots + at.slot, y + at.row);
                          });
}

/// dy, index, weight -> d slots.
template <class T>
void dispatch_weighted_kernel(const operator_call& c) {
  const factor_rule& rule = *c.rule;
  const T *dy = operand<T>(c, 0), *weight = operand<T>(c, 2);
  T* const slots = result<T>(c, 0);
  const extent_t width = c.loop[last_loop(c, rule.operand[0])].extent;
  detail::clear(slots, c.result_elements(0));
  detail::for_each_choice(c, rule.operand[0], rule.operand[1], rule.result[0], operand<std::int32_t>(c, 1),
                          [&](const detail::expert_choice& at) {
                            if (at.slot >= 0) add_scaled_row(width, weight[at.index], dy + at.row, slots + at.slot);
                          });
}

/// dy, slots, index -> d weight.
template <class T>
void combine_weight_gradient_kernel(const operator_call& c) {
  const factor_rule& rule = *c.rule;
  const T *dy = operand<T>(c, 0), *slots = operand<T>(c, 1);
  T* const d_weight = result<T>(c, 0);
  const extent_t width = c.loop[last_loop(c, rule.operand[0])].extent;
  detail::for_each_choice(c, rule.operand[0], rule.operand[2], rule.operand[1], operand<std::int32_t>(c, 2),
                          [&](const detail::expert_choice& at) {
                            d_weight[at.index] = at.slot < 0 ? T(0) : dot(width, dy + at.row, slots + at.slot);
                          });
}

}}}}  // namespace hyperparallel::v0_2::kernels::detail

namespace hyperparallel { inline namespace v0_2 {

template <class T>
inline constexpr operator_kernel kernel_for<T, ops::dispatch> = kernels::detail::dispatch_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::undispatch> = kernels::detail::undispatch_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::combine> = kernels::detail::combine_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::dispatch_weighted> = kernels::detail::dispatch_weighted_kernel<T>;
template <class T>
inline constexpr operator_kernel kernel_for<T, ops::combine_weight_gradient> =
    kernels::detail::combine_weight_gradient_kernel<T>;

}}  // namespace hyperparallel::v0_2

HYPERPARALLEL_EXACT_END
