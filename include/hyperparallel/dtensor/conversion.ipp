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

HYPERPARALLEL_BODY bool is_first_holder(const layout_value& l, const coordinate& c) {
  for (int a = 0; a < l.mesh.axis_count; ++a)
    for (int before = 0; before < c.at[a]; ++before) {
      bool same = true;
      for (int i = 0; i < l.cut_count; ++i)
        same =
            same && (l.cut[i].axis != a || digit_of(l.mesh, l.cut[i], before) == digit_of(l.mesh, l.cut[i], c.at[a]));
      if (same) return false;
    }
  return true;
}

}  // namespace detail

HYPERPARALLEL_BODY bool replicas_agree(const dynamic_dtensor& x) {
  const layout_value& l = x.layout();
  axis_list free{};
  for (int a = 0; a < l.mesh.axis_count; ++a) {
    bool used = l.partial[a] != reduce_op::none;
    for (int i = 0; i < l.cut_count; ++i) used = used || l.cut[i].axis == a;
    if (!used) free.axis[free.count++] = a;
  }
  for (int p = 0; p < x.ranks(); ++p) {
    const int first = group_member(l.mesh, free, p, 0);
    const std::size_t bytes = static_cast<std::size_t>(block_bytes(x.description(), x.local_box(p)));
    if (bytes > 0 && std::memcmp(x.data(p), x.data(first), bytes) != 0) return false;
  }
  return true;
}

}}  // namespace hyperparallel::v0_2
