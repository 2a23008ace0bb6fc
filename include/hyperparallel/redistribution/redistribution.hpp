// SPDX-License-Identifier: Apache-2.0
#pragma once
// `redistribution<From, To, tensor<…>>`: a move between two layouts as a type, with its certificate as constants.
//
//   using move = hp::redistribution<x, y, hp::tensor<hp::bf16, 8, 4096, 7168>>;
//   static_assert(move::bytes_received == move::lower_bound && move::steps == 1);
//
// Laws: bytes_received == lower_bound for every pair without partial states; with them the certificate's total is the
// least, and bytes_received ≥ lower_bound, what every rank receives when all receive alike. Refusals are one error line
// naming dim, extent, shards, axes.

#include <hyperparallel/layout/layout_words.hpp>
#include <hyperparallel/redistribution/certificate.hpp>
#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/support/lazy_reference.hpp>
#include <hyperparallel/support/withheld.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class From, class To>
struct layouts_are_on_different_meshes;
template <class From, class To, class Alias>
struct reductions_of_a_move_do_not_commute;
template <class From, class To>
struct traffic_of_a_move_overflows;
}  // namespace diag

namespace detail {

/// Names of the axes that shard a dim, as the user wrote them, joined by commas.
template <class Layout, int Dim>
struct sharding_axes {
  static constexpr auto join() {
    fixed_string<max_axes*(short_text::capacity + 1)> names;
    const layout_value& l = Layout::value;
    int at = 0;
    for (int i = 0; i < l.cut_count; ++i) {
      if (l.cut[i].dim != Dim) continue;
      if (at > 0) names.text[at++] = ',';
      for (const char* c = Layout::mesh::value.label[l.cut[i].axis].text; *c != '\0'; ++c) names.text[at++] = *c;
    }
    return names;
  }
  static constexpr auto joined = join();
  static constexpr const char* text = joined.text;
  static constexpr int length = text_length(joined.text);
};

/// How `Tensor` fits `Layout`: once for all moves between them.
template <class Layout, class Tensor>
struct fitted {
  static constexpr shape_result value = fit(Layout::shards, Tensor::shape);
};

/// `Layout` as the source or target of moves of `Tensor`: once for all of them.
template <class Layout, class Tensor>
inline constexpr plan_side side = side_of(Layout::value, Tensor::shape);

/// The whole plan of a move and its certificate.
template <class From, class To, class Tensor>
struct whole_move {
  static constexpr move_plan plan = plan_move(From::value, To::value, Tensor::shape);
  static constexpr move_certificate certify() {
    constexpr extent_t count = position_count(From::mesh::value.shape);
    static_assert(insist<typename certified<From, To, count>::type>::met);
    if constexpr (count <= max_certified_positions) {
      extent_t tally[array_bound(3 * count)] = {};
      return hyperparallel::certify(plan, tally);
    }
    return {};
  }
  static constexpr move_certificate certificate = certify();
};

/// The short form of a plan whose terms meet or whose target waits for a reduction.
template <class From, class To, class Tensor>
constexpr redistribution_plan plan_with_partial_states() {
  using whole = whole_move<From, To, Tensor>;
  redistribution_plan p;
  if constexpr (whole::plan.code == move_code::reductions_do_not_commute) {
    p.status.code = plan_code::reductions_do_not_commute;
  } else if constexpr (whole::plan.code == move_code::traffic_overflows) {
    p.status.code = plan_code::traffic_overflows;
  } else {
    constexpr move_certificate c = whole::certificate;
    p.kind = whole::plan.kind;
    p.steps = c.steps;
    p.messages = c.messages_maximum;
    p.source_elements = side<From, Tensor>.elements;
    p.target_elements = side<To, Tensor>.elements;
    p.received_maximum = c.received_maximum;
    p.lower_bound = ceil_divide(c.least_total, position_count(From::mesh::value.shape));
  }
  return p;
}

template <class Mesh, class Other>
inline constexpr bool same_mesh = Mesh::value.shape == Other::value.shape;

/// Why `Layout` refuses `Tensor`, as a type. Instantiated only where it does.
template <layout_code Code, class Layout, class Tensor>
struct shape_verdict;
template <class Layout, class Tensor>
struct shape_verdict<layout_code::map_length_differs_from_tensor_rank, Layout, Tensor> {
  using type = diag::map_length_differs_from_tensor_rank<map_entries<Layout::rank>, tensor_dims<Tensor::shape.rank>>;
};
template <class Layout, class Tensor>
struct shape_verdict<layout_code::extent_is_not_divisible_by_its_shards, Layout, Tensor> {
  static constexpr layout_status status = fitted<Layout, Tensor>::value.status;
  using type =
      diag::extent_is_not_divisible_by_its_shards<dim<status.dim>, extent<status.extent>, shards<status.shards>,
                                                  spelled<axes_named, sharding_axes<Layout, status.dim>>>;
};

template <layout_code Code>
struct shape_choice {
  template <class Layout, class Tensor>
  using verdict = typename shape_verdict<Code, Layout, Tensor>::type;
};
template <>
struct shape_choice<layout_code::ok> {
  template <class, class>
  using verdict = accepted;
};
template <>  // `tensor` itself refuses a volume beyond 64 bits and negative extents
struct shape_choice<layout_code::element_count_overflows> : shape_choice<layout_code::ok> {};
template <>
struct shape_choice<layout_code::extent_is_negative> : shape_choice<layout_code::ok> {};

/// `accepted`, or the rejected name.
template <class Layout, class Tensor>
using shape_verdict_of =
    typename shape_choice<fitted<Layout, Tensor>::value.status.code>::template verdict<Layout, Tensor>;

template <plan_code Code, class From, class To, class Tensor>
struct plan_verdict;
template <class From, class To, class Tensor>
struct plan_verdict<plan_code::source_is_refused, From, To, Tensor> {
  using type = shape_verdict_of<From, Tensor>;
};
template <class From, class To, class Tensor>
struct plan_verdict<plan_code::target_is_refused, From, To, Tensor> {
  using type = shape_verdict_of<To, Tensor>;
};
template <class From, class To, class Tensor>
struct plan_verdict<plan_code::meshes_differ, From, To, Tensor> {
  using type = diag::layouts_are_on_different_meshes<in_words<From>, in_words<To>>;
};
template <class From, class To, class Tensor>
struct plan_verdict<plan_code::reductions_do_not_commute, From, To, Tensor> {
  using type = diag::reductions_of_a_move_do_not_commute<
      in_words<From>, in_words<To>,
      spelled<alias, typename blamed_axis<typename From::mesh>::template of<whole_move<From, To, Tensor>::plan.axis>>>;
};
template <class From, class To, class Tensor>
struct plan_verdict<plan_code::traffic_overflows, From, To, Tensor> {
  using type = diag::traffic_of_a_move_overflows<in_words<From>, in_words<To>>;
};

/// By the code of a move: why it is refused, and the types of its numbers.
template <plan_code Code>
struct plan_choice {
  template <class From, class To, class Tensor>
  using verdict = typename plan_verdict<Code, From, To, Tensor>::type;
  using kind = withheld;
  using count = withheld;
  using amount = withheld;
};
template <>
struct plan_choice<plan_code::ok> {
  template <class, class, class>
  using verdict = accepted;
  using kind = plan_kind;
  using count = int;
  using amount = extent_t;
};

template <class From, class To, class Tensor>
inline constexpr redistribution_plan short_plan =
    plan_sides(From::value, side<From, Tensor>, To::value, side<To, Tensor>, Tensor::shape,
               same_mesh<typename From::mesh, typename To::mesh>);
template <class From, class To, class Tensor>
  requires((side<From, Tensor>.partial || side<To, Tensor>.partial) &&
           side<From, Tensor>.status.code == layout_code::ok && side<To, Tensor>.status.code == layout_code::ok &&
           same_mesh<typename From::mesh, typename To::mesh>)
inline constexpr redistribution_plan short_plan<From, To, Tensor> = plan_with_partial_states<From, To, Tensor>();

}  // namespace detail

