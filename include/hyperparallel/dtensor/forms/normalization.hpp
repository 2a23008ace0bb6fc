// SPDX-License-Identifier: Apache-2.0
#pragma once
// Softmax and normalizations along dims that are sharded.
//
// Each device folds its part of a row, the folds meet in small all-reduces, and each device finishes its own part; no
// device holds a row. With R rows a device and n devices a row, all_reduce(R) = all_reduce_price(n, R), the busiest
// device receives
//   softmax, log_softmax, layer_norm   2 · all_reduce(R)   maximum, then Σ e^(x − max); sum, then Σ (x − mean)²
//   rms_norm                               all_reduce(R)   Σ x²
// elements of the computing type. Laws: results differ from the single device's by the order of the sums alone, and not
// where a row is on one device; they are the same bits in every run. The mean is known before deviations are squared.

#include <cmath>

#include <hyperparallel/dtensor/forms/typed_form.hpp>
#include <hyperparallel/dtensor/operations/normalization.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

namespace detail {

/// Rows of a block along `axis`, their elements `inner` apart.
constexpr extent_t rows_along(const kernels::detail::axis_split& s) { return s.outer * s.inner; }

template <class X, class C>
HYPERPARALLEL_EXACT void sum_exp_along(const_view<X> x, int axis, const C* largest, C* total) {
  HYPERPARALLEL_EXACT_BODY
  const kernels::detail::axis_split s = kernels::detail::split_at(x.extents, axis);
  for (extent_t o = 0; o < s.outer; ++o)
    for (extent_t i = 0; i < s.inner; ++i) {
      const X* const row = x.data + o * s.middle * s.inner + i;
      const C most = largest[o * s.inner + i];
      total[o * s.inner + i] = kernels::detail::lane_sum<C>(
          s.middle, [&](extent_t m) { return std::exp(static_cast<C>(kernels::load(row[m * s.inner])) - most); });
    }
}

/// `total` is Σ e^(x − largest).
template <bool Logarithm, class X, class C>
HYPERPARALLEL_EXACT void finish_softmax(const_view<X> x, int axis, const C* largest, const C* total,
                                        tensor_view<X> out) {
  HYPERPARALLEL_EXACT_BODY
  const kernels::detail::axis_split s = kernels::detail::split_at(x.extents, axis);
  for (extent_t o = 0; o < s.outer; ++o)
    for (extent_t m = 0; m < s.middle; ++m)
      for (extent_t i = 0; i < s.inner; ++i) {
        const extent_t at = (o * s.middle + m) * s.inner + i, row = o * s.inner + i;
        const C shifted = static_cast<C>(kernels::load(x.data[at])) - largest[row];
        out.data[at] = kernels::store<X>(Logarithm ? shifted - std::log(total[row]) : std::exp(shifted) / total[row]);
      }
}

template <bool Logarithm, class X>
void softmax_form(form_run& r, int dim) {
  using C = kernels::computing<X>;
  const int axis = rules::from_front(dim, r.result[0].shape.rank);
  local_lists<C> largest = r.along.lists<C>(), total = r.along.lists<C>();
  const auto at = [](local_lists<C>& l, int p) -> std::vector<C>& { return l[static_cast<std::size_t>(p)]; };
  r.ranks().for_each_rank("softmax", [&](int p) {
    const const_view<X> x = r.in<X>(0, p);
    const extent_t rows = rows_along(kernels::detail::split_at(x.extents, axis));
    at(largest, p).resize(static_cast<std::size_t>(rows));
    at(total, p).resize(static_cast<std::size_t>(rows));
    kernels::max(x, tensor_view<C>{at(largest, p).data(), shape{rows}}, 1u << axis);
  });
  all_reduce_max(r.along, largest);
  r.ranks().for_each_rank(
      "softmax", [&](int p) { sum_exp_along(r.in<X>(0, p), axis, at(largest, p).data(), at(total, p).data()); });
  all_reduce_sum(r.along, total);
  r.ranks().for_each_rank("softmax", [&](int p) {
    finish_softmax<Logarithm>(r.in<X>(0, p), axis, at(largest, p).data(), at(total, p).data(), r.out<X>(0, p));
  });
}

/// A block as rows over its trailing normalized dims.
struct row_split {
  extent_t rows = 1, width = 1;
};
constexpr row_split split_rows(const shape& s, int normalized) {
  row_split r;
  for (int d = 0; d < s.rank; ++d) (d < s.rank - normalized ? r.rows : r.width) *= s.extent[d];
  return r;
}

/// Σ (x − centre)² of each row, or Σ x² without centres.
template <class X, class C>
HYPERPARALLEL_EXACT void sum_squares(const X* x, const row_split& s, const C* centre, C* sum) {
  HYPERPARALLEL_EXACT_BODY
  for (extent_t r = 0; r < s.rows; ++r)
    sum[r] = kernels::detail::lane_sum<C>(s.width, [&](extent_t i) {
      const C value = static_cast<C>(kernels::load(x[r * s.width + i]));
      const C away = centre == nullptr ? value : value - centre[r];
      return away * away;
    });
}

/// (x − centre) · scale · weight + bias; `centre`, `bias` may be null.
template <class X, class C>
HYPERPARALLEL_EXACT void finish_norm(const X* x, const row_split& s, const C* centre, const C* scale, const X* weight,
                                     const X* bias, X* out) {
  HYPERPARALLEL_EXACT_BODY
  for (extent_t r = 0; r < s.rows; ++r)
    for (extent_t i = 0; i < s.width; ++i) {
      C value = static_cast<C>(kernels::load(x[r * s.width + i]));
      if (centre != nullptr) value -= centre[r];
      value *= scale[r];
      value *= static_cast<C>(kernels::load(weight[i]));
      if (bias != nullptr) value += static_cast<C>(kernels::load(bias[i]));
      out[r * s.width + i] = kernels::store<X>(value);
    }
}

/// The norm of operand 0 over the dims of operand 1, with operand 2 as bias where there is one. `root` is called with
/// each position and its rows' scales.
template <class X, class Root>
void norm_form(form_run& r, bool centred, double epsilon, const Root& root) {
  using C = kernels::computing<X>;
  const int normalized = r.operand[1].shape().rank;
  const C width = static_cast<C>(split_rows(r.operand[0].shape(), normalized).width);
  local_lists<C> centre = r.along.lists<C>(), scale = r.along.lists<C>();
  const auto split = [&](int p) { return split_rows(r.in<X>(0, p).extents, normalized); };
  const auto rows = [&](local_lists<C>& l, int p) {
    l[static_cast<std::size_t>(p)].resize(static_cast<std::size_t>(split(p).rows));
    return l[static_cast<std::size_t>(p)].data();
  };
  if (centred) {
    r.ranks().for_each_rank("norm", [&](int p) {
      const row_split s = split(p);
      const X* const x = r.in<X>(0, p).data;
      C* const to = rows(centre, p);
      for (extent_t row = 0; row < s.rows; ++row)
        to[row] = kernels::detail::lane_sum<C>(
            s.width, [&](extent_t i) { return static_cast<C>(kernels::load(x[row * s.width + i])); });
    });
    all_reduce_sum(r.along, centre);
  }
  r.ranks().for_each_rank("norm", [&](int p) {
    C* const mean = centred ? rows(centre, p) : nullptr;
    for (extent_t row = 0; centred && row < split(p).rows; ++row) mean[row] /= width;
    sum_squares(r.in<X>(0, p).data, split(p), mean, rows(scale, p));
  });
  all_reduce_sum(r.along, scale);
  r.ranks().for_each_rank("norm", [&](int p) {
    const row_split s = split(p);
    C* const by = rows(scale, p);
    for (extent_t row = 0; row < s.rows; ++row) by[row] = C(1) / std::sqrt(by[row] / width + static_cast<C>(epsilon));
    finish_norm(r.in<X>(0, p).data, s, centred ? rows(centre, p) : nullptr, by, r.in<X>(1, p).data,
                r.operand.size() > 2 ? r.in<X>(2, p).data : nullptr, r.out<X>(0, p).data);
    root(p, s.rows, by);
  });
}

/// A dim of the first operand that no result has as it was.
constexpr working_dims along_lost_dim(int dim, int rank) {
  working_dims w;
  w.operand[0] = 1u << rules::from_front(dim, rank);
  return w;
}

constexpr working_dims along_dim(int dim, int rank) {
  working_dims w = along_lost_dim(dim, rank);
  w.result[0] = w.operand[0];
  return w;
}

constexpr working_dims along_last(const shape* x, int count) {
  working_dims w;
  const int leading = x[0].rank - x[1].rank;
  w.operand[0] = w.result[0] = ((1u << x[0].rank) - 1u) & ~((1u << leading) - 1u);
  for (int o = 1; o < count; ++o) {
    w.operand[o] = (1u << x[1].rank) - 1u;
    w.offset[o] = leading;
  }
  return w;
}

/// Rows of the largest block of a device, over dims that are not in `dims`.
constexpr extent_t largest_rows(const layout_value& l, const shape& s, unsigned dims) {
  const shape local = local_shape(l, s).shape;
  extent_t n = 1;
  for (int d = 0; d < s.rank; ++d)
    if ((dims >> d & 1u) == 0) n *= local.extent[d];
  return n;
}

}  // namespace detail

