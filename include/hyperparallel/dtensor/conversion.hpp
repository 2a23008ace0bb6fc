// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between tensors in one memory and distributed tensors: distribute, from_local, full_tensor, and made from a function
// of the element's number.
//
// Whole tensors are row-major, as blocks are. Laws: full_tensor(distribute(t, layout)) == t for every layout;
// generate(f) holds f(i) at the row-major number i of the whole, so the numbers do not depend on the layout.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/move.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

constexpr box whole_box(const shape& s) {
  box b;
  b.rank = s.rank;
  for (int d = 0; d < s.rank; ++d) b.dim[d] = {0, s.extent[d]};
  return b;
}

/// The first position that holds the same block of the same term as `c`. O(sizes of axes · cuts).
coordinate first_holder(const layout_value& l, const coordinate& c);

/// Calls `visit(number in the whole, elements)` for each contiguous run of the block, in row-major order.
template <class Visit>
void for_each_run_of(const box& place, const shape& whole, const Visit& visit) {
  const shape local = shape_of(place);
  const kernels::steps outer = kernels::detail::row_major_steps(whole);
  extent_t start = 0;
  for (int d = 0; d < place.rank; ++d) start += place.dim[d].begin * outer.along[d];
  const kernels::steps array[1] = {outer};
  kernels::detail::for_each_run(kernels::detail::loops_over(local, array),
                                [&](const auto& offset, extent_t n, const auto& stride) {
                                  if (stride[0] == 1 || n == 1)
                                    visit(start + offset[0], n);
                                  else
                                    for (extent_t i = 0; i < n; ++i)
                                      visit(start + offset[0] + i * stride[0], extent_t{1});
                                });
}

}  // namespace detail

/// The tensor whose element number i is f(i); partial states are made by a fill. Throws layout_error, dtensor_error.
template <element_type T, class Function>
dynamic_dtensor generate(const rank_group& group, const shape& s, const layout_value& layout, const Function& f) {
  const tensor_description whole{detail::data_type_of<T>, s, detail::reduced_layout(layout)};
  const dynamic_dtensor made = detail::make_dtensor(group, whole, "generate", [&](int, const local_block& b) {
    T* to = reinterpret_cast<T*>(b.data);
    detail::for_each_run_of(b.place, s, [&](extent_t first, extent_t n) {
      for (extent_t i = 0; i < n; ++i) *to++ = f(first + i);
    });
  });
  return redistribute(made, layout);
}

/// Each rank's slice of a tensor that is in this memory. Throws layout_error, dtensor_error (wrong element count).
template <element_type T>
dynamic_dtensor distribute(const rank_group& group, const shape& s, const layout_value& layout,
                           std::span<const T> whole) {
  if (static_cast<extent_t>(whole.size()) != element_count(s).value)
    throw dtensor_error(std::to_string(whole.size()) + " elements for a tensor of " +
                        std::to_string(element_count(s).value));
  const tensor_description what{detail::data_type_of<T>, s, detail::reduced_layout(layout)};
  const dynamic_dtensor made = detail::make_dtensor(group, what, "distribute", [&](int, const local_block& b) {
    copy_box(copy_between(detail::whole_box(s), b.place, b.place, static_cast<int>(sizeof(T))),
             reinterpret_cast<const std::byte*>(whole.data()), b.data);
  });
  return redistribute(made, layout);
}

/// A tensor from what each position has; `blocks[p]` are the elements of position p, row-major. Whether replicas are
/// equal is the caller's word, see `replicas_agree`. Throws layout_error, dtensor_error (wrong number of blocks, or of
/// elements in one).
template <element_type T>
dynamic_dtensor from_local(const rank_group& group, const shape& s, const layout_value& layout,
                           std::span<const std::span<const T>> blocks) {
  const tensor_description what{detail::data_type_of<T>, s, layout};
  dynamic_dtensor::check(group, what);
  if (static_cast<int>(blocks.size()) != group.ranks())
    throw dtensor_error(std::to_string(blocks.size()) + " blocks for " + std::to_string(group.ranks()) + " ranks");
  for (int p = 0; p < group.ranks(); ++p) {
    const extent_t expected = volume(slice_at(layout, s, coordinates_of(layout.mesh, p)));
    const std::size_t given = blocks[static_cast<std::size_t>(p)].size();
    if (static_cast<extent_t>(given) != expected)
      throw dtensor_error("block " + std::to_string(p) + " has " + std::to_string(given) + " elements, its slice " +
                          std::to_string(expected));
  }
  return detail::make_dtensor(group, what, "from_local", [&](int p, const local_block& b) {
    const std::span<const T> from = blocks[static_cast<std::size_t>(p)];
    if (!from.empty()) std::memcpy(b.data, from.data(), from.size_bytes());
  });
}

/// The whole tensor, row-major, partial states resolved. Throws dtensor_error when T is not what it stores.
template <element_type T>
std::vector<T> full_tensor(const dynamic_dtensor& x) {
  const dynamic_dtensor y = reduce_partial(x);
  const std::size_t n = static_cast<std::size_t>(element_count(x.shape()).value);
  const std::unique_ptr<T[]> whole = std::make_unique<T[]>(n);  // a vector of bool has no bytes to copy to
  const box all = detail::whole_box(x.shape());
  y.group().for_each_rank("full_tensor", [&](int position) {
    const coordinate here = coordinates_of(y.layout().mesh, position);
    if (detail::first_holder(y.layout(), here) != here) return;
    const box held = y.local_box(position);
    copy_box(copy_between(held, all, held, static_cast<int>(sizeof(T))),
             reinterpret_cast<const std::byte*>(y.template to_local<T>(position).data()),
             reinterpret_cast<std::byte*>(whole.get()));
  });
  return std::vector<T>(whole.get(), whole.get() + n);
}

/// Whether positions that the layout gives the same block hold the same bytes. O(elements of all blocks).
bool replicas_agree(const dynamic_dtensor& x);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/conversion.ipp>
#endif
