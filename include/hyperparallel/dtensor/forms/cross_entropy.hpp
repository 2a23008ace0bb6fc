// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cross entropy of logits whose vocabulary is sharded.
//
// Each device works on its window of the classes; the row's maximum, then its Σ e^(x − max) and the logit of its label
// meet in two small all-reduces, and the logits never do (Megatron-LM, arXiv:1909.08053 §3). With R rows a device and n
// devices a row the busiest device receives all_reduce_price(n, R) + all_reduce_price(n, 2 R) elements of the computing
// type. Laws: the loss is that of the whole row but for the order of the sum; where a row is on one device, bit for
// bit. Every device of a row has it.

#include <hyperparallel/dtensor/forms/normalization.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

namespace forms {

struct cross_entropy : operations::cross_entropy {
  constexpr working_dims working(const shape* x, int) const { return detail::along_lost_dim(-1, x[0].rank); }

  template <class X, class I>
  void run_form(form_run& r) const {
    using C = kernels::computing<X>;
    // Sums in the first half of `folded`, picked logits in the second: one all-reduce for both.
    local_lists<C> largest = r.along.lists<C>(), folded = r.along.lists<C>();
    const auto view = [](local_lists<C>& l, int p, extent_t first, extent_t rows) {
      return tensor_view<C>{l[static_cast<std::size_t>(p)].data() + first, shape{rows}};
    };
    r.ranks().for_each_rank("cross_entropy", [&](int p) {
      operations::cross_entropy::check_targets<I>(r.operand[0].local(p), r.operand[1].local(p));
      const extent_t rows = volume(r.in<I>(1, p));
      largest[static_cast<std::size_t>(p)].resize(static_cast<std::size_t>(rows));
      kernels::detail::row_max(r.in<X>(0, p), view(largest, p, 0, rows));
    });
    detail::all_reduce_max(r.along, largest);
    r.ranks().for_each_rank("cross_entropy", [&](int p) {
      const extent_t rows = volume(r.in<I>(1, p));
      const const_view<X> logits = r.in<X>(0, p);
      const int classes = logits.extents.rank - 1;
      folded[static_cast<std::size_t>(p)].resize(static_cast<std::size_t>(2 * rows));
      kernels::detail::row_sum_exp(logits, view(largest, p, 0, rows), view(folded, p, 0, rows));
      kernels::detail::picked_logit(logits, r.in<I>(1, p), view(folded, p, rows, rows),
                                    r.operand[0].local_box(p).dim[classes].begin);
    });
    detail::all_reduce_sum(r.along, folded);
    r.ranks().for_each_rank("cross_entropy", [&](int p) {
      const extent_t rows = volume(r.in<I>(1, p));
      kernels::detail::cross_entropy_of_rows(view(largest, p, 0, rows), view(folded, p, 0, rows),
                                             view(folded, p, rows, rows), r.in<I>(1, p), r.out<X>(0, p));
    });
  }
};

}  // namespace forms

/// Elements that the busiest device receives, see above; labels in place.
constexpr extent_t cross_entropy_price(const layout_value& logits, const shape& s) {
  const unsigned classes = 1u << (s.rank - 1);
  const extent_t rows = detail::largest_rows(logits, s, classes);
  const int n = group_over(logits, classes).size;
  return detail::all_reduce_price(n, rows) + detail::all_reduce_price(n, 2 * rows);
}

template <dtensor_type X, dtensor_type T>
auto cross_entropy(const X& logits, const T& targets) {
  return apply_form<forms::cross_entropy{}>(logits, targets);
}

}}}  // namespace hyperparallel::v0_2::distributed
