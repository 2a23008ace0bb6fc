// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention with keys and values whose sequence is sharded, carried out in the way that attention_plan.hpp chooses.
//
// Queries may be sharded along batch, heads and sequence, keys and values too; masks compare places in the whole
// sequence. Laws: the result is the single device's up to the rounding of the merges, the same bits in every run and on
// every device that holds it; where the sequence of the keys is whole, or spread over heads, it is the single device's,
// bit for bit. Partial results of blocks are kept in the computing type and rounded once.

#include <limits>

#include <hyperparallel/dtensor/forms/attention_plan.hpp>
#include <hyperparallel/dtensor/forms/form.hpp>
#include <hyperparallel/dtensor/operations/attention.hpp>
#include <hyperparallel/kernels/reduction.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace distributed {

namespace detail {

/// What a position has computed of its rows so far: results and log Σ exp.
template <class C>
struct attended_rows {
  std::vector<C> out, lse;

  void clear(extent_t rows, extent_t width) {
    out.assign(static_cast<std::size_t>(rows * width), C(0));
    lse.assign(static_cast<std::size_t>(rows), kernels::detail::lowest<C>);
  }
  void merge(const attended_rows& other, extent_t width) {
    const shape s{static_cast<extent_t>(lse.size()), width};
    kernels::merge_attention(const_view<C>{out.data(), s}, lse.data(), const_view<C>{other.out.data(), s},
                             other.lse.data(), tensor_view<C>{out.data(), s}, lse.data());
  }
};

template <class X>
struct attention_work {
  using C = kernels::computing<X>;
  const form_run& r;
  kernels::attention_options options;

  kernels::attention_options options_at(int position, extent_t first_key) const {
    kernels::attention_options o = options;
    o.query_offset = r.operand[0].local_box(position).dim[2].begin;
    o.key_offset = first_key;
    return o;
  }
  extent_t rows(int position) const {
    const shape q = r.operand[0].local_shape(position);
    return q.extent[0] * q.extent[1] * q.extent[2];
  }
  extent_t width() const { return r.result[0].shape.extent[3]; }

  /// The rows of a position over the keys of one block.
  attended_rows<C> attend(int position, const X* k, const X* v, int holder) const {
    const shape keys = r.operand[1].local_shape(holder), values = r.operand[2].local_shape(holder);
    attended_rows<C> a;
    a.clear(rows(position), width());
    shape out = r.operand[0].local_shape(position);
    out.extent[3] = width();
    if (rows(position) > 0 && keys.extent[2] > 0)
      kernels::attention(r.in<X>(0, position), const_view<X>{k, keys}, const_view<X>{v, values},
                         tensor_view<C>{a.out.data(), out}, a.lse.data(),
                         options_at(position, r.operand[1].local_box(holder).dim[2].begin));
    return a;
  }
  void store(int position, const std::vector<C>& out) const {
    X* const to = r.out<X>(0, position).data;
    for (std::size_t i = 0; i < out.size(); ++i) to[i] = kernels::store<X>(out[i]);
  }

  /// Every position with all keys that it needs at hand.
  void run_whole() const {
    r.ranks().for_each_rank("attention",
                            [&](int p) { store(p, attend(p, r.in<X>(1, p).data, r.in<X>(2, p).data, p).out); });
  }

  void run_merge() const {
    const extent_t record = width() + 1;
    local_lists<C> rows_of = r.along.lists<C>();
    r.ranks().for_each_rank("attention", [&](int p) {
      const attended_rows<C> a = attend(p, r.in<X>(1, p).data, r.in<X>(2, p).data, p);
      std::vector<C>& list = rows_of[static_cast<std::size_t>(p)];
      for (std::size_t row = 0; row < a.lse.size(); ++row) {
        const C* const from = a.out.data() + row * static_cast<std::size_t>(width());
        list.insert(list.end(), from, from + width());
        list.push_back(a.lse[row]);
      }
    });
    all_reduce_records(r.along, rows_of, record, [&](C* so_far, const C* term) {
      const shape s{1, width()};
      kernels::merge_attention(const_view<C>{so_far, s}, so_far + width(), const_view<C>{term, s}, term + width(),
                               tensor_view<C>{so_far, s}, so_far + width());
    });
    r.ranks().for_each_rank("attention", [&](int p) {
      const std::vector<C>& list = rows_of[static_cast<std::size_t>(p)];
      X* to = r.out<X>(0, p).data;
      for (std::size_t at = 0; at < list.size(); ++at)
        if (static_cast<extent_t>(at) % record != width()) *to++ = kernels::store<X>(list[at]);
    });
  }

