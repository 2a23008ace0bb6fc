// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes and boxes as text: a shape reads "(8, 4096, 7168)", a box "[0:4, 0:4096, 4480:5376]", half open, as slices are
// written elsewhere. Law: every number is there in order, so both can be read back.

#include <string>

#include <hyperparallel/layout/tensor.hpp>
#include <hyperparallel/report/text_formatter.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline std::string to_text(const shape& s) {
  return report::detail::list_text(s.rank, [&](int d) { return std::to_string(s.extent[d]); });
}

inline std::string to_text(const interval& i) { return std::to_string(i.begin) + ":" + std::to_string(i.end); }

inline std::string to_text(const box& b) {
  return report::detail::list_text(b.rank, [&](int d) { return to_text(b.dim[d]); }, "[", "]");
}

constexpr const char* to_text(data_type type) { return name_of(type); }

}}  // namespace hyperparallel::v0_2