/// The planned move of `Tensor` from layout `From` to layout `To`. Sizes are bytes at the tensor's own type. Numbers of a refused
/// move are withheld: no assertion about them fails.
template <layout_type From, layout_type To, tensor_type Tensor>
struct redistribution {
  using from = From;
  using to = To;
  using tensor = Tensor;
  static constexpr redistribution_plan plan = detail::short_plan<From, To, Tensor>;
  using choice = detail::plan_choice<plan.status.code>;
  static_assert(insist<typename choice::template verdict<From, To, Tensor>>::met);

  static constexpr typename choice::kind kind = plan.kind;
  static constexpr typename choice::count steps = plan.steps;
  static constexpr typename choice::amount messages = plan.messages;
  static constexpr typename choice::amount bytes_received = plan.received_maximum * Tensor::element_bytes;
  static constexpr typename choice::amount lower_bound = plan.lower_bound * Tensor::element_bytes;
  static constexpr typename choice::amount peak_bytes =
      (plan.source_elements + plan.target_elements) * Tensor::element_bytes;

  /// All steps of the move, and what they cost beside the least, in elements. O(positions · boxes) to evaluate.
  static constexpr HYPERPARALLEL_LAZY_REFERENCE(move_plan) whole = detail::whole_move<From, To, Tensor>::plan;
  static constexpr HYPERPARALLEL_LAZY_REFERENCE(move_certificate)
      certificate = detail::whole_move<From, To, Tensor>::certificate;
};

