// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the loops of an operator step through its dense blocks.
//
// Law: the element of tensor t at a point of the box lies at Σ over loops of point · step; a loop that t does not
// follow has step 0. Lists of loops are walked row-major, their last loop fastest. O(points).

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/kernels/exact.hpp>
#include <hyperparallel/kernels/operator_call.hpp>
#include <hyperparallel/support/array_bound.hpp>

HYPERPARALLEL_EXACT_BEGIN

namespace hyperparallel { inline namespace v0_2 { namespace kernels {

namespace detail {

/// Elements from one index of each loop to the next, in one tensor's block.
struct loop_steps {
  extent_t of[max_factors] = {};
};

inline loop_steps steps_of(const operator_call& c, const tensor_factors& t) {
  loop_steps s;
  extent_t step = 1;
  for (int d = t.rank - 1; d >= 0; --d) {
    s.of[t.term[d]] += step;
    step *= c.loop[t.term[d]].extent;
  }
  return s;
}

/// Some of an operator's loops, outermost first.
struct loop_list {
  int count = 0;
  int loop[max_factors] = {};
  void push(int l) { loop[count++] = l; }
};

inline loop_list loops_of(const tensor_factors& t) {
  loop_list list;
  for (int d = 0; d < t.rank; ++d) list.push(t.term[d]);
  return list;
}

/// Those loops of `t` that all of `inside` follow and none of `outside` does.
inline loop_list loops_of(const tensor_factors& t, std::initializer_list<const tensor_factors*> inside,
                          std::initializer_list<const tensor_factors*> outside) {
  loop_list list;
  for (int d = 0; d < t.rank; ++d) {
    bool listed = true;
    for (const tensor_factors* other : inside) listed = listed && has_factor(*other, t.term[d]);
    for (const tensor_factors* other : outside) listed = listed && !has_factor(*other, t.term[d]);
    if (listed) list.push(t.term[d]);
  }
  return list;
}

/// Points of the box of the listed loops.
inline extent_t points_of(const operator_call& c, const loop_list& list) {
  extent_t n = 1;
  for (int i = 0; i < list.count; ++i) n *= c.loop[list.loop[i]].extent;
  return n;
}

/// The same of the whole tensors, of which the box may be a piece.
inline extent_t whole_points_of(const operator_call& c, const loop_list& list) {
  extent_t n = 1;
  for (int i = 0; i < list.count; ++i) n *= c.loop[list.loop[i]].whole;
  return n;
}

/// Writes the offset of every point of the listed loops to `out`.
inline void offsets_of(const operator_call& c, const loop_list& list, const loop_steps& s, std::vector<extent_t>& out) {
  out.assign(1, 0);
  for (int i = 0; i < list.count; ++i) {
    const extent_t extent = c.loop[list.loop[i]].extent, step = s.of[list.loop[i]];
    const extent_t before = static_cast<extent_t>(out.size());
    out.resize(static_cast<std::size_t>(before * extent));
    for (extent_t p = before - 1; p >= 0; --p) {
      const extent_t base = out[static_cast<std::size_t>(p)];
      for (extent_t x = extent - 1; x >= 0; --x) out[static_cast<std::size_t>(p * extent + x)] = base + x * step;
    }
  }
}

/// Calls body(offsets) at each point of the listed loops; offsets[i] is that of the tensor with steps[i].
template <std::size_t Tensors, class Body>
void for_each_point(const operator_call& c, const loop_list& list, const loop_steps (&s)[Tensors], const Body& body) {
  extent_t at[max_factors] = {}, offset[Tensors] = {};
  for (extent_t left = points_of(c, list); left > 0; --left) {
    body(static_cast<const extent_t(&)[Tensors]>(offset));
    for (int i = list.count - 1; i >= 0; --i) {
      const int l = list.loop[i];
      const bool wraps = ++at[i] == c.loop[l].extent;
      for (std::size_t t = 0; t < Tensors; ++t) offset[t] += s[t].of[l] * (wraps ? 1 - c.loop[l].extent : 1);
      if (!wraps) break;
      at[i] = 0;
    }
  }
}

}  // namespace detail

template <class T>
const T* operand(const operator_call& c, int i) {
  return static_cast<const T*>(c.operand[i]);
}
template <class T>
T* result(const operator_call& c, int i) {
  return static_cast<T*>(c.result[i]);
}

/// Refuses a call whose shape the kernel cannot compute.
inline void expect(bool holds, const operator_call& c, const char* what) {
  if (!holds) throw std::invalid_argument(std::string(c.rule->name.text) + ": " + what);
}

namespace detail {

/// Expects tensors of at least one dim whose last dims follow one loop; returns it.
inline int last_loop(const operator_call& c, const tensor_factors& t) {
  expect(t.rank > 0, c, "an operand has no dims");
  return t.term[t.rank - 1];
}

}  // namespace detail

}}}  // namespace hyperparallel::v0_2::kernels

HYPERPARALLEL_EXACT_END
