// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of conversion.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/conversion.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

HYPERPARALLEL_BODY coordinate first_holder(const layout_value& l, const coordinate& c) {
  coordinate first = c;
  for (int a = 0; a < l.mesh.axis_count; ++a) {
    if (l.partial[a] != reduce_op::none) continue;
    const auto holds_the_same = [&](int at) {
      for (int i = 0; i < l.cut_count; ++i)
        if (l.cut[i].axis == a && digit_of(l.mesh, l.cut[i], at) != digit_of(l.mesh, l.cut[i], c.at[a])) return false;
      return true;
    };
    first.at[a] = 0;
    while (!holds_the_same(first.at[a])) ++first.at[a];
  }
  return first;
}

}  // namespace detail

HYPERPARALLEL_BODY bool replicas_agree(const dynamic_dtensor& x) {
  const layout_value& l = x.layout();
  for (int p = 0; p < x.ranks(); ++p) {
    const int first = position_of(l.mesh, detail::first_holder(l, coordinates_of(l.mesh, p)));
    const std::size_t bytes = static_cast<std::size_t>(block_bytes(x.description(), x.local_box(p)));
    if (bytes > 0 && std::memcmp(x.data(p), x.data(first), bytes) != 0) return false;
  }
  return true;
}

}}  // namespace hyperparallel::v0_2
