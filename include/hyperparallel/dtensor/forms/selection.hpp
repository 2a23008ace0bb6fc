// SPDX-License-Identifier: Apache-2.0
#pragma once
// The largest elements along a dim that is sharded, with their places in the whole.
//
// Each device finds the candidates of its block, tells their places in the whole dim, and only candidates meet. With R
// rows a device, n devices a row and e elements of a row in the largest block, the busiest device receives
//   max_with_index, argmax   all_reduce_price(n, R) candidates
//   topk                     at most (n − 1) · min(k, e) · R candidates
// of an element and a 64-bit place. Laws: results are the single device's exactly, ties to the lowest place and NaN
// above every number; every device of a row has them; k may exceed a block.

#include <limits>

#include <hyperparallel/dtensor/forms/normalization.hpp>
#include <hyperparallel/dtensor/operations/ordering.hpp>
#include <hyperparallel/dtensor/operations/reduction.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

/// An element and its place in the whole dim; -1 of an empty block.
template <class X>
struct candidate {
  X value{};
  std::int64_t place = -1;
};

namespace detail {

/// The better of two, where the places of `b` lie behind those of `a`.
template <class X>
candidate<X> better(const candidate<X>& a, const candidate<X>& b) {
  if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
  const auto x = kernels::load(a.value), y = kernels::load(b.value);
  return x == x && (x < y || y != y) ? b : a;
}

/// The best candidate of every row, on every device.
template <class X>
local_lists<candidate<X>> best_of_rows(const form_run& r, int axis) {
  local_lists<candidate<X>> best = r.along.lists<candidate<X>>();
  r.ranks().for_each_rank("max_with_index", [&](int p) {
    const const_view<X> x = r.in<X>(0, p);
    const kernels::detail::axis_split s = kernels::detail::split_at(x.extents, axis);
    std::vector<candidate<X>>& list = best[static_cast<std::size_t>(p)];
    list.resize(static_cast<std::size_t>(rows_along(s)));
    if (s.middle == 0) return;
    const shape rows{rows_along(s)};
    std::vector<std::int64_t> place(list.size());
    kernels::argmax(x, tensor_view<std::int64_t>{place.data(), rows}, axis);
    const extent_t begin = r.operand[0].local_box(p).dim[axis].begin;
    for (std::size_t row = 0; row < list.size(); ++row) {
      const extent_t i = static_cast<extent_t>(row);
      list[row] = {x.data[(i / s.inner * s.middle + place[row]) * s.inner + i % s.inner], begin + place[row]};
    }
  });
  all_reduce(r.along, best, better<X>);
  return best;
}

/// `kept` candidates of each row of a block, best first, with places from `begin`; [outer, kept, inner].
template <class X>
std::vector<candidate<X>> best_of_block(const_view<X> x, int axis, extent_t kept, extent_t begin) {
  shape s = x.extents;
  s.extent[axis] = kept;
  const std::size_t n = static_cast<std::size_t>(element_count(s).value);
  const std::unique_ptr<X[]> value = std::make_unique<X[]>(n);
  std::vector<std::int64_t> place(n);
  kernels::topk(x, tensor_view<X>{value.get(), s}, tensor_view<std::int64_t>{place.data(), s}, axis);
  std::vector<candidate<X>> list(n);
  for (std::size_t i = 0; i < n; ++i) list[i] = {value[i], begin + place[i]};
  return list;
}

}  // namespace detail

namespace forms {

struct max_with_index : operations::max_with_index {
  constexpr working_dims working(const shape* x, int) const { return detail::along_lost_dim(dim, x[0].rank); }
  template <class X>
  void run_form(form_run& r) const {
    const auto best = detail::best_of_rows<X>(r, rules::from_front(dim, r.operand[0].shape().rank));
    r.ranks().for_each_rank("max_with_index", [&](int p) {
      const auto& list = best[static_cast<std::size_t>(p)];
      for (std::size_t row = 0; row < list.size(); ++row) {
        if (list[row].place < 0) continue;  // the whole dim is empty
        r.out<X>(0, p).data[row] = list[row].value;
        r.out<std::int64_t>(1, p).data[row] = list[row].place;
      }
    });
  }
};

struct topk : operations::topk {
  constexpr working_dims working(const shape* x, int) const { return detail::along_lost_dim(dim, x[0].rank); }
  template <class X>
  void run_form(form_run& r) const {
    const int axis = rules::from_front(dim, r.operand[0].shape().rank);
    local_lists<candidate<X>> best = r.along.lists<candidate<X>>();
    r.ranks().for_each_rank("topk", [&](int p) {
      const const_view<X> x = r.in<X>(0, p);
      best[static_cast<std::size_t>(p)] = detail::best_of_block(x, axis, smaller(count, x.extents.extent[axis]),
                                                                r.operand[0].local_box(p).dim[axis].begin);
    });
    r.ranks().for_each_rank("topk", [&](int p) { merge(r, p, axis, best); });
  }

