// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small numeric world for operator tests: integer tensors, a device's slices and terms of them, and the question
// whether local results are the slices of the true result. It knows layouts, and nothing about factor rules.
//
// Partial axes of one tensor all wait for one reduction, or some for sums and some for averages.

#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/operators/partial_words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace numeric {

namespace hp = hyperparallel;

struct tensor {
  hp::shape shape{};
  std::vector<std::int64_t> element;

  explicit tensor(const hp::shape& s = {}) : shape(s), element(static_cast<std::size_t>(hp::element_count(s).value)) {}

  template <class... Index>
  std::int64_t& at(Index... index) {
    const std::int64_t list[] = {static_cast<std::int64_t>(index)...};
    std::int64_t offset = 0;
    for (int d = 0; d < shape.rank; ++d) offset = offset * shape.extent[d] + list[d];
    return element[static_cast<std::size_t>(offset)];
  }
};

/// Calls `visit(global offset)` for the elements of `b` in row-major order.
template <class Visit>
void for_each_in(const hp::box& b, const hp::shape& whole, Visit visit) {
  const std::int64_t n = hp::volume(b);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, offset = 0, stride = 1;
    for (int d = b.rank - 1; d >= 0; --d) {
      const std::int64_t size = b.dim[d].end - b.dim[d].begin;
      offset += (b.dim[d].begin + rest % size) * stride;
      rest /= size;
      stride *= whole.extent[d];
    }
    visit(static_cast<std::size_t>(offset));
  }
}

inline std::int64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::int64_t>((x ^ (x >> 31)) % 19) - 9;
}

inline tensor filled(const hp::shape& s, std::uint64_t seed) {
  tensor t(s);
  for (std::size_t i = 0; i < t.element.size(); ++i) t.element[i] = mixed(seed * 1'000'003 + i * 2'654'435'761ULL + 1);
  return t;
}

/// Index of a device among those that differ from it along partial axes only, and how many these are.
struct contribution {
  int index = 0, count = 1;
};
inline contribution contribution_of(const hp::layout_value& l, const hp::coordinate& c) {
  contribution k;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != hp::reduce_op::none) {
      k.index = k.index * l.mesh.size[a] + c.at[a];
      k.count *= l.mesh.size[a];
    }
  return k;
}

/// The reduction that the partial axes of `l` wait for; `sum` where averages are beside sums.
inline hp::reduce_op reduction_of(const hp::layout_value& l) {
  hp::reduce_op op = hp::reduce_op::none;
  for (int a = 0; a < l.mesh.axis_count; ++a) {
    if (l.partial[a] == hp::reduce_op::none) continue;
    op = op == hp::reduce_op::none || op == l.partial[a] ? l.partial[a] : hp::reduce_op::sum;
  }
  return op;
}

/// Devices that an average is over: the sum of terms is as many times the value.
inline std::int64_t averaged_over(const hp::layout_value& l) {
  std::int64_t n = 1;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] == hp::reduce_op::avg) n *= l.mesh.size[a];
  return n;
}

/// Term `index` of `count` that look arbitrary and whose reduction is `value`. `all` and `any` take 0 and 1.
inline std::int64_t term_of(hp::reduce_op op, std::int64_t value, std::int64_t averaged, int index, int count,
                            std::size_t seed) {
  const auto arbitrary = [seed](int i) { return mixed(seed * 31 + static_cast<std::size_t>(i) * 977 + 5); };
  const bool is_last = index + 1 == count;
  const bool chosen = index == (arbitrary(count) + 9) % count;
  const std::int64_t away = (arbitrary(index) + 9) % 5;
  switch (op) {
    case hp::reduce_op::max:
      return chosen ? value : value - away;
    case hp::reduce_op::min:
      return chosen ? value : value + away;
    case hp::reduce_op::all:
      return value != 0 || (!chosen && away % 2 == 0) ? 1 : 0;
    case hp::reduce_op::any:
      return value == 0 || (!chosen && away % 2 == 0) ? 0 : 1;
    case hp::reduce_op::prod: {
      std::int64_t term = is_last ? value : (arbitrary(index) % 2 == 0 ? 1 : -1);
      for (int other = 0; is_last && other < index; ++other) term *= arbitrary(other) % 2 == 0 ? 1 : -1;
      return term;
    }
    default: {
      std::int64_t term = is_last ? value * averaged : arbitrary(index);
      for (int other = 0; is_last && other < index; ++other) term -= arbitrary(other);
      return term;
    }
  }
}

inline std::int64_t reduced(hp::reduce_op op, std::int64_t x, std::int64_t y) {
  switch (op) {
    case hp::reduce_op::max:
    case hp::reduce_op::any:
      return std::max(x, y);
    case hp::reduce_op::min:
    case hp::reduce_op::all:
      return std::min(x, y);
    case hp::reduce_op::prod:
      return x * y;
    default:
      return x + y;
  }
}

