// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of layout.jsonl that speak of refinements: products of factors, squeezed axes, expanded meshes and shapes.

#include <hyperparallel/layout/unify.hpp>

#include "layout_kinds.hpp"

namespace replay {

inline hp::factor_list factors_from(const json& list) {
  hp::factor_list f;
  for (const json& n : list)
    if (!f.push(whole_number_of(n))) throw malformed_vector("more factors than the core holds");
  return f;
}

inline hp::mesh_shape mesh_shape_from(const json& sizes) {
  hp::mesh_shape m;
  for (const json& n : sizes) {
    if (m.axis_count == hp::max_axes) throw malformed_vector("more axes than the core holds");
    m.size[m.axis_count++] = int_of(n);
  }
  return m;
}

inline verdict replay_util(const json& v) {
  const std::string fn = text_of(v, "fn");
  const hp::factor_list a = factors_from(member(v, "a"));
  const hp::factor_list b = v.contains("b") ? factors_from(v["b"]) : hp::factor_list{};
  hp::factor_result r;
  if (fn == "cumprod")
    r = hp::cumulative_products(a);
  else if (fn == "rcumprod")
    r = hp::cumulative_products(a, true);
  else if (fn == "cumprod_to_shape" || fn == "from_cumprod")
    r = hp::factors_between(a);
  else if (fn == "rcumprod_to_shape" || fn == "from_rcumprod")
    r = hp::factors_between(a, true);
  else if (fn == "merge_sorted")
    r = hp::merge_sorted(a, b, a.size > 1 && a.item[0] > a.item[a.size - 1]);
  else if (fn == "unify")
    r = hp::unify_factors(a, b);
  else if (fn == "expand_rcum")
    r = hp::merge_sorted(a, b, true);
  else if (fn == "expand_shape")
    r = hp::expand_factors(a, b);
  else
    return skip("unknown helper function '" + fn + "'");
  if (expects_error(v)) return pass_if(r.status.code != hp::refinement_code::ok, "accepted");
  if (r.status.code != hp::refinement_code::ok)
    return fail("refused with code " + std::to_string(static_cast<int>(r.status.code)));
  return pass_if(r.factors == factors_from(member(v, "expect")), "other factors");
}

/// Ours against an expected mesh, shape and numeric map, of which a vector may state any.
inline verdict same_as_expected(const hp::refined_layout& ours, const hp::shape& s, const json& expect) {
  if (ours.status.code != hp::refinement_code::ok)
    return fail("refused with code " + std::to_string(static_cast<int>(ours.status.code)));
  if (expect.contains("mesh") && !(ours.layout.mesh == mesh_shape_from(expect["mesh"])))
    return fail("got " + text_of(ours.layout));
  if (expect.contains("shape") && !(s == shape_from(expect["shape"]))) return fail("got shape " + text_of(s));
  if (!expect.contains("tmap")) return pass();
  const hp::layout_result wanted = layout_from_tmap(ours.layout.mesh, expect["tmap"]);
  return pass_if(wanted.status.code == hp::layout_code::ok && ours.layout == wanted.layout,
                 "got " + text_of(ours.layout));
}

/// `squeeze_ones`, `expand_mesh` and `expand_shape`.
inline verdict replay_refinement(const json& v) {
  const read_mesh m = mesh_of(v);
  if (m.why) return expects_error(v) ? pass() : fail(m.why.text);
  const read_layout l = layout_of(v, m.mesh);
  if (l.why) return expects_error(v) ? pass() : fail(l.why.text);
  const std::string kind = text_of(v, "kind");
  hp::shape s = v.contains("shape") ? shape_from(v["shape"]) : hp::shape{};
  hp::refined_layout ours{{}, l.layout};
  if (kind == "squeeze_ones") {
    ours = hp::on_refined_mesh(l.layout, hp::without_ones(m.mesh.shape));
  } else if (kind == "expand_mesh") {
    ours = hp::on_refined_mesh(l.layout, mesh_shape_from(member(v, "to_mesh")));
    if (ours.status.code == hp::refinement_code::ok) {
      const hp::split_shape split = hp::one_axis_per_dim(ours.layout, s);
      ours = split.status.code == hp::refinement_code::ok ? hp::on_refined_shape(ours.layout, s, split.shape)
                                                          : hp::refined_layout{split.status, {}};
      s = split.shape;
    }
  } else {
    const hp::shape to = shape_from(member(v, "to_shape"));
    ours = hp::on_refined_shape(l.layout, s, to);
    if (ours.status.code == hp::refinement_code::ok) ours = hp::with_whole_axes(ours.layout);
    s = to;
  }
  if (expects_error(v)) return pass_if(ours.status.code != hp::refinement_code::ok, "accepted");
  return same_as_expected(ours, s, member(v, "expect"));
}

}  // namespace replay
