// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of layout.jsonl: maps, slices, placements, refusals, meshes and refinements.

#include <hyperparallel/layout/interleaving.hpp>
#include <hyperparallel/layout/unify.hpp>

#include "reading.hpp"

namespace replay {

/// Whether the core says the same as the numeric map `tmap` (and `partial`): both are canonical layouts.
inline verdict same_as_tmap(const hp::layout_value& ours, const hp::mesh_value& m, const json& v) {
  const hp::layout_result expected = layout_from_tmap(m.shape, member(v, "tmap"));
  if (expected.status.code != hp::layout_code::ok) return fail("the core refuses the expected map");
  hp::layout_value wanted = expected.layout;
  if (const refusal r = add_partial(wanted, m, optional_field(v, "partial"))) return fail(r.text);
  return pass_if(ours == wanted, "got " + text_of(ours) + ", expected " + text_of(wanted));
}

inline verdict replay_map(const json& v) {
  const read_mesh m = mesh_of(v);
  const bool suspect = !optional_field(v, "suspect").empty();
  if (m.why) return suspect ? pass() : fail(m.why.text);
  const read_layout l = layout_of(v, m.mesh);
  if (l.why) return suspect ? pass() : fail(l.why.text);
  if (const json& flag = optional_field(v, "interleaved"); flag.is_boolean() && flag.get<bool>() != m.mesh.interleaved)
    return fail("the interleaved flag differs");
  // Canonical maps come back number for number; "None" inside a tuple and axes of size 1 leave the map.
  for (int d = 0; d < l.layout.rank; ++d) {
    std::vector<int> wanted;
    const json& entry = member(v, "tmap").at(static_cast<std::size_t>(d));
    for (const json& number : entry.is_array() ? entry : json::array({entry})) {
      const int n = int_of(number), axes = m.mesh.shape.axis_count;
      if (n >= axes)
        throw malformed_vector("key 'tmap' has " + number.dump() + ", the mesh " + std::to_string(axes) + " axes");
      if (n >= 0 && m.mesh.shape.size[axes - 1 - n] > 1) wanted.push_back(n);
    }
    const hp::numeric_entry ours = hp::numeric_of(l.layout, d);
    if (wanted != std::vector<int>(ours.number, ours.number + ours.count))
      return fail("numeric form of dim " + std::to_string(d) + " differs");
  }
  return same_as_tmap(l.layout, m.mesh, v);
}

inline verdict replay_placement(const json& v) {
  const read_mesh m = mesh_of(v);
  if (m.why) return fail(m.why.text);
  const read_layout l = layout_of(v, m.mesh);
  if (l.why) return fail(l.why.text);
  const hp::placement_list back = hp::placements_of(l.layout);
  const hp::layout_result again =
      hp::layout_from_placements(m.mesh.shape, back.at, m.mesh.shape.axis_count, l.layout.rank);
  if (again.status.code != hp::layout_code::ok || !(again.layout == l.layout))
    return fail("placements do not round trip");
  return same_as_tmap(l.layout, m.mesh, v);
}

inline bool is_suspect(const json& v, const char* what) {
  for (const json& s : optional_field(v, "suspect"))
    if (s.is_string() && s.get<std::string>() == what) return true;
  return false;
}

/// Elements of `s` that the positions which differ on sharding axes hold: the whole tensor, where nothing is lost or
/// doubled.
inline bool slices_tile(const hp::layout_value& l, const hp::shape& s) {
  std::vector<hp::box> distinct;
  for (int p = 0; p < hp::position_count(l.mesh); ++p) {
    const hp::box b = hp::slice_at(l, s, hp::coordinates_of(l.mesh, p));
    bool known = false;
    for (const hp::box& other : distinct) {
      known = known || other == b;
      if (!(other == b) && hp::volume(hp::intersection(other, b)) > 0) return false;
    }
    if (!known) distinct.push_back(b);
  }
  hp::extent_t held = 0;
  for (const hp::box& b : distinct) held += hp::volume(b);
  return held == hp::element_count(s).value;
}

inline verdict replay_slice(const json& v) {
  const read_mesh m = mesh_of(v);
  const bool suspect = !optional_field(v, "suspect").empty();
  if (m.why) return suspect ? pass() : fail(m.why.text);
  const read_layout l = layout_of(v, m.mesh);
  if (l.why) return suspect ? pass() : fail(l.why.text);
  const int position = hp::position_in(m.ranks(), int_of(member(v, "rank")));
  if (position < 0) return fail("the rank is not in the mesh");
  const hp::slice_result ours = hp::slice_of(l.layout, shape_from(member(v, "shape")), position);
  if (is_suspect(v, "uneven-tail-lost"))  // elements would vanish: only a refusal is right
    return pass_if(ours.status.code == hp::layout_code::extent_is_not_divisible_by_its_shards,
                   "a dim that does not divide was accepted");
  if (suspect)  // the reference is not to be copied: refuse, or lose and double nothing
    return pass_if(ours.status.code != hp::layout_code::ok || slices_tile(l.layout, shape_from(member(v, "shape"))),
                   "the slices do not tile the tensor");
  if (ours.status.code != hp::layout_code::ok) return fail(refused(ours.status).text);
  const hp::box wanted = box_from(member(v, "slice"));
  return pass_if(ours == wanted, "got " + text_of(ours.box) + ", expected " + text_of(wanted));
}

inline verdict replay_local_shape(const json& v) {
  const read_mesh m = mesh_of(v);
  if (m.why) return fail(m.why.text);
  const read_layout l = layout_of(v, m.mesh);
  if (l.why) return fail(l.why.text);
  const hp::shape_result ours = hp::local_shape(l.layout, shape_from(member(v, "shape")));
  const json& expect = member(v, "expect");
  if (expects_error(v)) return pass_if(ours.status.code != hp::layout_code::ok, "the shape was accepted");
  const hp::shape wanted = shape_from(expect.is_array() ? expect : member(expect, "local"));
  return pass_if(ours.status.code == hp::layout_code::ok && ours.shape == wanted, "got " + text_of(ours.shape));
}

/// A sub-mesh seen from `rank`: axes kept by name, the other coordinates fixed; `flatten` merges them into one.
inline verdict replay_submesh(const json& v) {
  const read_mesh m = mesh_of(v);
  if (m.why) return expects_error(v) ? pass() : fail(m.why.text);
  const json* sub = &member(v, "alias");
  for (const char* name : {"flatten", "axes", "sub"})
    if (v.contains(name)) sub = &v[name];
  const auto names =
      sub->is_string() ? std::vector<std::string>{sub->get<std::string>()} : sub->get<std::vector<std::string>>();
  std::vector<const char*> texts;
  std::string joined;
  for (const std::string& n : names) {
    texts.push_back(n.c_str());
    joined += (joined.empty() ? "" : "_") + n;
  }
  hp::sub_mesh_result r = hp::sub_mesh(m.mesh, texts.data(), static_cast<int>(texts.size()));
  const hp::axis_list kept = r.kept;
  if (text_of(v, "kind") == "flatten" && r.status.code == hp::sub_mesh_code::ok) {
    const std::string given = v.contains("name") ? text_of(v, "name") : joined;
    const bool taken = names.size() > 1 && hp::axis_index(m.mesh, given.c_str()) >= 0;
    r = hp::flatten_axes(r.mesh, 0, r.mesh.shape.axis_count, given.c_str());
    if (taken) r.status.code = hp::sub_mesh_code::flattened_name_is_taken;
  }
  if (expects_error(v)) return pass_if(r.status.code != hp::sub_mesh_code::ok, "accepted");
  if (r.status.code != hp::sub_mesh_code::ok)
    return fail("refused with code " + std::to_string(static_cast<int>(r.status.code)));

  const int position = hp::position_in(m.ranks(), v.contains("rank") ? int_of(member(v, "rank")) : m.rank.front());
  if (position < 0) return fail("the rank is not in the mesh");
  std::vector<int> ranks;
  for (int i = 0; i < hp::group_size(m.mesh.shape, kept); ++i)
    ranks.push_back(hp::rank_at(m.ranks(), hp::group_member(m.mesh.shape, kept, position, i)));
  const json& expect = member(v, "expect");
  for (const auto& [name, wanted] : expect.items()) {
    if (name == "ranks" && ints_of(wanted) != ranks) return fail("other ranks");
    if (name == "shape" || name == "mesh") {
      const auto& size = r.mesh.shape.size;
      if (ints_of(wanted) != std::vector<int>(size, size + r.mesh.shape.axis_count)) return fail("other shape");
    }
    if (name == "alias" || name == "names") {
      const auto labels = wanted.is_string() ? std::vector<std::string>{wanted.get<std::string>()}
                                             : wanted.get<std::vector<std::string>>();
      if (static_cast<int>(labels.size()) != r.mesh.shape.axis_count) return fail("other names");
      for (std::size_t a = 0; a < labels.size(); ++a)
        if (labels[a] != r.mesh.label[a].text) return fail("axis is called " + std::string(r.mesh.label[a].text));
    }
  }
  return pass();
}

/// Any refusal counts; where the words of `why` name a rule of the core, the code must be that rule's.
inline verdict replay_error(const json& v) {
  if (v.contains("sub")) return replay_submesh(v);
  const std::string why = text_of(v, "why");
  const auto says = [&why](const char* words) { return why.find(words) != std::string::npos; };
  const read_mesh m = mesh_of(v);
  read_layout l;
  if (!m.why &&
      (optional_field(v, "map").is_array() || optional_field(v, "tmap").is_array() || v.contains("placements"))) {
    l = layout_of(v, m.mesh);
    if (const json& extents = optional_field(v, "shape"); !l.why && extents.is_array())
      l.why = refused(hp::check_shape(l.layout, shape_from(extents)));
  }
  for (const json& entry : optional_field(v, "map"))  // no entry is not "None": there is no axis of that name
    if (entry.is_null() && !l.why) l.why = refused(hp::layout_status{hp::layout_code::axis_is_not_in_the_mesh});
  if (says("snapshot only"))  // newer versions of the reference accept it, as the core does
    return pass_if(!m.why && !l.why, "refused what only the old snapshot refuses: " + m.why.text + l.why.text);
  if (!m.why && !l.why) return fail("accepted, although: " + why);

  const auto is = [&](hp::layout_code code) { return l.why.layout == code; };
  using hp::layout_code;
  using hp::mesh_code;
  bool fits = true;
  if (says("unknown alias"))
    fits = is(layout_code::axis_is_not_in_the_mesh);
  else if (says("alias used twice"))
    fits = is(layout_code::axis_is_used_twice);
  else if (says("shard dim out of bounds"))
    fits = is(layout_code::dim_is_out_of_range);
  else if (says("negative ndim"))
    fits = is(layout_code::too_many_dims);
  else if (says("unsupported reduce op"))
    fits = is(layout_code::reduction_is_unknown);
  else if (says("partial on an axis"))
    fits = is(layout_code::axis_shards_and_is_partial);
  else if (says("must be the last axis"))
    fits = m.why.mesh == mesh_code::interleaved_axis_is_not_last;
  else if (says("duplicate alias"))
    fits = m.why.mesh == mesh_code::axis_name_is_used_twice;
  else if (says("alias count"))
    fits = m.why.mesh == mesh_code::axis_count_differs_from_name_count;
  else if (says("rank_list") || says("rank list"))
    fits = m.why.ranks != hp::rank_list_code::ok;
  return pass_if(fits, "refused for another reason (" + m.why.text + l.why.text + "), expected: " + why);
}

inline verdict replay_coord(const json& v) {
  const read_mesh m = mesh_of(v);
  if (m.why) return expects_error(v) ? pass() : fail(m.why.text);
  const int position = hp::position_in(m.ranks(), int_of(member(v, "rank")));
  if (position < 0) return expects_error(v) ? pass() : fail("the rank is not in the mesh");
  const hp::coordinate c = hp::coordinates_of(m.mesh.shape, position);
  const json& expect = member(v, "expect");
  if (expect.is_array()) {
    const auto wanted = ints_of(expect);
    return pass_if(wanted == std::vector<int>(c.at, c.at + m.mesh.shape.axis_count), "other coordinates");
  }
  for (const auto& [name, at] : expect.items()) {
    const int a = hp::axis_index(m.mesh, name.c_str());
    if (a < 0) return fail("unknown axis " + name);
    if (c.at[a] != int_of(at)) return fail("coordinate " + name + " is " + std::to_string(c.at[a]));
  }
  return pass();
}

/// Virtual axis: device and copy counts, or operands of an operator that may not meet.
inline verdict replay_interleaved(const json& v) {
  const read_mesh m = mesh_of(v);
  if (m.why) return expects_error(v) ? pass() : fail(m.why.text);
  if (v.contains("map")) {
    const read_layout l = layout_of(v, m.mesh);
    if (l.why) return expects_error(v) ? pass() : fail(l.why.text);
    if (expects_error(v)) return fail("accepted");
    const json& expect = member(v, "expect");
    if (const json& n = optional_field(expect, "devices"); n.is_number() && int_of(n) != hp::device_count(m.mesh))
      return fail("other device count");
    if (const json& n = optional_field(expect, "copies_per_device");
        n.is_number() && int_of(n) != hp::copies_of(m.mesh, l.layout))
      return fail("other number of copies");
    return pass();
  }
  std::vector<hp::layout_value> operands;
  for (const json& map : member(v, "inputs")) {
    const hp::layout_result r = layout_from_json_map(m.mesh, map);
    if (r.status.code != hp::layout_code::ok) return expects_error(v) ? pass() : fail(refused(r.status).text);
    operands.push_back(r.layout);
  }
  bool agree = true;
  for (const hp::layout_value& l : operands) agree = agree && hp::interleaving_agrees(m.mesh, operands.front(), l);
  return pass_if(agree != expects_error(v),
                 agree ? "operands that disagree were accepted" : "the operands do not agree");
}

}  // namespace replay
