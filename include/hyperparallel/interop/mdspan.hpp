// SPDX-License-Identifier: Apache-2.0
#pragma once
// Views of the library as std::mdspan and the other way round, where the standard library has it (C++23: libc++ 18,
// libstdc++ 15); elsewhere this header is strided_view.hpp, which reads elements by the same indices.
//
//   auto m = hp::interop::as_mdspan<2>(block);        // std::mdspan<T, std::dextents<extent_t, 2>>, row-major
//   auto n = hp::interop::as_mdspan<2>(strided);      // with std::layout_stride
//   hp::interop::view_of(m)                           // tensor_view of a row-major one, strided_view of any other
//
// Laws: data, extents and strides are the same; view_of(as_mdspan<R>(v)) is v. The rank is a constant of the type, and
// exchange_error, dims_differ, names both where it is not that of the view.

#include <version>

#include <hyperparallel/interop/strided_view.hpp>

#ifdef __cpp_lib_mdspan

#include <array>
#include <cstddef>
#include <mdspan>
#include <string>
#include <type_traits>

namespace hyperparallel { inline namespace v0_2 { namespace interop {

namespace detail {

template <int Rank>
std::array<extent_t, static_cast<std::size_t>(Rank)> listed(const shape& s, const extent_t (&numbers)[max_dims]) {
  if (s.rank != Rank)
    throw exchange_error(exchange_code::dims_differ,
                         "a view of " + std::to_string(s.rank) + " dims as an mdspan of " + std::to_string(Rank));
  std::array<extent_t, static_cast<std::size_t>(Rank)> out{};
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = numbers[d];
  return out;
}

template <class Extents>
shape shape_of_extents(const Extents& e) {
  static_assert(Extents::rank() <= static_cast<std::size_t>(max_dims), "a tensor has at most 8 dims");
  shape s;
  s.rank = static_cast<int>(Extents::rank());
  for (std::size_t d = 0; d < Extents::rank(); ++d) s.extent[d] = static_cast<extent_t>(e.extent(d));
  return s;
}

}  // namespace detail

template <int Rank, class T>
std::mdspan<T, std::dextents<extent_t, static_cast<std::size_t>(Rank)>> as_mdspan(const tensor_view<T>& v) {
  return {v.data, detail::listed<Rank>(v.extents, v.extents.extent)};
}

template <int Rank, class T>
std::mdspan<T, std::dextents<extent_t, static_cast<std::size_t>(Rank)>, std::layout_stride> as_mdspan(
    const strided_view<T>& v) {
  using extents = std::dextents<extent_t, static_cast<std::size_t>(Rank)>;
  return {v.data, std::layout_stride::mapping<extents>(extents(detail::listed<Rank>(v.extents, v.extents.extent)),
                                                       detail::listed<Rank>(v.extents, v.steps.along))};
}

/// Row-major without gaps by its type.
template <class T, class Extents>
tensor_view<T> view_of(const std::mdspan<T, Extents, std::layout_right>& m) {
  return {m.data_handle(), detail::shape_of_extents(m.extents())};
}

/// In strides by its type: layout_stride, layout_left and a user's own.
template <class T, class Extents, class Layout>
  requires(!std::is_same_v<Layout, std::layout_right> && std::mdspan<T, Extents, Layout>::is_always_strided())
strided_view<T> view_of(const std::mdspan<T, Extents, Layout>& m) {
  strided_view<T> v{m.data_handle(), detail::shape_of_extents(m.extents()), {}};
  for (std::size_t d = 0; d < Extents::rank(); ++d) v.steps.along[d] = static_cast<extent_t>(m.stride(d));
  return v;
}

}}}  // namespace hyperparallel::v0_2::interop

#endif
