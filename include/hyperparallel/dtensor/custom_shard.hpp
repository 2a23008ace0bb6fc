// SPDX-License-Identifier: Apache-2.0
#pragma once
// Manual sharding: a function on local data, run on every rank, with declared layouts of what goes in and comes out.
//
//   auto block = hp::custom_shard<hp::inputs<tokens, hp::unplaced>, hp::outputs<tokens>>(
//       [](hp::const_view<float> x, float factor) { … return local; });   // a local_tensor<float>
//   auto y = block(x, 0.5F);
//
// One slot for each argument and each result: a layout, `placed<extents, layout>`, or `unplaced` for what is no
// distributed tensor. The function gets a view of its rank's block for each placed argument and returns a local_tensor
// for each placed result (several as a tuple); if it wants to know its rank it takes a `local_rank` first. Arguments in
// another layout are redistributed, or refused where `mismatch::refuse` is asked for. Counts and kinds that do not fit
// are one error line; the compiler can not see the shapes of local results, so those are checked when it runs.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/slots.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Which rank a call is for, and its position in the mesh.
struct local_rank {
  int rank = 0;
  int position = 0;
};

/// A local result does not fit its declared layout.
struct custom_shard_error : dtensor_error {
  int result;
  int position;
  custom_shard_error(const char* what, int result_, int position_);
};

namespace detail {

template <class T>
struct as_tuple {
  using type = std::tuple<T>;
};
template <>
struct as_tuple<void> {
  using type = std::tuple<>;
};
template <class... T>
struct as_tuple<std::tuple<T...>> {
  using type = std::tuple<T...>;
};

/// What the function sees of an argument: a view of its block, or the value.
template <class Argument>
decltype(auto) local_argument(const Argument& x, int position) {
  if constexpr (is_dtensor<Argument>)
    return x.dynamic().local(position).template view<typename Argument::element>();
  else
    return (x);
}

template <int Rank>
struct open_shape {
  static constexpr shape evaluate() {
    shape s;
    for (; s.rank < Rank; ++s.rank) s.extent[s.rank] = dyn;
    return s;
  }
  static constexpr shape value = evaluate();
};

/// Local results of one slot as a dtensor, or as one value a position.
template <class Slot, std::size_t Index, class Tuple>
auto gather_results(const rank_group& group, std::vector<std::optional<Tuple>>& local) {
  using value = std::tuple_element_t<Index, Tuple>;
  if constexpr (!is_placed<Slot>) {
    std::vector<value> values;
    for (std::optional<Tuple>& one : local) values.push_back(std::move(std::get<Index>(*one)));
    return values;
  } else {
    using layout = typename slot_traits<Slot>::layout;
    using tensor = typename slot_traits<Slot>::template tensor<typename value::element,
                                                               extents_of_shape<open_shape<layout::rank>>>;
    shape whole = tensor::extents::declared;
    std::vector<dynamic_dtensor::block> blocks;
    for (int p = 0; p < group.ranks(); ++p) {
      const value& one = std::get<Index>(*local[static_cast<std::size_t>(p)]);
      if (one.extents().rank != layout::rank) throw custom_shard_error("map_length_differs_from_tensor_rank", Index, p);
      // Extents that are not declared are those of the first block, times the shards.
      for (int d = 0; p == 0 && d < layout::rank; ++d)
        if (is_dynamic(whole.extent[d])) whole.extent[d] = one.extents().extent[d] * layout::shards.of[d];
      if (!(shape_of(slice_at(layout::value, whole, coordinates_of(layout::value.mesh, p))) == one.extents()))
        throw custom_shard_error("local_shapes_make_no_whole", Index, p);
      blocks.push_back(one.block());
    }
    return tensor(dynamic_dtensor(group, {data_type_of<typename value::element>, whole, layout::value}, blocks));
  }
}

/// What a refused call still has as its type, so that no error cascades; it never runs.
template <class Slot>
auto refused_result() {
  if constexpr (is_placed<Slot>) {
    using layout = typename slot_traits<Slot>::layout;
    using tensor = typename slot_traits<Slot>::template tensor<float, extents_of_shape<open_shape<layout::rank>>>;
    return []() -> tensor { throw std::logic_error("refused"); }();
  } else {
    return Slot{};
  }
}
template <class... Slot>
auto refused_results() {
  if constexpr (sizeof...(Slot) == 1)
    return (refused_result<Slot>(), ...);
  else if constexpr (sizeof...(Slot) > 1)
    return std::make_tuple(refused_result<Slot>()...);
}

template <class Function, class... Local>
decltype(auto) call_local(const Function& f, const local_rank& rank, Local&&... local) {
  if constexpr (std::is_invocable_v<const Function&, const local_rank&, Local...>)
    return f(rank, std::forward<Local>(local)...);
  else
    return f(std::forward<Local>(local)...);
}

}  // namespace detail