/// What the device at `c` holds of `whole` under `l`: its slice, or its term of a reduction.
inline tensor held(const tensor& whole, const hp::layout_value& l, const hp::coordinate& c) {
  const hp::box b = hp::slice_at(l, whole.shape, c);
  hp::shape local = whole.shape;
  for (int d = 0; d < b.rank; ++d) local.extent[d] = b.dim[d].end - b.dim[d].begin;
  tensor t(local);
  const contribution k = contribution_of(l, c);
  const hp::reduce_op op = reduction_of(l);
  const std::int64_t averaged = averaged_over(l);
  std::size_t own = 0;  // terms of one tensor have nothing to do with those of another
  for (const std::int64_t x : whole.element) own = own * 31 + static_cast<std::size_t>(x);
  std::size_t i = 0;
  for_each_in(b, whole.shape, [&](std::size_t offset) {
    t.element[i++] = term_of(op, whole.element[offset], averaged, k.index, k.count, own + offset);
  });
  return t;
}

/// Slices and fills, as local as propagation says they are: `mine`, what the device at `c` holds of a tensor of shape
/// `whole` under `from`, as it holds it under `to`, which cuts further and has more partial axes.
inline tensor adapted(const tensor& mine, const hp::shape& whole, const hp::layout_value& from,
                      const hp::layout_value& to, const hp::coordinate& c) {
  const hp::box outer = hp::slice_at(from, whole, c), inner = hp::slice_at(to, whole, c);
  hp::shape local = whole;
  hp::box at = inner;
  for (int d = 0; d < whole.rank; ++d) {
    local.extent[d] = inner.dim[d].end - inner.dim[d].begin;
    at.dim[d] = {inner.dim[d].begin - outer.dim[d].begin, inner.dim[d].end - outer.dim[d].begin};
  }
  bool is_identity = false;
  std::int64_t identity = 0;
  for (int a = 0; a < to.mesh.axis_count; ++a) {
    const bool fills = from.partial[a] == hp::reduce_op::none && to.partial[a] != hp::reduce_op::none;
    if (!fills || hp::detail::is_idempotent(to.partial[a]) || c.at[a] == 0) continue;
    is_identity = true;
    identity = to.partial[a] == hp::reduce_op::prod ? 1 : 0;
  }
  tensor t(local);
  std::size_t i = 0;
  for_each_in(at, mine.shape,
              [&](std::size_t offset) { t.element[i++] = is_identity ? identity : mine.element[offset]; });
  return t;
}

/// Whether `local[position]` are the slices of `whole` under `l`: right shapes, and right values once the partial axes
/// are reduced.
inline bool is_placed(const tensor& whole, const hp::layout_value& l, std::vector<tensor>& local) {
  if (hp::check_shape(l, whole.shape).code != hp::layout_code::ok) return false;
  const int positions = hp::position_count(l.mesh);
  const hp::reduce_op op = reduction_of(l);
  const std::int64_t averaged = averaged_over(l);
  for (int p = 0; p < positions; ++p) {
    const hp::coordinate c = hp::coordinates_of(l.mesh, p);
    const hp::box b = hp::slice_at(l, whole.shape, c);
    const tensor& mine = local[static_cast<std::size_t>(p)];
    for (int d = 0; d < b.rank; ++d)
      if (mine.shape.extent[d] != b.dim[d].end - b.dim[d].begin) return false;
    std::vector<const tensor*> terms;
    for (int q = 0; q < positions; ++q) {
      const hp::coordinate other = hp::coordinates_of(l.mesh, q);
      bool same = true;
      for (int a = 0; a < l.mesh.axis_count; ++a)
        same = same && (l.partial[a] != hp::reduce_op::none || other.at[a] == c.at[a]);
      if (same) terms.push_back(&local[static_cast<std::size_t>(q)]);
    }
    std::size_t i = 0;
    bool right = true;
    for_each_in(b, whole.shape, [&](std::size_t offset) {
      std::int64_t total = terms[0]->element[i];
      for (std::size_t t = 1; t < terms.size(); ++t) total = reduced(op, total, terms[t]->element[i]);
      right = right && total == whole.element[offset] * averaged;
      ++i;
    });
    if (!right) return false;
  }
  return true;
}

