// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of elements that a lowered program's arrays hold, and arrays of fixed size for each of them.
//
// Law: each type has one place. Room that is not used costs nothing.

#include <type_traits>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <hyperparallel/lowering/lowered_program.hpp>
#include <hyperparallel/lowering/stored_forms.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Elements of one type.
template <class T, int Room>
struct image_array {
  static_assert(std::is_trivially_destructible_v<T>);
  T item[array_bound(Room > 0 ? Room : 1)]{};
};

/// What a program of 1 000 steps takes. Room that is not used costs nothing.
template <class T>
inline constexpr int image_room = sizeof(T) > 512  ? 1 << 10
                                  : sizeof(T) <= 8 ? 1 << 17
                                                   : 1 << 13;

using image_types = boost::mp11::mp_list<char, bool, int, extent_t, graph_dim, graph_tensor, graph_operator,
                                         stored_rule, tensor_factors, factor, graph_segment, layout_value, stored_value,
                                         program_storage, program_compute, program_move, program_step, whole_tensor,
                                         program_part, move_facts, staged_block, stored_load, step_levels, stored_parts,
                                         move_step, move_row, rank_span, plan_row, word_wait, stored_run>;
inline constexpr int image_type_count = boost::mp11::mp_size<image_types>::value;

template <class T, class List>
struct place_in_list;
template <class T, class... All>
struct place_in_list<T, boost::mp11::mp_list<All...>> {
  static constexpr int value = [] {
    int place = 0;
    static_cast<void>((... || (std::is_same_v<T, All> ? true : (++place, false))));
    return place;
  }();
};
/// Of a type that is none of them: how many they are.
template <class T>
inline constexpr int image_place = place_in_list<T, image_types>::value;
/// Its elements are those of the image; the others are stored in another form, or one by one behind their arrays.
template <class T>
concept is_stored_as_is = image_place<T> < image_type_count;

/// How many elements of each type an image holds, and of how many arrays.
struct image_sizes {
  int count[detail::image_type_count] = {};
  int arrays = 0;
};

template <class Types>
struct image_rooms;
template <class... T>
struct image_rooms<boost::mp11::mp_list<T...>> : image_array<T, image_room<T>>... {};

template <class Types, image_sizes Sizes>
struct image_arrays;
template <class... T, image_sizes Sizes>
struct image_arrays<boost::mp11::mp_list<T...>, Sizes> : image_array<T, Sizes.count[image_place<T>]>... {};

}}}  // namespace hyperparallel::v0_2::detail
