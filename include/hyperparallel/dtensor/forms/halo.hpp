// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators that read near a point along dims that are sharded: roll, pad, slice, convolution.
//
// Each device works out which boxes of the operand its part of the result reads, takes what it does not hold from the
// devices of its row, and works on that alone; mostly these are the borders of its neighbours. The busiest device
// receives max over devices of Σ |wanted ∖ own| elements, over the boxes that it wants: of a roll by s, min(s mod n,
// block); of a convolution, dilation · (window − 1) elements a row where strides are 1. Laws: results are the single
// device's, bit for bit; a result is sharded as the operand is, so its extent has to divide, or the dim is padded.

#include <hyperparallel/dtensor/forms/normalization.hpp>
#include <hyperparallel/dtensor/operations/convolution.hpp>
#include <hyperparallel/dtensor/operations/movement.hpp>
#include <hyperparallel/operators/rules/movement.hpp>
#include <hyperparallel/operators/rules/slicing.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

/// A box of the operand that a device wants, and the box, in the operand's places, that the memory it comes to stands
/// for.
struct wanted_box {
  box part{};
  box memory{};
};

/// At most two: a roll may wrap.
struct wanted_boxes {
  int count = 0;
  wanted_box at[2] = {};
};

namespace detail {

/// Dims of the first operand that need a halo by the rule.
constexpr unsigned halo_dims(const factor_rule& rule) {
  unsigned dims = 0;
  const tensor_factors& t = rule.operand[0];
  for (int d = 0; d < t.rank; ++d)
    for (int i = t.first[d]; i < t.first[d + 1]; ++i)
      if (rule.factor[t.term[i]].kind == factor_kind::permutation) dims |= 1u << d;
  return dims;
}

constexpr interval shifted(const interval& i, extent_t by) { return {i.begin + by, i.end + by}; }
constexpr interval within(const interval& i, extent_t n) {
  const extent_t begin = smaller(n, larger(extent_t{0}, i.begin));
  return {begin, larger(begin, smaller(n, i.end))};
}

/// Copies `want.part` of operand 0 to memory that stands for `want.memory`, from the devices that hold it.
template <class X>
void fetch(const form_run& r, int position, const wanted_box& want, X* to) {
  const piece_group& g = r.along.pieces;
  for (int i = 0; i < g.size; ++i) {
    const int holder = member_of(g, position, i);
    const box held = r.operand[0].local_box(holder), part = intersection(held, want.part);
    if (volume(part) == 0) continue;
    r.along.receive(position, holder, volume(part), sizeof(X));
    copy_box(copy_between(held, want.memory, part, static_cast<int>(sizeof(X))), r.operand[0].data(holder),
             reinterpret_cast<std::byte*>(to));
  }
}

/// Results that are nothing but elements of the operand: taken straight to their places.
template <class X, class Form>
void move_halo(const Form& form, form_run& r) {
  r.ranks().for_each_rank("halo", [&](int p) {
    const shape s[] = {r.operand[0].shape()};
    const wanted_boxes w = form.wanted(s, r.operand[0].local_box(p), r.place(0, p));
    for (int i = 0; i < w.count; ++i) fetch(r, p, w.at[i], r.out<X>(0, p).data);
  });
}

/// Calls `work(position, view of the box that is wanted, where it begins)`.
template <class X, class Form, class Work>
void work_on_halo(const Form& form, form_run& r, const Work& work) {
  r.ranks().for_each_rank("halo", [&](int p) {
    std::vector<shape> s;
    for (const dynamic_dtensor& x : r.operand) s.push_back(x.shape());
    const wanted_box w = form.wanted(s.data(), r.operand[0].local_box(p), r.place(0, p)).at[0];
    const std::unique_ptr<X[]> part = std::make_unique<X[]>(static_cast<std::size_t>(volume(w.part)));
    fetch(r, p, w, part.get());
    work(p, const_view<X>{part.get(), hyperparallel::detail::shape_of(w.part)}, w.part);
  });
}

}  // namespace detail

