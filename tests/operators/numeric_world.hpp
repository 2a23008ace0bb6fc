// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small numeric world for operator tests: integer tensors, a device's slices of them, and the question whether local
// results are the slices of the true result. It knows slices of layouts, and nothing about factor rules.

#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/layout/tensor_map.hpp>

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

/// What the device at `c` holds of `whole` under `l`: its slice, or its term of a sum whose terms look arbitrary.
inline tensor held(const tensor& whole, const hp::layout_value& l, const hp::coordinate& c) {
  const hp::box b = hp::slice_at(l, whole.shape, c);
  hp::shape local = whole.shape;
  for (int d = 0; d < b.rank; ++d) local.extent[d] = b.dim[d].end - b.dim[d].begin;
  tensor t(local);
  const contribution k = contribution_of(l, c);
  std::size_t i = 0;
  for_each_in(b, whole.shape, [&](std::size_t offset) {
    const auto term = [&](int index) { return mixed(offset * 31 + static_cast<std::size_t>(index) * 977 + 5); };
    std::int64_t value = whole.element[offset];
    if (k.index + 1 < k.count) {
      value = term(k.index);
    } else {
      for (int other = 0; other + 1 < k.count; ++other) value -= term(other);
    }
    t.element[i++] = value;
  });
  return t;
}

/// Whether `local[position]` are the slices of `whole` under `l`: right shapes, and right sums over the partial axes.
inline bool is_placed(const tensor& whole, const hp::layout_value& l, std::vector<tensor>& local) {
  if (hp::check_shape(l, whole.shape).code != hp::layout_code::ok) return false;
  const int positions = hp::position_count(l.mesh);
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
      std::int64_t sum = 0;
      for (const tensor* t : terms) sum += t->element[i];
      right = right && sum == whole.element[offset];
      ++i;
    });
    if (!right) return false;
  }
  return true;
}

/// All layouts of whole axes: each axis replicates, is a partial sum, or shards one dim, in every order on one dim.
inline std::vector<hp::layout_value> all_layouts(const hp::mesh_shape& m, int rank) {
  std::vector<hp::layout_value> found;
  std::vector<std::vector<int>> on(static_cast<std::size_t>(rank));
  const auto visit = [&](const auto& self, int axis, unsigned sums) -> void {
    if (axis == m.axis_count) {
      hp::layout_value l = hp::replicated(m, rank);
      for (int d = 0; d < rank; ++d)
        for (const int a : on[static_cast<std::size_t>(d)]) hp::append_cut(l, {d, a, 1, m.size[a]});
      for (int a = 0; a < m.axis_count; ++a)
        if ((sums >> a & 1u) != 0) l.partial[a] = hp::reduce_op::sum;
      found.push_back(l);
      return;
    }
    self(self, axis + 1, sums);
    self(self, axis + 1, sums | 1u << axis);
    for (auto& list : on)
      for (std::size_t place = 0; place <= list.size(); ++place) {
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), axis);
        self(self, axis + 1, sums);
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

/// Runs `compute` on every device's slices. False when some device's slices do not fit each other.
template <class Compute>
bool run_everywhere(const Compute& compute, const std::vector<tensor>& whole,
                    const std::vector<const hp::layout_value*>& layout, std::vector<tensor>& local) {
  local.clear();
  const hp::mesh_shape m = layout[0]->mesh;
  for (int p = 0; p < hp::position_count(m); ++p) {
    std::vector<tensor> slices;
    for (std::size_t o = 0; o < whole.size(); ++o)
      slices.push_back(held(whole[o], *layout[o], hp::coordinates_of(m, p)));
    tensor result;
    if (!compute(slices, result)) return false;
    local.push_back(result);
  }
  return true;
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
