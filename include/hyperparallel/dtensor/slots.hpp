// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slots: what is declared of each argument and each result of a function on tensors, and whether they fit.
//
// A slot is a layout, `placed<extents, layout>`, or `unplaced`. Law: of all that does not fit, counts are named first,
// then the first slot, so a mistake is one error line.

#include <memory>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/apply.hpp>
#include <hyperparallel/dtensor/dtensor.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// The slot of an argument or result that is no distributed tensor: each rank gets the same, or gives its own.
struct unplaced {};

/// The slot of a result whose extents are declared as well.
template <class Extents, layout_type Layout>
struct placed {};

template <class... Slots>
struct inputs {};
template <class... Slots>
struct outputs {};

/// What happens to arguments in another layout than the declared one.
enum class mismatch { redistribute, refuse };

/// A block that a local function makes; reads as zero until it is written.
template <element_type T>
class local_tensor {
 public:
  using element = T;
  explicit local_tensor(const shape& extents)
      : extents_(extents),
        block_(detail::allocate_block(element_count(extents).value * static_cast<extent_t>(sizeof(T)))) {}

  const shape& extents() const { return extents_; }
  tensor_view<T> view() const { return {reinterpret_cast<T*>(block_.get()), extents_}; }
  T* data() const { return view().data; }
  const std::shared_ptr<std::byte>& block() const { return block_; }

 private:
  shape extents_;
  std::shared_ptr<std::byte> block_;
};

/// In an error line: which argument, from 0; how many arguments, results, slots.
template <int>
struct argument {};
template <int>
struct arguments {};
template <int>
struct results {};
template <int>
struct slots {};

namespace diag {
template <class Arguments, class Slots>
struct argument_count_differs_from_inputs;
template <class Argument>
struct dtensor_at_an_unplaced_slot;
template <class Argument, class Layout>
struct argument_at_a_placed_slot_is_no_dtensor;
template <class Argument, class Given, class Declared>
struct layout_of_argument_differs_from_input;
template <class Slots>
struct no_argument_is_a_dtensor;
template <class Results, class Slots>
struct result_count_differs_from_outputs;
template <class Result>
struct tensor_result_at_an_unplaced_slot;
template <class Result, class Layout>
struct result_at_a_placed_slot_is_no_tensor;
}  // namespace diag