namespace forms {

struct softmax : operations::softmax {
  constexpr working_dims working(const shape* x, int) const { return detail::along_dim(dim, x[0].rank); }
  template <class X>
  void run_form(form_run& r) const {
    detail::softmax_form<false, X>(r, dim);
  }
};

struct log_softmax : operations::log_softmax {
  constexpr working_dims working(const shape* x, int) const { return detail::along_dim(dim, x[0].rank); }
  template <class X>
  void run_form(form_run& r) const {
    detail::softmax_form<true, X>(r, dim);
  }
};

struct layer_norm : operations::layer_norm {
  constexpr working_dims working(const shape* x, int count) const { return detail::along_last(x, count); }
  template <class X, class...>
  void run_form(form_run& r) const {
    detail::norm_form<X>(r, true, epsilon, [](int, extent_t, const auto*) {});
  }
};

struct rms_norm : operations::rms_norm {
  constexpr working_dims working(const shape* x, int count) const { return detail::along_last(x, count); }
  template <class X, class...>
  void run_form(form_run& r) const {
    using C = kernels::computing<X>;
    detail::norm_form<X>(r, false, epsilon, [&r](int p, extent_t rows, const C* scale) {
      for (extent_t row = 0; row < rows; ++row) r.out<C>(1, p).data[row] = scale[row];
    });
  }
};

}  // namespace forms

