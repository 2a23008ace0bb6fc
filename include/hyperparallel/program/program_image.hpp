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
// Laws: `program_of` gives back every array and every number; where the room is too small the buffer says that it does
// not fit. An array that `visit_arrays` does not list makes the constant no constant. Complexity: O(elements) each.

#include <type_traits>

#include <boost/mp11.hpp>

#include <hyperparallel/program/lowered_program.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

// ---- the arrays of each part; what holds arrays itself is visited through its elements ----

template <class Visit>
constexpr void visit_arrays(graph& g, const Visit& visit) {
  visit(g.text);
  visit(g.dim);
  visit(g.tensor);
  visit(g.op);
  visit(g.rule);
  visit(g.segment);
  visit(g.monitor);
}
template <class Visit>
constexpr void visit_arrays(move_kind& k, const Visit& visit) {
  visit(k.staged);
}
template <class Visit>
constexpr void visit_arrays(move_load& l, const Visit& visit) {
  visit(l.step);
}
template <class Visit>
constexpr void visit_arrays(move_pulls& m, const Visit& visit) {
  visit(m.row);
  visit(m.sender);
  visit(m.sender_begin);
  visit(m.pulled);
}
template <class Visit>
constexpr void visit_arrays(lowered_run& r, const Visit& visit) {
  visit(r.plan.row);
  visit(r.plan.duration);
  visit(r.plan.wait_end);
  visit(r.plan.wait);
  visit(r.plan.survives);
  visit(r.plan.writes);
  visit(r.reads);
}
template <class Visit>
constexpr void visit_arrays(lowered_program& l, const Visit& visit) {
  visit_arrays(l.program.graph, visit);
  visit(l.program.value);
  visit(l.program.storage);
  visit(l.program.compute);
  visit(l.program.move);
  visit(l.program.step);
  visit(l.program.home);
  visit(l.pulls.moves.kind);
  visit(l.pulls.moves.of);
  visit(l.pulls.moves.load);
  visit(l.pulls.moves.first_staged);
  visit(l.pulls.kind);
  visit(l.addresses.storage);
  visit(l.addresses.staged);
  visit(l.run);
  visit(l.duration);
}

// ---- what is stored in another form: plans of moves without the room for steps that they do not have ----

struct stored_part {
  move_axes axes{};
  layout_status layout{};
  plan_kind kind = plan_kind::no_op;
  hyperparallel::shape shape{};
  int steps = 0;
};
/// The plans of `move_pulls`; their steps are elements of their own, its arrays follow.
struct stored_parts {
  int count = 0, dim = 0;
  extent_t split = 0;
  stored_part part[2] = {};
};

constexpr stored_parts stored(const move_parts& m) {
  stored_parts s{m.count, m.dim, m.split, {}};
  for (int i = 0; i < m.count; ++i)
    s.part[i] = {m.part[i], m.part[i].layout, m.part[i].kind, m.part[i].shape, m.part[i].step_count};
  return s;
}
/// Without the steps.
constexpr move_parts restored(const stored_parts& s) {
  move_parts m;
  m.count = s.count;
  m.dim = s.dim;
  m.split = s.split;
  for (int i = 0; i < s.count; ++i) {
    static_cast<move_axes&>(m.part[i]) = s.part[i].axes;
    m.part[i].layout = s.part[i].layout;
    m.part[i].kind = s.part[i].kind;
    m.part[i].shape = s.part[i].shape;
    m.part[i].step_count = s.part[i].steps;
  }
  return m;
}

template <class T>
concept holds_arrays = requires(T& t) { visit_arrays(t, [](auto&) {}); };

// ---- room ----

/// Elements of one type.
template <class T, int Room>
struct image_array {
  T item[array_bound(Room > 0 ? Room : 1)]{};
};

/// What a program of 1 000 steps takes. Room that is not used costs nothing, but for elements with a destructor.
template <class T>
inline constexpr int image_room = holds_arrays<T>   ? 1 << 8
                                  : sizeof(T) > 512 ? 1 << 10
                                  : sizeof(T) <= 8  ? 1 << 17
                                                    : 1 << 13;

using image_types = boost::mp11::mp_list<char, bool, int, extent_t, graph_dim, graph_tensor, graph_operator, graph_rule,
                                         graph_segment, program_value, program_storage, program_compute, program_move,
                                         program_step, move_kind, staged_block, move_load, step_levels, stored_parts,
                                         move_step, move_row, plan_row, word_wait, lowered_run>;
