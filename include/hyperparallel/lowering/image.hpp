// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lowered program as a constant: the elements of all its arrays in arrays of fixed size, one for each type.
//
// A constant evaluation may not keep memory that it has allocated. So one evaluation lowers the program and writes it
// into an `image_buffer`, whose arrays have more room than is needed, and `program_image` takes as much of each as is
// used. `program_of(image)` is the lowered program again, on the heap, when a world starts.
//
//   static constexpr auto buffer = hp::image_buffer(hp::lower_training(p));
//   static constexpr auto image = hp::image_of<buffer.sizes>(buffer);
//   hp::lowered_program l = hp::program_of(image);
//
// Laws: `program_of` gives back every array and every number, and the operators, which it is given; where the room is too small the buffer says that it does
// not fit. An array that `visit_arrays` does not list makes the constant no constant. Complexity: O(elements) each.

#include <hyperparallel/lowering/image_types.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Room for any program that may be a constant.
template <class Types>
struct image_room_of : image_rooms<Types> {
  lowered_program rest;  ///< what is in no array
  int array_size[image_room<extent_t>] = {};
  image_sizes sizes{};
  bool fits = true;  ///< else it holds nothing that is of use

  // Not assigned: g++ 12 cannot compare addresses of a constant that it is making, as an assignment of arrays does.
  constexpr explicit image_room_of(lowered_program&& l) : rest(static_cast<lowered_program&&>(l)) {}

  template <class T>
  constexpr const T* items() const {
    return image_array<T, image_room<T>>::item;
  }
};

/// Moves the elements of arrays into the room, and leaves the arrays empty.
template <class Room>
class image_writer {
 public:
  constexpr explicit image_writer(Room& room) : room_(room) {}

  template <class T>
  constexpr void take(growing_array<T>& array) {
    room_.fits = room_.fits && room_.sizes.arrays < image_room<extent_t>;
    if (room_.fits) take_elements(array);
    const growing_array<T> gone(static_cast<growing_array<T>&&>(array));
  }

 private:
  template <class T>
  constexpr void take_elements(growing_array<T>& array) {
    room_.array_size[room_.sizes.arrays++] = array.size;
    if constexpr (is_stored_as_is<T>) {
      put_all(array.item, array.size);
    } else {
      for (T& one : array) {
        if constexpr (holds_arrays<T>) visit_arrays(one, [&](auto& inner) { take(inner); });
        put(one);
      }
    }
  }
  // The loop calls nothing: a call costs a constant evaluation more than the element does.
  template <class T>
  constexpr void put_all(T* from, int count) {
    int& used = room_.sizes.count[image_place<T>];
    room_.fits = room_.fits && count <= image_room<T> - used;
    if (!room_.fits) return;
    T* const to = room_.image_array<T, image_room<T>>::item + used;
    for (int i = 0; i < count; ++i) to[i] = static_cast<T&&>(from[i]);
    used += count;
  }
  template <class T>
  constexpr void put(T& one) {
    put_all(&one, 1);
  }
  template <class T>
  constexpr void put_made(T made) {
    put(made);
  }
  constexpr void put(program_value& v) { put_made(stored_value{v.tensor, v.storage, place_of(v.layout), v.rotation}); }
  constexpr void put(move_kind& k) { put_made<move_facts>(k); }
  constexpr void put(move_load& l) { put_made(stored_load{l.candidate, l.code}); }
  constexpr void put(lowered_run& r) { put_made(stored_run{r.phases, r.plan.status, r.plan.machine, r.plan.of_class}); }
  constexpr void put(graph_rule& r) {
    put_made(stored(r));
    put_all(r.rule.operand, r.rule.operand_count);
    put_all(r.rule.result, r.rule.result_count);
    put_all(r.rule.factor, r.rule.factor_count);
  }
  constexpr void put(move_pulls& m) {
    put_made(stored(m.parts));
    for (int i = 0; i < m.parts.count; ++i) put_all(m.parts.part[i].step, m.parts.part[i].step_count);
  }
  /// Layouts are stored once.
  constexpr int place_of(layout_value& l) {
    const int count = room_.sizes.count[image_place<layout_value>];
    const layout_value* const known = room_.template items<layout_value>();
    for (int at = count - 1; at >= 0; --at)
      if (known[at] == l) return at;
    put(l);
    return count;
  }

  Room& room_;
};

/// Written by one constant evaluation. A template, as what reads and writes images is: a unit that keeps no plan as a
/// constant makes none of it.
template <class Types>
struct image_buffer_of : detail::image_room_of<Types> {
  constexpr explicit image_buffer_of(lowered_program&& l)
      : detail::image_room_of<Types>(static_cast<lowered_program&&>(l)) {
    detail::image_writer<detail::image_room_of<Types>> writer(*this);
    detail::visit_arrays(this->rest, [&](auto& array) { writer.take(array); });
  }
};
using image_buffer = image_buffer_of<detail::image_types>;

