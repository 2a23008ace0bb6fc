// SPDX-License-Identifier: Apache-2.0
#pragma once
// `mesh_change<From, To, tensor<…>>`: a move between two meshes, rank lists or shapes as a type, with its certificate.
//
//   using stage0 = hp::layout<first_half, "tp", hp::none>;    // ranks 0-3
//   using stage1 = hp::layout<second_half, hp::none, "tp">;   // ranks 4-7
//   using handover = hp::mesh_change<stage0, stage1, hp::tensor<hp::bf16, 4096, 7168>>;
//   static_assert(handover::bytes_received == handover::lower_bound);
//
// Devices are ranks: those of the meshes' own lists, or 0, 1, …. With a second tensor the shape changes as well; it
// then has as many elements of the same size. Laws: without partial states every rank receives |T_r ∖ S_r|, so
// bytes_received == lower_bound; always certificate.received_total == certificate.least_total. Refusals are one error
// line. `redistribution` is the same for one mesh, and refuses two, because meshes are mixed up more often than
// changed.

#include <hyperparallel/redistribution/redistribution.hpp>
#include <hyperparallel/redistribution/relocation_certificate.hpp>
#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/support/lazy_reference.hpp>
#include <hyperparallel/support/withheld.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class FromTensor, class ToTensor>
struct tensors_of_a_mesh_change_differ_in_bytes;
}  // namespace diag

namespace detail {

template <class Layout, class Tensor>
inline constexpr tensor_side side_on_ranks{Layout::value, Tensor::shape, ranks_of<typename Layout::mesh>()};

template <class From, class To, class FromTensor, class ToTensor>
struct planned_change {
  static constexpr relocation plan = plan_relocation(side_on_ranks<From, FromTensor>, side_on_ranks<To, ToTensor>);
  static constexpr relocation_certificate certify() {
    constexpr extent_t entries = plan.code == relocation_code::ok ? tally_size(plan) : 3;
    static_assert(insist<typename certified<From, To, entries / 3>::type>::met);
    if constexpr (entries <= 3 * max_certified_positions) {
      extent_t tally[array_bound(entries)] = {};
      return hyperparallel::certify(plan, tally);
    }
    return {};
  }
  static constexpr relocation_certificate certificate = certify();
};

template <class Layout, class OtherLayout, class Change>
struct change_axis {
  using alias_of_axis = spelled<alias, typename blamed_axis<typename Layout::mesh>::template of<Change::plan.axis>>;
  using type = diag::reductions_of_a_move_do_not_commute<in_words<Layout>, in_words<OtherLayout>, alias_of_axis>;
};

/// Why the planner refuses. Rank lists are those of mesh types, which have been checked.
template <relocation_code Code, class From, class To, class FromTensor, class ToTensor, class Change>
struct change_verdict {
  using type = diag::tensors_of_a_mesh_change_differ_in_bytes<FromTensor, ToTensor>;
};
template <class From, class To, class FromTensor, class ToTensor, class Change>
struct change_verdict<relocation_code::ok, From, To, FromTensor, ToTensor, Change> {
  using type = accepted;
};
template <class From, class To, class FromTensor, class ToTensor, class Change>
struct change_verdict<relocation_code::source_is_refused, From, To, FromTensor, ToTensor, Change> {
  using type = shape_verdict_of<From, FromTensor>;
};
template <class From, class To, class FromTensor, class ToTensor, class Change>
struct change_verdict<relocation_code::target_is_refused, From, To, FromTensor, ToTensor, Change> {
  using type = shape_verdict_of<To, ToTensor>;
};
template <class From, class To, class FromTensor, class ToTensor, class Change>
struct change_verdict<relocation_code::source_reductions_do_not_commute, From, To, FromTensor, ToTensor, Change>
    : change_axis<From, To, Change> {};
template <class From, class To, class FromTensor, class ToTensor, class Change>
struct change_verdict<relocation_code::target_reductions_do_not_commute, From, To, FromTensor, ToTensor, Change>
    : change_axis<To, From, Change> {};
template <class From, class To, class FromTensor, class ToTensor, class Change>
struct change_verdict<relocation_code::traffic_overflows, From, To, FromTensor, ToTensor, Change> {
  using type = diag::traffic_of_a_move_overflows<in_words<From>, in_words<To>>;
};

template <class From, class To, class FromTensor, class ToTensor>
using change_verdict_of =
    typename change_verdict<FromTensor::element_bytes == ToTensor::element_bytes
                                ? planned_change<From, To, FromTensor, ToTensor>::plan.code
                                : relocation_code::element_counts_differ,
                            From, To, FromTensor, ToTensor, planned_change<From, To, FromTensor, ToTensor>>::type;

}  // namespace detail

/// Whether `mesh_change` would be accepted; silent when not.
template <class From, class To, class FromTensor, class ToTensor = FromTensor>
concept mesh_changeable =
    layout_type<From> && layout_type<To> && FromTensor::element_bytes == ToTensor::element_bytes &&
    detail::planned_change<From, To, FromTensor, ToTensor>::plan.code == relocation_code::ok;

/// The planned move of a tensor from the ranks of `From` to those of `To`. Sizes are bytes at the tensor's own type.
template <layout_type From, layout_type To, class FromTensor, class ToTensor = FromTensor>
struct mesh_change {
  static_assert(insist<detail::change_verdict_of<From, To, FromTensor, ToTensor>>::met);
  using from = From;
  using to = To;
  using planned = detail::planned_change<From, To, FromTensor, ToTensor>;
  static constexpr HYPERPARALLEL_LAZY_REFERENCE(relocation) plan = planned::plan;
  static constexpr HYPERPARALLEL_LAZY_REFERENCE(relocation_certificate) certificate = planned::certificate;
  /// Of a refused move they are withheld: no assertion about them fails.
  static constexpr bool is_accepted = mesh_changeable<From, To, FromTensor, ToTensor>;
  static constexpr kept_if<is_accepted, plan_kind> kind = plan.plan.kind;
  static constexpr kept_if<is_accepted, int> steps = certificate.steps;
  static constexpr kept_if<is_accepted, extent_t> bytes_received =
      certificate.received_maximum == not_counted ? not_counted
                                                  : certificate.received_maximum * FromTensor::element_bytes;
  /// Of the rank that must receive most; where terms meet or axes are filled, what all ranks must receive on average.
  static constexpr kept_if<is_accepted, extent_t> lower_bound =
      (certificate.least_maximum > 0 ? certificate.least_maximum
                                     : ceil_divide(certificate.least_total, plan.target_ranks.count)) *
      FromTensor::element_bytes;
};

}}  // namespace hyperparallel::v0_2
