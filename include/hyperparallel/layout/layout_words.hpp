// SPDX-License-Identifier: Apache-2.0
#pragma once
// A layout as an error line shows it: `placed_layout<mesh, 3192>` reads
//
//   mapped<mesh, alias<'d', 'p'>, alias<'t', 'p'>>
//
// one entry a dim, then the partial axes. Law: layouts with equal words on one mesh are equal.

#include <hyperparallel/layout/layout.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class Mesh, class... Entries>
struct mapped {};
/// The dim is held whole.
struct whole {};
namespace detail {

/// Several axes on one dim, the first outermost.
template <class... Aliases>
struct axes_in_order {};
template <class... Aliases>
struct padded_over {};

}  // namespace detail
template <class Alias, reduce_op Op>
struct partial_over {};

namespace detail {

template <class... Entries>
struct entry_list {};
template <class A, class B>
struct joined_entries;
template <class... A, class... B>
struct joined_entries<entry_list<A...>, entry_list<B...>> {
  using type = entry_list<A..., B...>;
};

template <class Layout>
struct layout_words {
  static constexpr layout_value value = Layout::value;
  using mesh = typename Layout::mesh;
  template <int Axis>
  using name = spelled<alias, typename blamed_axis<mesh>::template of<Axis>>;

  static constexpr int first_of(int dim) {
    int i = 0;
    while (i < value.cut_count && value.cut[i].dim < dim) ++i;
    return i;
  }
  template <int Dim, bool Padded, class Indices>
  struct dim_entry;
  template <int Dim, bool Padded>
  struct dim_entry<Dim, Padded, indices<>> {
    using type = whole;
  };
  template <int Dim>
  struct dim_entry<Dim, false, indices<0>> {
    using type = name<value.cut[first_of(Dim)].axis>;
  };
  template <int Dim, int First, int Second, int... I>
  struct dim_entry<Dim, false, indices<First, Second, I...>> {
    using type = axes_in_order<name<value.cut[first_of(Dim)].axis>, name<value.cut[first_of(Dim) + 1].axis>,
                               name<value.cut[first_of(Dim) + I].axis>...>;
  };
  template <int Dim, int First, int... I>
  struct dim_entry<Dim, true, indices<First, I...>> {
    using type = padded_over<name<value.cut[first_of(Dim)].axis>, name<value.cut[first_of(Dim) + I].axis>...>;
  };
  template <int Dim>
  using entry = typename dim_entry<Dim, is_padded(value, Dim),
                                   typename make_indices<first_of(Dim + 1) - first_of(Dim)>::type>::type;

  template <int Axis, bool Partial = value.partial[Axis] != reduce_op::none>
  struct axis_entry {
    using type = entry_list<>;
  };
  template <int Axis>
  struct axis_entry<Axis, true> {
    using type = entry_list<partial_over<name<Axis>, value.partial[Axis]>>;
  };

  template <class Dims, class Entries>
  struct with_dims;
  template <int... Dim, class... Partial>
  struct with_dims<indices<Dim...>, entry_list<Partial...>> {
    using type = mapped<mesh, entry<Dim>..., Partial...>;
  };
  template <int Axis, class Entries>
  struct partial_from
      : partial_from<Axis + 1, typename joined_entries<Entries, typename axis_entry<Axis>::type>::type> {};
  template <class Entries>
  struct partial_from<mesh::value.shape.axis_count, Entries> {
    using type = Entries;
  };
  using type =
      typename with_dims<typename make_indices<value.rank>::type, typename partial_from<0, entry_list<>>::type>::type;
};

template <class Layout>
using in_words = typename detail::layout_words<Layout>::type;

}  // namespace detail

}}  // namespace hyperparallel::v0_2