/// Where the elements of one type begin.
template <class T>
struct image_items {
  const T* item = nullptr;
};
template <class Types>
struct items_of_types;
template <class... T>
struct items_of_types<boost::mp11::mp_list<T...>> : image_items<T>... {};

}  // namespace detail

/// Any image or buffer, its sizes forgotten. It lives no longer than that does.
struct image_view : detail::items_of_types<detail::image_types> {
  const lowered_program* rest = nullptr;
  const int* array_size = nullptr;

  template <class Image>
    requires requires(const Image& i) { i.template items<char>(); }
  constexpr image_view(const Image& image) : rest(&image.rest), array_size(image.array_size) {
    take_items(image, static_cast<const detail::image_types*>(nullptr));
  }

  template <class T>
  constexpr const T* items() const {
    return detail::image_items<T>::item;
  }

 private:
  template <class Image, class... T>
  constexpr void take_items(const Image& image, const boost::mp11::mp_list<T...>*) {
    ((detail::image_items<T>::item = image.template items<T>()), ...);
  }
};

namespace detail {

/// A lowered program without an array on the heap.
template <image_sizes Sizes>
struct program_image : detail::image_arrays<detail::image_types, Sizes> {
  lowered_program rest{};
  int array_size[array_bound(Sizes.arrays > 0 ? Sizes.arrays : 1)] = {};

  template <class T>
  constexpr const T* items() const {
    return detail::image_array<T, Sizes.count[detail::image_place<T>]>::item;
  }
};

/// As much of the buffer as is used. Domain: the sizes are its own.
template <image_sizes Sizes, class Types>
constexpr program_image<Sizes> image_of(const image_buffer_of<Types>& b) {
  program_image<Sizes> image;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, detail::image_types>>(
      [&]<class T>(boost::mp11::mp_identity<T>) {
        constexpr int count = Sizes.count[detail::image_place<T>];
        T* const to = image.detail::template image_array<T, count>::item;
        const T* const from = b.template items<T>();
        for (int i = 0; i < count; ++i) to[i] = from[i];
      });
  for (int i = 0; i < Sizes.arrays; ++i) image.array_size[i] = b.array_size[i];
  image.rest = b.rest;
  image.rest.program.graph.operators = {};  // a constant that names them brings in the code of all
  return image;
}

/// Reads the arrays of an image in the order in which they were written.
class image_reader {
 public:
  constexpr explicit image_reader(const image_view& image) : image_(image) {}

  template <class T>
  constexpr void fill(growing_array<T>& array) {
    const int size = image_.array_size[arrays_++];
    array.reserve(size);
    for (int i = 0; i < size; ++i) {
      array.push(T{});
      get(array.last());
      if constexpr (holds_arrays<T>) visit_arrays(array.last(), [&](auto& inner) { fill(inner); });
    }
  }

 private:
  template <class T>
  constexpr const T& next() {
    return image_.items<T>()[next_[image_place<T>]++];
  }
  template <class T>
  constexpr void get(T& one) {
    one = next<T>();
  }
  constexpr void get(program_value& v) {
    const stored_value& s = next<stored_value>();
    v = {s.tensor, image_.items<layout_value>()[s.layout], s.rotation, s.storage};
  }
  constexpr void get(move_kind& k) { static_cast<move_facts&>(k) = next<move_facts>(); }
  constexpr void get(move_load& l) {
    const stored_load& s = next<stored_load>();
    l.candidate = s.candidate;
    l.code = s.code;
  }
  constexpr void get(lowered_run& r) {
    const stored_run& s = next<stored_run>();
    r.phases = s.phases;
    r.plan.status = s.status;
    r.plan.machine = s.machine;
    r.plan.of_class = s.of_class;
  }
  constexpr void get(graph_rule& r) {
    r = restored(next<stored_rule>());
    for (int o = 0; o < r.rule.operand_count; ++o) get(r.rule.operand[o]);
    for (int o = 0; o < r.rule.result_count; ++o) get(r.rule.result[o]);
    for (int f = 0; f < r.rule.factor_count; ++f) get(r.rule.factor[f]);
  }
  constexpr void get(move_pulls& m) {
    m.parts = restored(next<stored_parts>());
    for (int i = 0; i < m.parts.count; ++i)
      for (int k = 0; k < m.parts.part[i].step_count; ++k) get(m.parts.part[i].step[k]);
  }

  image_view image_;
  int arrays_ = 0;
  int next_[image_type_count] = {};
};

}  // namespace detail

/// The lowered program of an image, of a graph with these operators.
template <class Lowered = lowered_program>
constexpr Lowered program_of(const image_view& image, const operator_list& operators = builtin_list) {
  Lowered l = *image.rest;
  l.program.graph.operators = operators;
  detail::image_reader reader(image);
  detail::visit_arrays(l, [&](auto& array) { reader.fill(array); });
  return l;
}

}}  // namespace hyperparallel::v0_2