  void run_ring() const {
    const ring_route route{
        r.operand[0].layout(), r.operand[1].layout(), r.operand[0].shape(), r.operand[1].shape(), options,
        r.along.pieces};
    const int n = route.group.size;
    local_lists<X> k = r.along.lists<X>(), v = r.along.lists<X>();
    // Devices that hold the same queries meet the blocks in different orders: they merge in the order of pieces at the
    // end, to agree in every bit; others merge what comes as it comes, and hold one block's rows.
    const bool shared = n > 1 && has_replicas(route);
    std::vector<std::vector<attended_rows<C>>> pending(static_cast<std::size_t>(r.ranks().ranks()));
    for (int step = 0; step < n; ++step) {
      if (step > 0) {
        const auto wanted = [&](int p) { return route.takes_at(p, step); };
        k = shift(r.along, k, wanted);
        v = shift(r.along, v, wanted);
      }
      r.ranks().for_each_rank("attention", [&](int p) {
        const std::size_t at = static_cast<std::size_t>(p);
        const int block = route.block_at(p, step);
        if (step == 0) {
          const const_view<X> keys = r.in<X>(1, p), values = r.in<X>(2, p);
          k[at].assign(keys.data, keys.data + volume(keys));
          v[at].assign(values.data, values.data + volume(values));
          pending[at].resize(static_cast<std::size_t>(shared ? n : 1));
          for (attended_rows<C>& rows_so_far : pending[at]) rows_so_far.clear(rows(p), width());
        }
        if (!route.sees_at(p, step)) return;
        attended_rows<C> a = attend(p, k[at].data(), v[at].data(), member_of(route.group, p, block));
        if (shared)
          pending[at][static_cast<std::size_t>(block)] = std::move(a);
        else if (step == 0)
          pending[at][0] = std::move(a);
        else
          pending[at][0].merge(a, width());
      });
    }
    r.ranks().for_each_rank("attention", [&](int p) {
      std::vector<attended_rows<C>>& list = pending[static_cast<std::size_t>(p)];
      for (std::size_t block = 1; block < list.size(); ++block) list[0].merge(list[block], width());
      store(p, list[0].out);
    });
  }

  /// Whether two members of a group hold the same queries; one group is as the others.
  static bool has_replicas(const ring_route& route) {
    const auto queries = [&](int piece) {
      return slice_at(route.q, route.queries, coordinates_of(route.q.mesh, member_of(route.group, 0, piece)));
    };
    for (int i = 1; i < route.group.size; ++i)
      for (int j = 0; j < i; ++j)
        if (queries(i) == queries(j)) return true;
    return false;
  }
};

}  // namespace detail

namespace forms {

/// softmax(scale · q · kᵀ + mask) · v for q [batch, heads, queries, dim] and k, v [batch, key heads, keys, dim].
struct attention : operations::attention {
  extent_t window = 0;  ///< unless 0, a query sees only keys less than this far away
  attention_way way = attention_way::cheapest;

  constexpr kernels::attention_options options() const {
    kernels::attention_options o;
    o.scale = scale;
    o.causal = causal;
    o.window = window;
    return o;
  }
};

}  // namespace forms

/// The plan of the form on operands of these layouts and shapes. Domain: the form's rule takes the shapes.
constexpr attention_plan plan_of(const forms::attention& form, const layout_value* operand, const shape* s,
                                 data_type type) {
  const factor_rule rule = form.rule(s, 3).rule;
  const shape all[] = {s[0], s[1], s[2], result_shape(rule, s, 3, 0).shape};
  return detail::plan_attention(rule, operand, all, form.options(), bytes_of(type), form.way);
}

