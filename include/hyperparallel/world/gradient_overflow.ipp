// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of gradient_overflow.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hyperparallel/world/gradient_overflow.hpp>
#include <hyperparallel/world/program_memory.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Whether all elements are finite: none has all bits of `exponent`.
template <class Bits>
bool all_finite(const std::byte* block, extent_t elements, Bits exponent) {
  bool finite = true;
  for (extent_t e = 0; e < elements; ++e) {
    Bits bits = 0;
    std::memcpy(&bits, block + e * static_cast<extent_t>(sizeof(Bits)), sizeof(Bits));
    finite &= (bits & exponent) != exponent;
  }
  return finite;
}
inline bool all_finite(const std::byte* block, extent_t elements, data_type type) {
  switch (type) {
    case data_type::f16:
      return all_finite<std::uint16_t>(block, elements, 0x7C00);
    case data_type::bf16:
      return all_finite<std::uint16_t>(block, elements, 0x7F80);
    case data_type::f32:
      return all_finite<std::uint32_t>(block, elements, 0x7F80'0000);
    case data_type::f64:
      return all_finite<std::uint64_t>(block, elements, 0x7FF0'0000'0000'0000);
    default:
      return true;
  }
}

HYPERPARALLEL_BODY int first_overflow(const sharded_program& p, const program_memory& memory,
                                      const growing_array<int>& values) {
  int first = 0;
  for (const int v : values) {
    const data_type type = p.graph.tensor[p.value[v].tensor].type;
    for (const int rank : memory.hosted())
      if (memory.has(v, rank) && !detail::all_finite(memory.block(v, rank), local_elements(p, v), type)) return first;
    ++first;
  }
  return first;
}

}}}  // namespace hyperparallel::v0_2::detail
