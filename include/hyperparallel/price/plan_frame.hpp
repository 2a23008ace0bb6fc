// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frames of a plan: the degrees of the mesh axes, the pipeline, and the options of the whole model.
//
//   axes, outer to inner   dp, ep, cp, x, tp   data, experts (and data), context, second and first tensor axis
//   options                sharding of parameters and states (ZeRO 0 to 3, and 3 with parameters that stay gathered
//                          from forward to backward), how attention meets the cut sequence
//
// A mesh's last axis lies on the innermost links, so tensor axes stay where links are fastest; or data does, and in the
// full set experts or context. A pipeline's stages are outermost. Degrees that do not divide batch, sequence or experts
// are not listed, nor are options that say the same as others. Law: each frame is visited once.

#include <hyperparallel/graph/graph.hpp>
#include <hyperparallel/mesh/device_matrix.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// How attention meets keys and values of a sequence that is cut along cp.
enum class context_form : unsigned char { gathered, ring, all_to_all };

constexpr const char* name_of(context_form c) {
  constexpr const char* names[] = {"gathered", "ring", "all_to_all"};
  return names[static_cast<int>(c)];
}

/// Which axis lies innermost.
enum class axis_order : unsigned char { tensor_inside, data_inside, experts_inside, context_inside };

constexpr const char* name_of(axis_order o) {
  constexpr const char* names[] = {"tensor", "data", "experts", "context"};
  return names[static_cast<int>(o)];
}

namespace detail {

/// Stage 3 of ZeRO, but for parameters that stay gathered from forward to backward: as hybrid sharding at level 2.
inline constexpr int zero_gathered_once = 4;

}  // namespace detail

struct plan_frame {
  int dp = 1, ep = 1, cp = 1, x = 1, tp = 1;
  int pipeline = 1;
  axis_order order = axis_order::tensor_inside;
  context_form context = context_form::gathered;
  int zero = 0;            ///< stage of sharding on dp, ep and cp, to zero_gathered_once
  bool zero_wide = false;  ///< on x and tp too, where a parameter is whole along them
  friend constexpr bool operator==(const plan_frame&, const plan_frame&) = default;
};

/// Limits of the enumeration.
struct search_limits {
  bool reduced = true;   ///< fewer candidates, options and orders
  int tensor = 16;       ///< x · tp at most
  int least_tensor = 1;  ///< and at least
  int orders = 4;        ///< of axis_order, the first ones; the reduced set has at most two
  int context = 8;
  int experts = 64;
  int pipeline = 16;
  bool named = true;  ///< strategies of named_strategies.hpp compete as they are
  friend constexpr bool operator==(const search_limits&, const search_limits&) = default;
};

/// The mesh of a frame: axes of degree 1 are left out, except for one where there is nothing else.
constexpr mesh_value mesh_of(const plan_frame& f) {
  const char* name[] = {"dp", "ep", "cp", "x", "tp"};
  int degree[] = {f.dp, f.ep, f.cp, f.x, f.tp};
  constexpr int moved[] = {4, 0, 1, 2};  // goes to the end
  for (int i = moved[static_cast<int>(f.order)]; i < 4; ++i) {
    const char* const n = name[i];
    const int d = degree[i];
    name[i] = name[i + 1];
    degree[i] = degree[i + 1];
    name[i + 1] = n;
    degree[i + 1] = d;
  }
  const char* kept_name[5] = {};
  int kept[5] = {}, count = 0;
  for (int i = 0; i < 5; ++i) {
    if (degree[i] == 1) continue;
    kept_name[count] = name[i];
    kept[count++] = degree[i];
  }
  if (count == 0) {
    kept_name[0] = "dp";
    kept[count++] = 1;
  }
  return make_mesh(kept_name, count, kept, count).mesh;
}

namespace detail {

/// Extent of the dim of this name; 1 where the graph has none.
constexpr extent_t dim_extent(const graph& g, const char* name) {
  const int d = find_dim(g, name);
  return d < 0 ? extent_t{1} : g.dim[d].extent;
}

/// Calls `visit(frame)` for each frame of `devices` devices and `g`. O(frames).
template <class Visit>
constexpr void visit_frames(const graph& g, int devices, const search_limits& most, const Visit& visit) {
  const extent_t batch = dim_extent(g, "batch"), sequence = dim_extent(g, "seq"), experts = dim_extent(g, "experts");
  extent_t layers = 0;
  for (const graph_segment& s : g.segment) layers += s.repeats;
  plan_frame f;
  const auto visit_options = [&] {
    const int data = f.dp * f.ep * f.cp;
    for (int context = 0; context < (f.cp > 1 && !most.reduced ? 3 : 1); ++context)
      for (int order = 0; order < (most.reduced && most.orders > 2 ? 2 : most.orders); ++order) {
        const int moved[] = {2, f.dp, f.ep, f.cp},
                  behind[] = {2, f.ep * f.cp * f.x * f.tp, f.cp * f.x * f.tp, f.x * f.tp};
        if (moved[order] == 1 || behind[order] == 1) continue;
        for (int zero = 0; zero <= zero_gathered_once; ++zero) {
          if (zero > 0 && data == 1 && (most.reduced || f.x * f.tp == 1)) continue;
          if (most.reduced && data > 1 && zero == 0) continue;  // 1 moves as much and holds less
          for (int wide = 0; wide < (zero > 0 && f.x * f.tp > 1 && !most.reduced ? 2 : 1); ++wide) {
            if (zero > 0 && data == 1 && wide == 0) continue;
            plan_frame now = f;
            now.context = static_cast<context_form>(context);
            now.order = static_cast<axis_order>(order);
            now.zero = zero;
            now.zero_wide = wide == 1;
            visit(now);
          }
        }
      }
  };
  for (f.pipeline = 1; f.pipeline <= most.pipeline && f.pipeline <= devices; ++f.pipeline) {
    if (devices % f.pipeline != 0 || (f.pipeline > 1 && f.pipeline > layers)) continue;
    const int stage = devices / f.pipeline;
    for (f.tp = 1; f.tp <= most.tensor; ++f.tp)
      for (f.x = 1; f.x * f.tp <= most.tensor; ++f.x) {
        if (f.tp * f.x < most.least_tensor || stage % (f.tp * f.x) != 0 ||
            (f.x > 1 && (f.tp == 1 || (most.reduced && f.x > f.tp))))
          continue;
        for (f.cp = 1; f.cp <= most.context; ++f.cp) {
          if (stage % (f.tp * f.x * f.cp) != 0 || sequence % f.cp != 0) continue;
          for (f.ep = 1; f.ep <= most.experts; ++f.ep) {
            const int inner = f.tp * f.x * f.cp * f.ep;
            if (stage % inner != 0 || experts % f.ep != 0 || batch % (f.ep * (stage / inner)) != 0) continue;
            f.dp = stage / inner;
            visit_options();
          }
        }
      }
  }
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
