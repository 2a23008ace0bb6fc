// SPDX-License-Identifier: Apache-2.0
#pragma once
// `redistribution<From, To, tensor<…>>`: a move between two layouts as a type, with its certificate as constants.
//
//   using move = hp::redistribution<x, y, hp::tensor<hp::bf16, 8, 4096, 7168>>;
//   static_assert(move::bytes_received == move::lower_bound && move::steps == 1);
//
// Law: bytes_received == lower_bound for every accepted pair. Refusals are one error line naming dim, extent, shards,
// axes.

#include <hyperparallel/layout/layout.hpp>
#include <hyperparallel/redistribution/plan.hpp>

namespace hyperparallel {

namespace rejected {
template <class From, class To>
struct layouts_are_on_different_meshes;
template <class From, class To>
struct partial_layouts_need_a_reduction;
}  // namespace rejected

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

template <layout_code Code, class Layout, class Status>
struct shape_verdict;
template <class Layout, class Status>
struct shape_verdict<layout_code::ok, Layout, Status> {
  using type = accepted;
};
template <class Layout, class Status>
struct shape_verdict<layout_code::map_length_differs_from_tensor_rank, Layout, Status> {
  using type =
      rejected::map_length_differs_from_tensor_rank<map_entries<Layout::rank>, tensor_dims<int{Status::value.extent}>>;
};
template <class Layout, class Status>
struct shape_verdict<layout_code::extent_is_not_divisible_by_its_shards, Layout, Status> {
  using type =
      rejected::extent_is_not_divisible_by_its_shards<dim<Status::value.dim>, extent<Status::value.extent>,
                                                      shards<Status::value.shards>,
                                                      spelled<axes_named, sharding_axes<Layout, Status::value.dim>>>;
};

/// The status of one layout against one tensor, as a traits type.
template <class Layout, class Tensor>
struct shape_status {
  static constexpr layout_status value = check_shape(Layout::value, Tensor::shape);
};

template <class Layout, class Tensor>
using shape_verdict_of =
    typename shape_verdict<shape_status<Layout, Tensor>::value.code, Layout, shape_status<Layout, Tensor>>::type;

template <plan_code Code, class From, class To, class Tensor>
struct plan_verdict;
template <class From, class To, class Tensor>
struct plan_verdict<plan_code::ok, From, To, Tensor> {
  using type = accepted;
};
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
  using type = rejected::layouts_are_on_different_meshes<From, To>;
};
template <class From, class To, class Tensor>
struct plan_verdict<plan_code::partial_is_not_moved_here, From, To, Tensor> {
  using type = rejected::partial_layouts_need_a_reduction<From, To>;
};

template <class From, class To, class Tensor>
struct planned {
  static constexpr redistribution_plan value = plan_redistribution(From::value, To::value, Tensor::shape);
};

}  // namespace detail

/// The planned move of `Tensor` from layout `From` to layout `To`. Sizes are bytes at the tensor's own type.
template <layout_type From, layout_type To, class Tensor>
struct redistribution {
  using from = From;
  using to = To;
  using tensor = Tensor;
  static constexpr redistribution_plan plan = detail::planned<From, To, Tensor>::value;
  static_assert(insist<typename detail::plan_verdict<plan.status.code, From, To, Tensor>::type>::met);

  static constexpr plan_kind kind = plan.kind;
  static constexpr int steps = plan.steps;
  static constexpr extent_t messages = plan.messages;
  static constexpr extent_t bytes_received = plan.received_maximum * bytes_of(Tensor::type);
  static constexpr extent_t lower_bound = plan.lower_bound * bytes_of(Tensor::type);
  static constexpr extent_t peak_bytes = (plan.source_elements + plan.target_elements) * bytes_of(Tensor::type);
};

/// Whether `redistribution<From, To, Tensor>` would be accepted; silent when not.
template <class From, class To, class Tensor>
concept redistributable =
    layout_type<From> && layout_type<To> && detail::planned<From, To, Tensor>::value.status.code == plan_code::ok;

namespace detail {
template <class Layout, class Tensor>
struct placed_tensor_selector {
  static_assert(insist<shape_verdict_of<Layout, Tensor>>::met);
  static constexpr shape local = local_shape(Layout::value, Tensor::shape).shape;
};
}  // namespace detail

/// Whether `Tensor` divides over `Layout`; silent when not.
template <class Layout, class Tensor>
concept places = layout_type<Layout> && detail::shape_status<Layout, Tensor>::value.code == layout_code::ok;

/// Shape of one device's part of `Tensor` under `Layout`; one error line where it does not divide.
template <layout_type Layout, class Tensor>
inline constexpr shape local_shape_of = detail::placed_tensor_selector<Layout, Tensor>::local;

}  // namespace hyperparallel
