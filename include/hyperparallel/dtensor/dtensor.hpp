// SPDX-License-Identifier: Apache-2.0
#pragma once
// `dtensor<T, Extents, Layout>`: a distributed tensor whose element type, extents and layout the compiler knows.
//
//   using activations = hp::dtensor<float, hp::extents<8, 64>, hp::layout<mesh, "dp", hp::none>>;
//   activations x = hp::distribute<activations>(ranks, numbers);
//   auto y = x.redistribute<hp::layout<mesh, hp::none, "tp">>();
//
// It is a handle to shards in a rank group and holds a dynamic_dtensor, nothing more; what that says about sharing
// holds here. Law: type, shape and layout of the twin are those of the type. Extents that the layout does not divide
// are one error line; dynamic ones are checked when the tensor is made, by an exception with the same words.

#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/conversion.hpp>
#include <hyperparallel/dtensor/extents.hpp>
#include <hyperparallel/layout/layout_words.hpp>
#include <hyperparallel/redistribution/redistribution.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// What the compiler holds against a layout: declared extents, where a dynamic one stands for its multiple, or, when
/// it promises none, for what divides.
template <class Extents, class Layout>
struct checked_extents {
  static constexpr hyperparallel::shape evaluate() {
    hyperparallel::shape s = Extents::declared;
    for (int d = 0; d < s.rank; ++d)
      if (s.extent[d] == dyn)
        s.extent[d] = d < Layout::rank ? Layout::shards.of[d] : 1;
      else if (is_dynamic(s.extent[d]))
        s.extent[d] = -s.extent[d];
    return s;
  }
  static constexpr hyperparallel::shape shape = evaluate();
};

template <class From, class To, class Extents>
struct typed_move {
  static constexpr bool one_mesh = std::is_same_v<typename From::mesh, typename To::mesh>;
  static constexpr move_plan evaluate() {
    move_plan p;
    p.code = move_code::layouts_are_on_different_meshes;
    return one_mesh ? plan_move(From::value, To::value, checked_extents<Extents, From>::shape) : p;
  }
  static constexpr move_plan plan = evaluate();
};

/// Sides that refuse the shape say so as tensors, which is why they are accepted here.
template <move_code Code, class From, class To, class Move>
struct move_verdict {
  using type = accepted;
};
template <class From, class To, class Move>
struct move_verdict<move_code::layouts_are_on_different_meshes, From, To, Move> {
  using type = diag::layouts_are_on_different_meshes<in_words<From>, in_words<To>>;
};
template <class From, class To, class Move>
struct move_verdict<move_code::reductions_do_not_commute, From, To, Move> {
  using type = diag::reductions_of_a_move_do_not_commute<
      in_words<From>, in_words<To>,
      spelled<alias, typename blamed_axis<typename From::mesh>::template of<Move::plan.axis>>>;
};

}  // namespace detail

/// Whether `Layout` takes a tensor of `Extents`; silent when not.
template <class Extents, class Layout>
concept divides = layout_type<Layout> &&
                  fit(Layout::shards, detail::checked_extents<Extents, Layout>::shape).status.code == layout_code::ok;

/// Whether tensors of `Extents` move from `From` to `To`; silent when not.
template <class Extents, class From, class To>
concept movable =
    divides<Extents, From> && divides<Extents, To> && detail::typed_move<From, To, Extents>::plan.code == move_code::ok;

template <element_type T, class Extents, layout_type Layout>
class dtensor {
  static_assert(insist<detail::shape_verdict_of<Layout, detail::checked_extents<Extents, Layout>>>::met);

 public:
  using element = T;
  using extents = Extents;
  using layout = Layout;
  using mesh = typename Layout::mesh;

  /// Throws dtensor_error where type, shape or layout of `x` are not those of this type.
  explicit dtensor(dynamic_dtensor x) : tensor_(std::move(x)) {
    if (tensor_.type() != detail::data_type_of<T>)
      throw dtensor_error(std::string("element_types_differ: ") + name_of(tensor_.type()) + " for " +
                          name_of(detail::data_type_of<T>));
    if (!matches(Extents::declared, tensor_.shape())) throw dtensor_error("extents_differ_from_the_declared_ones");
    if (!(tensor_.layout() == Layout::value)) throw dtensor_error("layouts_differ");
  }

  /// The run-time twin; a handle to the same shards.
  const dynamic_dtensor& dynamic() const { return tensor_; }
  const rank_group& group() const { return tensor_.group(); }
  const hyperparallel::shape& shape() const { return tensor_.shape(); }

  /// What one rank holds. Throws dtensor_error for a rank that is not of the mesh.
  hyperparallel::shape local_shape(int rank) const { return tensor_.local_shape(position(rank)); }
  box local_box(int rank) const { return tensor_.local_box(position(rank)); }
  std::span<const T> to_local(int rank) const { return tensor_.template to_local<T>(position(rank)); }

  /// The whole, row-major, partial states resolved.
  std::vector<T> full_tensor() const { return hyperparallel::full_tensor<T>(tensor_); }

  /// The same values in layout `To`; the same shards where it is this one. Planned by the compiler where all extents
  /// are known. Throws layout_error where a dynamic extent does not divide.
  template <layout_type To>
  auto redistribute() const {
    using move = detail::typed_move<Layout, To, Extents>;
    static_assert(insist<typename detail::move_verdict<move::plan.code, Layout, To, move>::type>::met);
    if constexpr (!move::one_mesh)
      return *this;
    else if constexpr (Extents::is_static)
      return dtensor<T, Extents, To>(hyperparallel::redistribute(tensor_, To::value, move::plan));
    else
      return dtensor<T, Extents, To>(hyperparallel::redistribute(tensor_, To::value));
  }

  /// The same values without partial states.
  auto reduce_partial() const {
    using reduced = placed_layout<mesh, detail::digits_of_layout(detail::reduced_layout(Layout::value))>;
    return redistribute<reduced>();
  }

 private:
  static int position(int rank) {
    const int p = position_in(ranks_of<mesh>(), rank);
    if (p < 0) throw dtensor_error("rank " + std::to_string(rank) + " is not of the mesh");
    return p;
  }

  dynamic_dtensor tensor_;
};

template <class Tensor>
inline constexpr bool is_dtensor = false;
template <class T, class Extents, class Layout>
inline constexpr bool is_dtensor<dtensor<T, Extents, Layout>> = true;

/// Any `dtensor<…>`.
template <class Tensor>
concept dtensor_type = is_dtensor<Tensor>;

}}  // namespace hyperparallel::v0_2
