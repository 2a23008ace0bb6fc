// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a refused type speaks: one error line that reads as a sentence and carries the user's own names and numbers.
//
// The core returns a status value. A façade's selector maps a bad status to a template of `diag` that is declared
// and never defined, and asks for its size in the selector's body:
//
//   error: … incomplete type 'diag::extent_is_not_divisible_by_its_shards<dim<0>, extent<1000>, shards<32>,
//   axes<'t', 'p'>>'
//
// Where `static_assert` takes a message of the user's (C++26; `HYPERPARALLEL_REFUSALS_IN_SENTENCES`), the line is the
// sentence of refusal_sentence.hpp instead, with the remedy.
//
// Law: one mistake gives exactly one error line, however often the rejected name is used later, because the selector is
// instantiated once and still defines its members. Axis names are character packs, the one form that every compiler
// prints readably.

#include <cstddef>
#include <cstdint>

#if defined(__cpp_static_assert) && __cpp_static_assert >= 202306L
#define HYPERPARALLEL_REFUSALS_IN_SENTENCES 1
#include <hyperparallel/support/refusal_sentence.hpp>
#else
#define HYPERPARALLEL_REFUSALS_IN_SENTENCES 0
#endif

namespace hyperparallel { inline namespace v0_2 {

template <char... Characters>
struct alias {};
template <char... Characters>
struct axes_named {};
template <int>
struct dim {};
template <std::int64_t>
struct extent {};
template <std::int64_t>
struct shards {};
template <std::int64_t>
struct positions {};
template <int>
struct map_entries {};
template <int>
struct tensor_dims {};

/// The name that is most like one that does not exist, and those that do.
template <char... Characters>
struct nearest_name {};
template <class... Aliases>
struct axes_there_are {};

/// What a status without complaint selects: complete, so its size can be asked.
struct accepted {};

/// `static_assert(insist<Why>::met)` compiles for `accepted` and is one error line that spells `Why` for anything
/// rejected.
template <class Why>
struct insist {
#if HYPERPARALLEL_REFUSALS_IN_SENTENCES
  static constexpr bool possible = requires { sizeof(Why); };
  static_assert(possible, refusal_message<Why>{});
#else
  static_assert(sizeof(Why) != 0);
#endif
  static constexpr bool met = true;
};

namespace detail {

template <int... I>
struct indices {};

template <int N, class = void>
struct make_indices;

#if defined(__clang__)
template <class T, T... I>
struct integer_indices {
  using type = indices<I...>;
};
template <int N>
struct make_indices<N, void> {
  using type = typename __make_integer_seq<integer_indices, int, N>::type;
};
#else
template <int N>
struct make_indices<N, void> {
  using type = indices<__integer_pack(N)...>;
};
#endif

template <template <char...> class Name, class Traits, class Indices>
struct spell;
template <template <char...> class Name, class Traits, int... I>
struct spell<Name, Traits, indices<I...>> {
  using type = Name<Traits::text[I]...>;
};

/// `Name<'d','p'>` from a traits type with `static constexpr` members `text` (characters) and `length`.
template <template <char...> class Name, class Traits>
using spelled = typename detail::spell<Name, Traits, typename detail::make_indices<Traits::length>::type>::type;

}  // namespace detail

}}  // namespace hyperparallel::v0_2