 private:
  /// Candidates of all blocks side by side, [outer, pieces · kept, inner], in rising order of place among equals: the
  /// best of them are the best of all.
  template <class X>
  void merge(const form_run& r, int p, int axis, const local_lists<candidate<X>>& best) const {
    const kernels::detail::axis_split s = kernels::detail::split_at(r.in<X>(0, p).extents, axis);
    const extent_t rows = detail::rows_along(s);
    if (rows == 0) return;
    const piece_group& g = r.along.pieces;
    extent_t all = 0;
    for (int i = 0; i < g.size; ++i)
      all += static_cast<extent_t>(best[static_cast<std::size_t>(detail::member_of(g, p, i))].size()) / rows;
    const std::size_t n = static_cast<std::size_t>(all * rows);
    const std::unique_ptr<X[]> value = std::make_unique<X[]>(n);
    std::vector<std::int64_t> place(n);
    extent_t first = 0;
    for (int i = 0; i < g.size; ++i) {
      const std::vector<candidate<X>>& list = r.along.read(best, p, detail::member_of(g, p, i));
      const extent_t kept = static_cast<extent_t>(list.size()) / rows;
      for (extent_t o = 0; o < s.outer; ++o)
        for (extent_t at = 0; at < kept * s.inner; ++at) {
          const std::size_t to = static_cast<std::size_t>((o * all + first) * s.inner + at);
          const candidate<X>& c = list[static_cast<std::size_t>(o * kept * s.inner + at)];
          value[to] = c.value;
          place[to] = c.place;
        }
      first += kept;
    }
    const shape whole{s.outer, all, s.inner}, chosen{s.outer, count, s.inner};
    const tensor_view<std::int64_t> index{r.out<std::int64_t>(1, p).data, chosen};
    kernels::topk(const_view<X>{value.get(), whole}, tensor_view<X>{r.out<X>(0, p).data, chosen}, index, 1);
    for (extent_t row = 0; row < volume(index); ++row) {
      const extent_t o = row / (count * s.inner), i = row % s.inner;
      index.data[row] = place[static_cast<std::size_t>((o * all + index.data[row]) * s.inner + i)];
    }
  }
};

}  // namespace forms

namespace detail {

/// Candidates that the busiest device receives, see above.
constexpr extent_t max_with_index_price(const layout_value& x, const shape& s, int dim) {
  const unsigned dims = 1u << rules::from_front(dim, s.rank);
  return all_reduce_price(group_over(x, dims).size, detail::largest_rows(x, s, dims));
}
constexpr extent_t topk_price(const layout_value& x, const shape& s, int dim, extent_t count) {
  const int axis = rules::from_front(dim, s.rank);
  return (group_over(x, 1u << axis).size - 1) * smaller(count, local_shape(x, s).shape.extent[axis]) *
         detail::largest_rows(x, s, 1u << axis);
}

}  // namespace detail

/// A tuple of the largest elements along a dim, which vanishes, and their places.
template <int Dim = -1, dtensor_type X>
auto max_with_index(const X& x) {
  return apply_form<forms::max_with_index{{.dim = Dim}}>(x);
}
template <int Dim = -1, dtensor_type X>
auto argmax(const X& x) {
  return std::get<1>(distributed::max_with_index<Dim>(x));
}
/// A tuple of the largest elements and their places.
template <extent_t Count, int Dim = -1, dtensor_type X>
auto topk(const X& x) {
  return apply_form<forms::topk{{Count, Dim}}>(x);
}

}}}  // namespace hyperparallel::v0_2::distributed
