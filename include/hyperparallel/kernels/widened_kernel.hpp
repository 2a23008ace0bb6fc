// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels on blocks of narrower floats than they compute in: 16-bit storage with binary32 arithmetic.
//
// Law: operands are loaded exactly, the kernel works in T, and each element of a result is rounded once to the type that
// it is stored in; so results are those of the kernel on the loaded operands, stored. A result may be the memory of an
// operand. Blocks of T, and numbers, are passed as they are. O(elements) beside the kernel.

#include <vector>

#include <hyperparallel/kernels/operator_call.hpp>
#include <hyperparallel/kernels/tensor_view.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// What the blocks of a call hold.
struct block_types {
  data_type operand[max_operands] = {};
  data_type result[max_results] = {};
};

/// Whether blocks of floats of the type are loaded into, and stored from, blocks of `computes`. What is computed in f64 is
/// stored in it.
constexpr bool is_widened(data_type type, data_type computes) {
  return computes == data_type::f32 && (type == data_type::bf16 || type == data_type::f16);
}

template <class T, class Storage>
void load_block(const void* from, std::vector<T>& to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<T>(kernels::load(static_cast<const Storage*>(from)[i]));
}
template <class T, class Storage>
void store_block(const std::vector<T>& from, void* to) {
  for (std::size_t i = 0; i < from.size(); ++i) static_cast<Storage*>(to)[i] = kernels::store<Storage>(from[i]);
}

/// Calls f with the type that stores floats of `type`, as a `std::type_identity`; with none for other types.
template <class F>
void visit_float(data_type type, const F& f) {
  visit_element_type(type, [&]<class Storage>(std::type_identity<Storage> storage) {
    if constexpr (!std::is_integral_v<Storage>) f(storage);
  });
}

/// A kernel bound to the types of its blocks.
struct typed_kernel {
  operator_kernel function = nullptr;
  void (*widened)(operator_kernel, operator_call,
                  const block_types&) = nullptr;  ///< none: blocks are of the kernel's type
  block_types types{};

  void operator()(const operator_call& c) const {
    if (widened != nullptr)
      widened(function, c, types);
    else
      function(c);
  }
};

/// Whether a kernel that computes in T can be run on a block of the type: of T, of numbers, for float of 16-bit floats.
template <class T>
constexpr bool widens_to(data_type type) {
  return type == data_type_of<T> || type == data_type::i32 || detail::is_widened(type, data_type_of<T>);
}

/// Runs a kernel that computes in T. Domain: `widens_to<T>` of all types.
template <class T>
void run_widened(operator_kernel function, operator_call c, const block_types& types) {
  std::vector<T> operand[max_operands], result[max_results];
  for (int i = 0; i < c.rule->operand_count; ++i) {
    if (!detail::is_widened(types.operand[i], data_type_of<T>)) continue;
    operand[i].resize(static_cast<std::size_t>(c.operand_elements(i)));
    detail::visit_float(types.operand[i], [&]<class Storage>(std::type_identity<Storage>) {
      detail::load_block<T, Storage>(c.operand[i], operand[i]);
    });
    c.operand[i] = operand[i].data();
  }
  const operator_call narrow = c;
  for (int r = 0; r < c.rule->result_count; ++r) {
    if (!detail::is_widened(types.result[r], data_type_of<T>)) continue;
    result[r].resize(static_cast<std::size_t>(c.result_elements(r)));
    c.result[r] = result[r].data();
  }
  function(c);
  for (int r = 0; r < c.rule->result_count; ++r)
    if (detail::is_widened(types.result[r], data_type_of<T>))
      detail::visit_float(types.result[r], [&]<class Storage>(std::type_identity<Storage>) {
        detail::store_block<T, Storage>(result[r], narrow.result[r]);
      });
}

}}}  // namespace hyperparallel::v0_2::detail