/// Elements that the busiest device receives, see above. `dims`: those that are normalized, as bits.
constexpr extent_t softmax_price(const layout_value& x, const shape& s, unsigned dims) {
  return 2 * detail::all_reduce_price(group_over(x, dims).size, detail::largest_rows(x, s, dims));
}
namespace detail {

constexpr extent_t layer_norm_price(const layout_value& x, const shape& s, unsigned dims) {
  return softmax_price(x, s, dims);
}
constexpr extent_t rms_norm_price(const layout_value& x, const shape& s, unsigned dims) {
  return softmax_price(x, s, dims) / 2;
}

}  // namespace detail

template <int Dim = -1, dtensor_type X>
auto softmax(const X& x) {
  return apply_form<forms::softmax{{Dim}}>(x);
}
template <int Dim = -1, dtensor_type X>
auto log_softmax(const X& x) {
  return apply_form<forms::log_softmax{{Dim}}>(x);
}
template <dtensor_type X, dtensor_type W>
auto layer_norm(const X& x, const W& weight, double epsilon = 1e-5) {
  return apply_form_as<forms::layer_norm{}>(forms::layer_norm{{epsilon}}, x, weight);
}
template <dtensor_type X, dtensor_type W, dtensor_type B>
auto layer_norm(const X& x, const W& weight, const B& bias, double epsilon = 1e-5) {
  return apply_form_as<forms::layer_norm{}>(forms::layer_norm{{epsilon}}, x, weight, bias);
}
template <dtensor_type X, dtensor_type W>
auto rms_norm(const X& x, const W& weight, double epsilon = 1e-6) {
  return std::get<0>(apply_form_as<forms::rms_norm{}>(forms::rms_norm{{epsilon}}, x, weight));
}

}}}  // namespace hyperparallel::v0_2::distributed