/// Attention on dynamic tensors. `counted` is null or gets what is received. Throws as `apply`, and dtensor_error where
/// the way asked for is not possible.
inline dynamic_dtensor attention(const forms::attention& form, const dynamic_dtensor& q, const dynamic_dtensor& k,
                                 const dynamic_dtensor& v, traffic* counted = nullptr) {
  const dynamic_dtensor operands[] = {q, k, v};
  const shape shapes[] = {q.shape(), k.shape(), v.shape()};
  const layout_value layouts[] = {q.layout(), k.layout(), v.layout()};
  const rule_result made = form.rule(shapes, 3);
  if (made.status.code != rule_code::ok) throw operator_error("attention", made.status);
  const result_shape_result s = result_shape(made.rule, shapes, 3, 0);
  if (s.status.code != extents_code::ok) throw operator_error("attention", s.status);
  for (const dynamic_dtensor& x : operands) {
    if (!(x.group() == q.group()))
      throw hyperparallel::detail::group_error("attention", static_cast<int>(&x - operands));
    if (x.type() != q.type())
      throw dtensor_error(std::string("attention: element_types_are_not_computed: ") + name_of(x.type()));
  }
  const attention_plan plan = plan_of(form, layouts, shapes, q.type());
  if (plan.status.code != propagation_code::ok) throw operator_error("attention", plan.status);
  if (plan.layout.code != layout_code::ok) throw layout_error(plan.layout);
  if (plan.bytes[static_cast<int>(plan.way)] < 0) throw dtensor_error("attention: this way is not possible");

  form_run run{{},
               {{q.type(), s.shape, plan.attended}},
               {q.group(), group_over(plan.operand[1], detail::sequence_dim), counted}};
  for (int o = 0; o < 3; ++o) run.operand.push_back(redistribute(operands[o], plan.operand[o], counted));
  run.allocate();
  hyperparallel::detail::visit_element_type(q.type(), [&](auto type) {
    using X = typename decltype(type)::type;
    if constexpr (std::floating_point<kernels::computing<X>>) {
      const detail::attention_work<X> work{run, form.options()};
      if (plan.way == attention_way::all_to_all || run.along.pieces.size == 1)
        work.run_whole();
      else if (plan.way == attention_way::merge)
        work.run_merge();
      else
        work.run_ring();
    } else {
      throw dtensor_error(std::string("attention: element_types_are_not_computed: ") + name_of(q.type()));
    }
  });
  return redistribute(run.finish()[0], plan.result, counted);
}

namespace detail {

/// Keys and values as the rule sees them.
template <class K>
using strict_keys_of =
    dtensor<typename K::element, typename K::extents,
            placed_layout<typename K::mesh, hyperparallel::detail::digits_of_layout(strict_keys(K::layout::value))>>;
template <class K, class V>
using strict_values_of =
    dtensor<typename V::element, typename V::extents,
            placed_layout<typename V::mesh,
                          hyperparallel::detail::digits_of_layout(strict_values(K::layout::value, V::layout::value))>>;

template <bool Causal, class Q, class K, class V>
using attention_verdict = hyperparallel::detail::operation_verdict<operations::attention{Causal}, Q, K, V>;

}  // namespace detail

/// Whether `attention(q, k, v)` would be accepted; silent when not.
template <class Q, class K, class V>
concept attends =
    dtensor_type<Q> && dtensor_type<K> && dtensor_type<V> && detail::attention_verdict<false, Q, K, V>::ok &&
    takes<typename detail::attention_verdict<false, Q, K, V>::type_of, Q, detail::strict_keys_of<K>,
          detail::strict_values_of<K, V>>;

/// Attention on dtensors of known extents, in the cheapest way. Refusals are one error line, as of the operator.
template <bool Causal = false, extent_t Window = 0, dtensor_type Q, dtensor_type K, dtensor_type V>
auto attention(const Q& q, const K& k, const V& v) {
  using verdict = detail::attention_verdict<Causal, Q, K, V>;
  static_assert(insist<typename verdict::type>::met);
  if constexpr (!verdict::ok) {
    return q;  // already refused
  } else {
    using results = hyperparallel::detail::result_tensors<typename verdict::type_of, typename verdict::elements, Q,
                                                          detail::strict_keys_of<K>, detail::strict_values_of<K, V>>;
    return std::tuple_element_t<0, results>(
        attention(forms::attention{{Causal}, Window}, q.dynamic(), k.dynamic(), v.dynamic()));
  }
}

}}}  // namespace hyperparallel::v0_2::distributed