namespace detail {

template <class T>
inline constexpr bool is_local_tensor = false;
template <class T>
inline constexpr bool is_local_tensor<local_tensor<T>> = true;

/// The layout of a slot; `unplaced` has none.
template <class Slot>
struct slot_traits {
  using layout = Slot;
  template <class T, class Extents>
  using tensor = dtensor<T, Extents, Slot>;
};
template <>
struct slot_traits<unplaced> {};
template <class Extents, class Layout>
struct slot_traits<placed<Extents, Layout>> {
  using layout = Layout;
  template <class T, class>
  using tensor = dtensor<T, Extents, Layout>;
};
template <class Slot>
inline constexpr bool is_placed = !std::is_same_v<Slot, unplaced>;

template <int Index, class Given, class Declared>
struct different_layout {
  using type = diag::layout_of_argument_differs_from_input<argument<Index>, in_words<Given>, in_words<Declared>>;
};

/// The verdict on argument `Index`.
template <int Index, class Slot, class Argument, mismatch OnMismatch, bool Placed = is_placed<Slot>,
          bool Tensor = is_dtensor<Argument>>
struct argument_verdict {
  using type = accepted;  // a plain value at an unplaced slot
};
template <int Index, class Slot, class Argument, mismatch OnMismatch>
struct argument_verdict<Index, Slot, Argument, OnMismatch, false, true> {
  using type = diag::dtensor_at_an_unplaced_slot<argument<Index>>;
};
template <int Index, class Slot, class Argument, mismatch OnMismatch>
struct argument_verdict<Index, Slot, Argument, OnMismatch, true, false> {
  using type =
      diag::argument_at_a_placed_slot_is_no_dtensor<argument<Index>, in_words<typename slot_traits<Slot>::layout>>;
};
template <int Index, class Slot, class Argument, mismatch OnMismatch>
struct argument_verdict<Index, Slot, Argument, OnMismatch, true, true> {
  using declared = typename slot_traits<Slot>::layout;
  using move = typed_move<typename Argument::layout, declared, typename Argument::extents>;
  static constexpr bool refused =
      OnMismatch == mismatch::refuse && !std::is_same_v<typename Argument::layout, declared>;
  using type =
      typename std::conditional_t<refused, different_layout<Index, typename Argument::layout, declared>,
                                  move_verdict<move::plan.code, typename Argument::layout, declared, move>>::type;
};

template <int Index, class Slot, class Result, bool Placed = is_placed<Slot>, bool Tensor = is_local_tensor<Result>>
struct result_verdict {
  using type = accepted;
};
template <int Index, class Slot, class Result>
struct result_verdict<Index, Slot, Result, false, true> {
  using type = diag::tensor_result_at_an_unplaced_slot<result<Index>>;
};
template <int Index, class Slot, class Result>
struct result_verdict<Index, Slot, Result, true, false> {
  using type = diag::result_at_a_placed_slot_is_no_tensor<result<Index>, in_words<typename slot_traits<Slot>::layout>>;
};

/// The first that is not `accepted`.
template <class... Verdicts>
struct first_refusal {
  using type = accepted;
};
template <class First, class... Rest>
struct first_refusal<First, Rest...> {
  using type = First;
};
template <class... Rest>
struct first_refusal<accepted, Rest...> : first_refusal<Rest...> {};

template <class Slots, class Arguments, mismatch OnMismatch, class Indices>
struct arguments_verdict;
template <class... Slot, class... Argument, mismatch OnMismatch, int... I>
struct arguments_verdict<inputs<Slot...>, std::tuple<Argument...>, OnMismatch, indices<I...>> {
  using type = typename first_refusal<
      typename argument_verdict<I, Slot, Argument, OnMismatch>::type...,
      std::conditional_t<(is_dtensor<Argument> || ...), accepted,
                         diag::no_argument_is_a_dtensor<slots<static_cast<int>(sizeof...(Slot))>>>>::type;
};
template <class Slots, class Results, class Indices>
struct results_verdict;
template <class... Slot, class... Result, int... I>
struct results_verdict<outputs<Slot...>, std::tuple<Result...>, indices<I...>> {
  using type = typename first_refusal<typename result_verdict<I, Slot, Result>::type...>::type;
};

/// Counts first: only equal ones are gone through slot by slot.
template <class Slots, class Values, bool SameCount, mismatch OnMismatch = mismatch::redistribute>
struct slots_verdict;
template <class... Slot, class... Argument, mismatch OnMismatch>
struct slots_verdict<inputs<Slot...>, std::tuple<Argument...>, false, OnMismatch> {
  using type = diag::argument_count_differs_from_inputs<arguments<static_cast<int>(sizeof...(Argument))>,
                                                        slots<static_cast<int>(sizeof...(Slot))>>;
};
template <class... Slot, class... Argument, mismatch OnMismatch>
struct slots_verdict<inputs<Slot...>, std::tuple<Argument...>, true, OnMismatch>
    : arguments_verdict<inputs<Slot...>, std::tuple<Argument...>, OnMismatch,
                        typename make_indices<static_cast<int>(sizeof...(Slot))>::type> {};
template <class... Slot, class... Result, mismatch OnMismatch>
struct slots_verdict<outputs<Slot...>, std::tuple<Result...>, false, OnMismatch> {
  using type = diag::result_count_differs_from_outputs<results<static_cast<int>(sizeof...(Result))>,
                                                       slots<static_cast<int>(sizeof...(Slot))>>;
};
template <class... Slot, class... Result, mismatch OnMismatch>
struct slots_verdict<outputs<Slot...>, std::tuple<Result...>, true, OnMismatch>
    : results_verdict<outputs<Slot...>, std::tuple<Result...>,
                      typename make_indices<static_cast<int>(sizeof...(Slot))>::type> {};

/// Whether a function with these inputs takes the arguments; silent when not.
template <class Inputs, mismatch OnMismatch, class... Arguments>
concept fits_inputs = requires {
  []<class... Slot>(inputs<Slot...>*)
    requires std::is_same_v<typename detail::slots_verdict<inputs<Slot...>, std::tuple<Arguments...>,
                                                           sizeof...(Slot) == sizeof...(Arguments), OnMismatch>::type,
                            accepted>
  {}(static_cast<Inputs*>(nullptr));
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