/// Whether `redistribution<From, To, Tensor>` would be accepted; silent when not.
template <class From, class To, class Tensor>
concept redistributable =
    layout_type<From> && layout_type<To> && detail::short_plan<From, To, Tensor>.status.code == plan_code::ok;

/// Whether `Tensor` divides over `Layout`; silent when not.
template <class Layout, class Tensor>
concept places = layout_type<Layout> && fit(Layout::shards, Tensor::shape).status.code == layout_code::ok;

namespace detail {
/// A shape whose numbers are withheld.
struct withheld_shape {
  withheld rank{};
  withheld extent[max_dims] = {};

  constexpr withheld_shape(const shape&) {}        // NOLINT: an initializer that would have been the shape's
  constexpr operator shape() const { return {}; }  // NOLINT: takes the shape's place
  friend constexpr bool operator==(const withheld_shape&, const shape&) { return true; }
};

template <layout_type Layout, class Tensor>
struct placed_tensor {
  static_assert(insist<shape_verdict_of<Layout, Tensor>>::met);
  static constexpr kept_if<fitted<Layout, Tensor>::value.status.code == layout_code::ok, shape, withheld_shape> local =
      fitted<Layout, Tensor>::value.shape;
};
}  // namespace detail

/// Shape of one device's part of `Tensor` under `Layout`; one error line where it does not divide, and then its numbers are
/// withheld.
template <class Layout, tensor_type Tensor>
inline constexpr auto local_shape_of = detail::placed_tensor<Layout, Tensor>::local;
/// The same from the digits alone, where they divide: no layout is built to place many tensors.
template <class Mesh, extent_t Digits, tensor_type Tensor>
  requires(detail::divide_by_digits(Mesh::value.shape, Digits, Tensor::shape).rank >= 0)
inline constexpr shape local_shape_of<placed_layout<Mesh, Digits>, Tensor> =
    detail::divide_by_digits(Mesh::value.shape, Digits, Tensor::shape);

}}  // namespace hyperparallel::v0_2