/// All layouts of whole axes: each axis replicates, is partial by `op`, or shards one dim, in every order on one dim.
inline std::vector<hp::layout_value> all_layouts(const hp::mesh_shape& m, int rank,
                                                 hp::reduce_op op = hp::reduce_op::sum) {
  std::vector<hp::layout_value> found;
  std::vector<std::vector<int>> on(static_cast<std::size_t>(rank));
  const auto visit = [&](const auto& self, int axis, unsigned partial) -> void {
    if (axis == m.axis_count) {
      hp::layout_value l = hp::replicated(m, rank);
      for (int d = 0; d < rank; ++d)
        for (const int a : on[static_cast<std::size_t>(d)]) hp::append_cut(l, {d, a, 1, m.size[a]});
      for (int a = 0; a < m.axis_count; ++a)
        if ((partial >> a & 1u) != 0) l.partial[a] = op;
      found.push_back(l);
      return;
    }
    self(self, axis + 1, partial);
    self(self, axis + 1, partial | 1u << axis);
    for (auto& list : on)
      for (std::size_t place = 0; place <= list.size(); ++place) {
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), axis);
        self(self, axis + 1, partial);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(place));
      }
  };
  visit(visit, 0, 0);
  return found;
}

inline hp::mesh_shape mesh_of(std::vector<int> sizes) {
  hp::mesh_shape m;
  for (const int n : sizes) m.size[m.axis_count++] = n;
  return m;
}

/// Runs `compute` on every device's slices, after what `adapt(operand, its slice, coordinate)` makes of them. False
/// when some device's slices do not fit each other.
template <class Compute, class Adapt>
bool run_everywhere(const Compute& compute, const std::vector<tensor>& whole,
                    const std::vector<const hp::layout_value*>& layout, const Adapt& adapt,
                    std::vector<tensor>& local) {
  local.clear();
  const hp::mesh_shape m = layout[0]->mesh;
  for (int p = 0; p < hp::position_count(m); ++p) {
    const hp::coordinate c = hp::coordinates_of(m, p);
    std::vector<tensor> slices;
    for (std::size_t o = 0; o < whole.size(); ++o) slices.push_back(adapt(o, held(whole[o], *layout[o], c), c));
    tensor result;
    if (!compute(slices, result)) return false;
    local.push_back(result);
  }
  return true;
}

/// The same on the slices as they come.
template <class Compute>
bool run_everywhere(const Compute& compute, const std::vector<tensor>& whole,
                    const std::vector<const hp::layout_value*>& layout, std::vector<tensor>& local) {
  const auto as_they_come = [](std::size_t, tensor mine, const hp::coordinate&) { return mine; };
  return run_everywhere(compute, whole, layout, as_they_come, local);
}

// Operators as loops. Each is false when the operands' shapes do not fit each other.

inline bool matmul(std::vector<tensor>& x, tensor& y) {
  const hp::shape a = x[0].shape, b = x[1].shape;
  if (a.extent[1] != b.extent[0]) return false;
  y = tensor(hp::shape{a.extent[0], b.extent[1]});
  for (int i = 0; i < a.extent[0]; ++i)
    for (int j = 0; j < b.extent[1]; ++j)
      for (int k = 0; k < a.extent[1]; ++k) y.at(i, j) += x[0].at(i, k) * x[1].at(k, j);
  return true;
}

inline bool grouped_matmul(std::vector<tensor>& x, tensor& y) {
  const hp::shape a = x[0].shape, b = x[1].shape;
  if (a.extent[0] != b.extent[0] || a.extent[1] != b.extent[1] || a.extent[3] != b.extent[2]) return false;
  y = tensor(hp::shape{a.extent[0], a.extent[1], a.extent[2], b.extent[3]});
  for (int e = 0; e < a.extent[0]; ++e)
    for (int g = 0; g < a.extent[1]; ++g)
      for (int c = 0; c < a.extent[2]; ++c)
        for (int f = 0; f < b.extent[3]; ++f)
          for (int h = 0; h < a.extent[3]; ++h) y.at(e, g, c, f) += x[0].at(e, g, c, h) * x[1].at(e, g, h, f);
  return true;
}

/// A gated map with SwiGLU's shape, nonlinear in both halves and exact in integers.
inline bool gate(std::vector<tensor>& x, tensor& y) {
  const hp::shape a = x[0].shape;
  if (a.extent[3] != 2) return false;
  y = tensor(hp::shape{a.extent[0], a.extent[1], a.extent[2], a.extent[4]});
  for (int e = 0; e < a.extent[0]; ++e)
    for (int g = 0; g < a.extent[1]; ++g)
      for (int c = 0; c < a.extent[2]; ++c)
        for (int f = 0; f < a.extent[4]; ++f) {
          const std::int64_t z = x[0].at(e, g, c, 0, f);
          y.at(e, g, c, f) = z * z * x[0].at(e, g, c, 1, f) + z * z + 1;
        }
  return true;
}

inline bool add(std::vector<tensor>& x, tensor& y) {
  if (!(x[0].shape == x[1].shape)) return false;
  y = x[0];
  for (std::size_t i = 0; i < y.element.size(); ++i) y.element[i] += x[1].element[i];
  return true;
}

}  // namespace numeric