namespace forms {

struct roll : operations::roll {
  constexpr working_dims working(const shape* x, int) const { return detail::along_dim(dim, x[0].rank); }
  constexpr wanted_boxes wanted(const shape* x, const box& own, const box& out) const {
    wanted_boxes w;
    const int d = rules::from_front(dim, x[0].rank);
    const extent_t n = x[0].extent[d], first = n == 0 ? 0 : ((out.dim[d].begin - shift) % n + n) % n;
    const extent_t length = out.dim[d].end - out.dim[d].begin;
    for (w.count = 0; w.count < 2; ++w.count) {
      wanted_box& b = w.at[w.count];
      b.part = b.memory = own;
      b.memory.dim[d] = detail::shifted({0, length}, first - w.count * n);
      b.part.dim[d] = detail::within(b.memory.dim[d], n);
    }
    return w;
  }
  template <class X>
  void run_form(form_run& r) const {
    detail::move_halo<X>(*this, r);
  }
};

/// Zeros before and after.
struct pad : operations::pad {
  constexpr working_dims working(const shape* x, int count) const {
    working_dims w;
    w.operand[0] = w.result[0] = detail::halo_dims(rule(x, count).rule);
    return w;
  }
  constexpr wanted_boxes wanted(const shape* x, const box&, const box& out) const {
    wanted_boxes w;
    w.count = 1;
    w.at[0].part = w.at[0].memory = out;
    for (int d = 0; d < out.rank; ++d) {
      w.at[0].memory.dim[d] = detail::shifted(out.dim[d], -before.extent[d]);
      w.at[0].part.dim[d] = detail::within(w.at[0].memory.dim[d], x[0].extent[d]);
    }
    return w;
  }
  template <class X>
  void run_form(form_run& r) const {
    detail::move_halo<X>(*this, r);
  }
};

struct slice_dim : operations::slice_dim {
  constexpr working_dims working(const shape* x, int) const { return detail::along_dim(dim, x[0].rank); }
  constexpr wanted_boxes wanted(const shape* x, const box& own, const box& out) const {
    wanted_boxes w;
    w.count = 1;
    const int d = rules::from_front(dim, x[0].rank);
    const extent_t first = rules::take(x[0].extent[d], begin, end, step).begin;
    const interval places = out.dim[d];
    w.at[0].part = own;
    w.at[0].part.dim[d] = detail::within(
        {first + places.begin * step, places.begin < places.end ? first + (places.end - 1) * step + 1 : 0},
        x[0].extent[d]);
    w.at[0].memory = w.at[0].part;
    return w;
  }
  template <class X>
  void run_form(form_run& r) const {
    detail::work_on_halo<X>(*this, r, [&](int p, const const_view<X>& x, const box&) {
      extent_t from[max_dims] = {}, by[max_dims] = {1, 1, 1, 1, 1, 1, 1, 1};
      by[rules::from_front(dim, x.extents.rank)] = step;
      kernels::slice(x, r.out<X>(0, p), from, by);
    });
  }
};

struct convolution : operations::convolution {
  constexpr working_dims working(const shape* x, int) const {
    working_dims w;
    w.operand[0] = w.result[0] = ((1u << x[0].rank) - 1u) & ~0b11u;
    return w;
  }
  constexpr wanted_boxes wanted(const shape* x, const box& own, const box& out) const {
    wanted_boxes w;
    w.count = 1;
    w.at[0].part = own;
    for (int d = 2; d < own.rank; ++d) {
      const rules::convolution_window& o = options.window[d - 2];
      const interval places = out.dim[d];
      const extent_t reach = o.dilation * (x[1].extent[d] - 1) + 1;
      w.at[0].part.dim[d] =
          detail::within({places.begin * o.stride - o.before,
                          places.begin < places.end ? (places.end - 1) * o.stride - o.before + reach : 0},
                         x[0].extent[d]);
    }
    w.at[0].memory = w.at[0].part;
    return w;
  }
  template <class X, class...>
  void run_form(form_run& r) const {
    detail::work_on_halo<X>(*this, r, [&](int p, const const_view<X>& x, const box& part) {
      const const_view<X> weights = r.in<X>(1, p);
      const box out = r.place(0, p);
      kernels::convolution_options o;
      o.groups = weights.extents.extent[1] == 0 ? 1 : x.extents.extent[1] / weights.extents.extent[1];
      for (int d = 2; d < part.rank; ++d) {
        const rules::convolution_window& w = options.window[d - 2];
        o.stride[d - 2] = w.stride;
        o.dilation[d - 2] = w.dilation;
        o.padding[d - 2] = part.dim[d].begin - (out.dim[d].begin * w.stride - w.before);
      }
      kernels::convolution(x, weights, r.operand.size() > 2 ? r.in<X>(2, p) : const_view<X>{}, r.out<X>(0, p), o);
    });
  }
};

}  // namespace forms

namespace detail {

/// Elements that the busiest device receives, see above. `x`: layouts of operands; O(positions).
template <class Form>
constexpr extent_t halo_price(const Form& form, const layout_value* const* x, const shape* s, int count) {
  const factor_rule rule = form.rule(s, count).rule;
  const form_layouts placed = lay_out(rule, form.working(s, count), x, count);
  const shape result = result_shape(rule, s, count, 0).shape;
  extent_t most = 0;
  for (int position = 0; position < position_count(x[0]->mesh); ++position) {
    const coordinate c = coordinates_of(x[0]->mesh, position);
    const box own = slice_at(placed.operand[0], s[0], c);
    const wanted_boxes w = form.wanted(s, own, slice_at(placed.result[0], result, c));
    extent_t n = 0;
    for (int i = 0; i < w.count; ++i) n += volume(w.at[i].part) - volume(intersection(w.at[i].part, own));
    most = larger(most, n);
  }
  return most;
}

}  // namespace detail

template <int Dim, dtensor_type X>
auto roll(const X& x, extent_t shift) {
  return apply_form_as<forms::roll{{Dim}}>(forms::roll{{Dim, shift}}, x);
}
/// `Before` and `After`: zeros more along each dim.
template <shape Before, shape After, dtensor_type X>
auto pad(const X& x) {
  return apply_form<forms::pad{{Before, After}}>(x);
}
template <int Dim, extent_t Begin, extent_t End, extent_t Step = 1, dtensor_type X>
auto slice_dim(const X& x) {
  return apply_form<forms::slice_dim{{Dim, Begin, End, Step}}>(x);
}
template <rules::convolution_options Options = rules::convolution_options{}, dtensor_type X, dtensor_type... Weights>
auto convolution(const X& x, const Weights&... weights) {
  return apply_form<forms::convolution{{Options}}>(x, weights...);
}

}}}  // namespace hyperparallel::v0_2::distributed