template <class Inputs, class Outputs, mismatch OnMismatch, class Function>
class custom_sharded;
template <class... In, class... Out, mismatch OnMismatch, class Function>
class custom_sharded<inputs<In...>, outputs<Out...>, OnMismatch, Function> {
 public:
  explicit custom_sharded(Function f) : function_(std::move(f)) {}

  /// Runs the function on every rank. Throws rank_error where it throws, custom_shard_error where local results make no
  /// tensor, dtensor_error where arguments are of different groups.
  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const {
    using in_verdict = detail::slots_verdict<inputs<In...>, std::tuple<Arguments...>,
                                             sizeof...(In) == sizeof...(Arguments), OnMismatch>;
    static_assert(insist<typename in_verdict::type>::met);
    if constexpr (std::is_same_v<typename in_verdict::type, accepted>)
      return run(move_to<In>(arguments)...);
    else
      return detail::refused_results<Out...>();
  }

 private:
  template <class Slot, class Argument>
  static decltype(auto) move_to(const Argument& x) {
    if constexpr (detail::is_placed<Slot>)
      return x.template redistribute<typename detail::slot_traits<Slot>::layout>();
    else
      return (x);
  }

  template <class... Arguments>
  auto run(const Arguments&... x) const {
    using made = decltype(detail::call_local(function_, local_rank{}, detail::local_argument(x, 0)...));
    using tuple = typename detail::as_tuple<std::remove_cvref_t<made>>::type;
    using out_verdict = detail::slots_verdict<outputs<Out...>, tuple, sizeof...(Out) == std::tuple_size_v<tuple>>;
    static_assert(insist<typename out_verdict::type>::met);
    if constexpr (std::is_same_v<typename out_verdict::type, accepted>) {
      const rank_group& group = group_of(x...);
      std::vector<std::optional<tuple>> local(static_cast<std::size_t>(group.ranks()));
      group.for_each_rank("custom_shard", [&](int position) {
        const local_rank at{rank_of(position, x...), position};
        if constexpr (std::is_void_v<made>) {
          detail::call_local(function_, at, detail::local_argument(x, position)...);
          local[static_cast<std::size_t>(position)].emplace();
        } else {
          local[static_cast<std::size_t>(position)].emplace(
              detail::call_local(function_, at, detail::local_argument(x, position)...));
        }
      });
      return collect(group, local, std::index_sequence_for<Out...>{});
    } else {
      return detail::refused_results<Out...>();
    }
  }

  template <class Tuple, std::size_t... I>
  static auto collect(const rank_group& group, std::vector<std::optional<Tuple>>& local, std::index_sequence<I...>) {
    if constexpr (sizeof...(I) == 1)
      return detail::gather_results<std::tuple_element_t<0, std::tuple<Out...>>, 0>(group, local);
    else if constexpr (sizeof...(I) > 1)
      return std::make_tuple(detail::gather_results<Out, I>(group, local)...);
  }

  /// The group of the placed arguments, which share it.
  template <class... Arguments>
  static const rank_group& group_of(const Arguments&... x) {
    const rank_group* group = nullptr;
    int number = 0;
    const auto look = [&](const auto& one) {
      if constexpr (is_dtensor<std::remove_cvref_t<decltype(one)>>) {
        if (group == nullptr) group = &one.group();
        if (!(*group == one.group())) throw detail::group_error("custom_shard", number, "argument");
      }
      ++number;
    };
    (look(x), ...);
    return *group;
  }

  template <class First, class... Rest>
  static int rank_of(int position, const First&, const Rest&... rest) {
    if constexpr (is_dtensor<First>)
      return rank_at(ranks_of<typename First::mesh>(), position);
    else
      return rank_of(position, rest...);
  }

  Function function_;
};

/// See the head of this header.
template <class Inputs, class Outputs, mismatch OnMismatch = mismatch::redistribute, class Function>
auto custom_shard(Function f) {
  return custom_sharded<Inputs, Outputs, OnMismatch, Function>(std::move(f));
}

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/custom_shard.ipp>
#endif
