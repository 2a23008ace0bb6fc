// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running sums and products along a dim that is sharded.
//
// Each device folds its block's rows, folds the totals of the blocks before its own, in their order, and runs on from
// there. With R rows a device and n devices a row the busiest device, the last of a row, receives (n − 1) · R totals in
// one step, in the computing type. (A chain would receive R in n − 1 steps.) Laws: integers wrap as on one device, so
// their results are the single device's; floats differ by the order of the sums, and not where a row is on one device.

#include <hyperparallel/dtensor/forms/normalization.hpp>
#include <hyperparallel/dtensor/operations/ordering.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

namespace detail {

/// Runs along `axis` from `before` of each row, or from nothing where that is null.
template <class Function, class X, class C>
HYPERPARALLEL_EXACT void run_from(const C* before, const_view<X> x, tensor_view<X> out, int axis) {
  HYPERPARALLEL_EXACT_BODY
  const kernels::detail::axis_split s = kernels::detail::split_at(x.extents, axis);
  for (extent_t o = 0; o < s.outer; ++o)
    for (extent_t i = 0; i < s.inner; ++i) {
      C running = before == nullptr ? C{} : before[o * s.inner + i];
      for (extent_t m = 0; m < s.middle; ++m) {
        const extent_t at = (o * s.middle + m) * s.inner + i;
        const C value = static_cast<C>(kernels::load(x.data[at]));
        running = m == 0 && before == nullptr ? value : static_cast<C>(Function::of(running, value));
        out.data[at] = kernels::store<X>(running);
      }
    }
}

template <class Fold, class X>
void scan_form(form_run& r, int dim) {
  using C = kernels::computing<X>;
  const int axis = rules::from_front(dim, r.result[0].shape.rank);
  local_lists<C> total = r.along.lists<C>();
  r.ranks().for_each_rank("scan", [&](int p) {
    const const_view<X> x = r.in<X>(0, p);
    std::vector<C>& list = total[static_cast<std::size_t>(p)];
    list.resize(static_cast<std::size_t>(rows_along(kernels::detail::split_at(x.extents, axis))));
    kernels::detail::fold<Fold>(x, tensor_view<C>{list.data(), {}}, 1u << axis);
  });
  r.ranks().for_each_rank("scan", [&](int p) {
    const int piece = piece_of(r.along.pieces, p);
    std::vector<C> before;
    for (int i = 0; i < piece; ++i) {
      const std::vector<C>& term = r.along.read(total, p, member_of(r.along.pieces, p, i));
      if (i == 0) before = term;
      for (std::size_t row = 0; i > 0 && row < term.size(); ++row)
        before[row] = static_cast<C>(Fold::of(before[row], term[row]));
    }
    run_from<Fold>(piece == 0 ? nullptr : before.data(), r.in<X>(0, p), r.out<X>(0, p), axis);
  });
}

}  // namespace detail

namespace forms {

struct cumsum : operations::cumsum {
  constexpr working_dims working(const shape* x, int) const { return detail::along_dim(dim, x[0].rank); }
  template <class X>
  void run_form(form_run& r) const {
    detail::scan_form<kernels::detail::fold_sum, X>(r, dim);
  }
};

struct cumprod : operations::cumprod {
  constexpr working_dims working(const shape* x, int) const { return detail::along_dim(dim, x[0].rank); }
  template <class X>
  void run_form(form_run& r) const {
    detail::scan_form<kernels::detail::fold_product, X>(r, dim);
  }
};

}  // namespace forms

namespace detail {

/// Elements that the busiest device receives: (n − 1) · R.
constexpr extent_t scan_price(const layout_value& x, const shape& s, int dim) {
  const unsigned dims = 1u << rules::from_front(dim, s.rank);
  return (group_over(x, dims).size - 1) * detail::largest_rows(x, s, dims);
}

}  // namespace detail

template <int Dim = -1, dtensor_type X>
auto cumsum(const X& x) {
  return apply_form<forms::cumsum{{Dim}}>(x);
}
template <int Dim = -1, dtensor_type X>
auto cumprod(const X& x) {
  return apply_form<forms::cumprod{{Dim}}>(x);
}

}}}  // namespace hyperparallel::v0_2::distributed