template <class T>
inline constexpr int image_place = boost::mp11::mp_find<image_types, T>::value;

}  // namespace detail

/// How many elements of each type an image holds, and of how many arrays.
struct image_sizes {
  int count[boost::mp11::mp_size<detail::image_types>::value] = {};
  int arrays = 0;
};

namespace detail {

template <class Types>
struct image_rooms;
template <class... T>
struct image_rooms<boost::mp11::mp_list<T...>> : image_array<T, image_room<T>>... {};

template <class Types, image_sizes Sizes>
struct image_arrays;
template <class... T, image_sizes Sizes>
struct image_arrays<boost::mp11::mp_list<T...>, Sizes> : image_array<T, Sizes.count[image_place<T>]>... {};

}  // namespace detail

namespace detail {

/// Room for any program that may be a constant.
struct image_room_of_all : image_rooms<image_types> {
  lowered_program rest{};  ///< what is in no array
  int array_size[image_room<extent_t>] = {};
  image_sizes sizes{};
  bool fits = true;  ///< else it holds nothing that is of use

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
    if (room_.fits) room_.array_size[room_.sizes.arrays++] = array.size;
    for (T& one : array) {
      if constexpr (holds_arrays<T>) visit_arrays(one, [&](auto& inner) { take(inner); });
      put(one);
    }
    array = {};
  }

 private:
  template <class T>
  constexpr void put(T& one) {
    int& next = room_.sizes.count[image_place<T>];
    room_.fits = room_.fits && next < image_room<T>;
    if (room_.fits) room_.image_array<T, image_room<T>>::item[next++] = static_cast<T&&>(one);
  }
  constexpr void put(move_pulls& m) {
    stored_parts parts = stored(m.parts);
    put(parts);
    for (int i = 0; i < m.parts.count; ++i)
      for (int k = 0; k < m.parts.part[i].step_count; ++k) put(m.parts.part[i].step[k]);
  }

  Room& room_;
};

}  // namespace detail

/// Written by one constant evaluation.
struct image_buffer : detail::image_room_of_all {
  constexpr explicit image_buffer(lowered_program&& l) {
    rest = static_cast<lowered_program&&>(l);
    detail::image_writer<detail::image_room_of_all> writer(*this);
    detail::visit_arrays(rest, [&](auto& array) { writer.take(array); });
  }
};

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
template <image_sizes Sizes>
constexpr program_image<Sizes> image_of(const image_buffer& b) {
  program_image<Sizes> image;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, detail::image_types>>(
      [&]<class T>(boost::mp11::mp_identity<T>) {
        constexpr int count = Sizes.count[detail::image_place<T>];
        for (int i = 0; i < count; ++i) image.detail::template image_array<T, count>::item[i] = b.items<T>()[i];
      });
  for (int i = 0; i < Sizes.arrays; ++i) image.array_size[i] = b.array_size[i];
  image.rest = b.rest;
  return image;
}

namespace detail {

/// Reads the arrays of an image in the order in which they were written.
template <class Image>
class image_reader {
 public:
  constexpr explicit image_reader(const Image& image) : image_(image) {}

  template <class T>
  constexpr void fill(growing_array<T>& array) {
    const int size = image_.array_size[arrays_++];
    array.reserve(size);
    for (int i = 0; i < size; ++i) {
      array.push(get<T>());
      if constexpr (holds_arrays<T>) visit_arrays(array.last(), [&](auto& inner) { fill(inner); });
    }
  }

 private:
  template <class T>
  constexpr T get() {
    if constexpr (std::is_same_v<T, move_pulls>) {
      move_pulls m;
      m.parts = restored(get<stored_parts>());
      for (int i = 0; i < m.parts.count; ++i)
        for (int k = 0; k < m.parts.part[i].step_count; ++k) m.parts.part[i].step[k] = get<move_step>();
      return m;
    } else {
      return image_.template items<T>()[next_[image_place<T>]++];
    }
  }

  const Image& image_;
  int arrays_ = 0;
  int next_[boost::mp11::mp_size<image_types>::value] = {};
};

}  // namespace detail

/// The lowered program of an image.
template <class Image>
constexpr lowered_program program_of(const Image& image) {
  lowered_program l = image.rest;
  detail::image_reader<Image> reader(image);
  detail::visit_arrays(l, [&](auto& array) { reader.fill(array); });
  return l;
}

}}  // namespace hyperparallel::v0_2
