// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors as JSON → values of the core. Missing optional fields have the defaults of the vectors' README; what a kind
// cannot do without raises `malformed_vector`, and what the core refuses comes back as a `refusal`.

#include <hyperparallel/layout.hpp>
#include <hyperparallel/mesh.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "number_reading.hpp"

namespace replay {

namespace hp = hyperparallel;

inline const json& member(const json& v, const char* name) {
  asked_key() = name;
  const auto at = v.find(name);
  if (at == v.end()) throw malformed_vector(std::string("key '") + name + "' is missing");
  return *at;
}

/// The field, or null where it is absent.
inline const json& optional_field(const json& v, const char* name) {
  static const json nothing;
  asked_key() = name;
  if (!v.is_object()) return nothing;
  const auto at = v.find(name);
  return at == v.end() ? nothing : *at;
}

inline std::string text_of(const json& v, const char* name) {
  const json& f = optional_field(v, name);
  return f.is_string() ? f.get<std::string>() : std::string();
}

inline bool expects_error(const json& v) { return text_of(v, "expect") == "error" || text_of(v, "kind") == "error"; }

/// A numbered reason of the core, kept with the part that refused.
struct refusal {
  hp::mesh_code mesh = hp::mesh_code::ok;
  hp::rank_list_code ranks = hp::rank_list_code::ok;
  hp::layout_code layout = hp::layout_code::ok;
  std::string text{};  ///< empty: accepted
  explicit operator bool() const { return !text.empty(); }
};

inline refusal refused(hp::mesh_code code) {
  refusal r;
  r.mesh = code;
  if (code != hp::mesh_code::ok) r.text = "mesh refused with code " + std::to_string(static_cast<int>(code));
  return r;
}
inline refusal refused(const hp::layout_status& s) {
  refusal r;
  r.layout = s.code;
  if (s.code != hp::layout_code::ok)
    r.text =
        "layout refused with code " + std::to_string(static_cast<int>(s.code)) + " at dim " + std::to_string(s.dim);
  return r;
}

/// Worlds of more ranks are not replayed: every rank may receive from every other.
inline constexpr int most_ranks = 1 << 13;

/// A mesh with its rank list, or why there is none.
struct read_mesh {
  refusal why{};
  hp::mesh_value mesh{};
  std::vector<int> rank{};
  bool counts_up = false;  ///< rank is first, first + 1, …: the core needs no list to search
  hp::rank_list ranks() const {
    const int count = static_cast<int>(rank.size());
    return counts_up ? hp::rank_list{count, rank.front()} : hp::rank_list{count, rank.data()};
  }
};

/// `shape`: axis sizes, outer to inner. `names`: their aliases, or null for unnamed ones. `ranks`: null, all of them,
/// or [first, last].
inline read_mesh mesh_from(const json& shape, const json& names, const json& ranks) {
  const auto sizes = ints_of(shape);
  std::vector<std::string> labels;
  if (names.is_array())
    labels = names.get<std::vector<std::string>>();
  else
    for (std::size_t a = 0; a < sizes.size(); ++a) labels.push_back("axis" + std::to_string(a));
  std::vector<const char*> text;
  for (const std::string& label : labels) text.push_back(label.c_str());
  const hp::mesh_result r =
      hp::make_mesh(text.data(), static_cast<int>(text.size()), sizes.data(), static_cast<int>(sizes.size()));
  read_mesh m{refused(r.status.code), r.mesh, {}, false};
  if (m.why) return m;
  const int positions = hp::position_count(m.mesh.shape);
  if (positions > most_ranks) throw malformed_vector("the mesh has more ranks than can be replayed");
  if (ranks.is_array()) m.rank = ints_of(ranks);
  const bool is_range = m.rank.size() == 2 && positions != 2 && std::int64_t{m.rank[1]} - m.rank[0] + 1 == positions;
  if (is_range || m.rank.empty()) {
    const int first = is_range ? m.rank[0] : 0;
    m.rank.clear();
    for (int p = 0; p < positions; ++p) m.rank.push_back(first + p);
    m.counts_up = true;
  }
  m.why.ranks = hp::check_rank_list(m.mesh.shape, m.ranks()).code;
  if (m.why.ranks != hp::rank_list_code::ok) m.why.text = "the rank list does not name each position once";
  return m;
}

inline read_mesh mesh_of(const json& v) {
  return mesh_from(member(v, "mesh"), optional_field(v, "alias"), optional_field(v, "ranks"));
}

inline std::string entry_text(const json& entry) {
  if (entry.is_null()) return "";
  if (entry.is_string()) return entry.get<std::string>();
  std::string joined;
  for (const json& part : entry)
    joined += (joined.empty() ? "" : ",") + (part.is_null() ? std::string("None") : part.get<std::string>());
  return joined;
}

/// The layout of a `map` field. An entry may be a name, a list of names, "None" or null.
inline hp::layout_result layout_from_json_map(const hp::mesh_value& m, const json& map) {
  std::vector<std::string> texts;
  for (const json& entry : map) texts.push_back(entry_text(entry));
  std::vector<const char*> entries;
  for (const std::string& text : texts) entries.push_back(text.c_str());
  return hp::layout_from_map(m, entries.data(), static_cast<int>(entries.size()));
}

/// The layout of a numeric map. An entry may be a number or a list of numbers.
inline hp::layout_result layout_from_tmap(const hp::mesh_shape& m, const json& tmap) {
  std::vector<hp::numeric_entry> entries;
  for (const json& entry : tmap) {
    hp::numeric_entry e;
    const auto add = [&e](const json& number) {
      if (e.count == hp::max_axes) throw malformed_vector("a map entry has more numbers than a mesh has axes");
      e.number[e.count++] = int_of(number);
    };
    if (entry.is_array())
      for (const json& number : entry) add(number);
    else
      add(entry);
    entries.push_back(e);
  }
  return hp::layout_from_numeric(m, entries.data(), static_cast<int>(entries.size()));
}

/// Adds the axes of a `partial` object to a layout.
inline refusal add_partial(hp::layout_value& l, const hp::mesh_value& m, const json& partial) {
  if (!partial.is_object()) return {};
  for (const auto& [name, op] : partial.items()) {
    const int a = hp::axis_index(m, name.c_str());
    if (a < 0) return refused(hp::layout_status{hp::layout_code::axis_is_not_in_the_mesh, 0, 0, 0, 0, 0});
    const refusal r = refused(hp::set_partial(l, a, hp::reduction_called(op.get<std::string>().c_str())));
    if (r) return r;
  }
  return {};
}

struct read_layout {
  refusal why{};
  hp::layout_value layout{};
};

/// The dim of "S1" or "S(1)".
inline int dim_in(std::string_view text) {
  const bool enclosed = text[1] == '(';
  if (enclosed && text.back() != ')') throw malformed_vector("unknown placement '" + std::string(text) + "'");
  return int_in(enclosed ? text.substr(2, text.size() - 3) : text.substr(1));
}

/// The layout of a vector or of one side of it: by `map` (and `partial`), by `tmap`, or by `placements` and `ndim`.
inline read_layout layout_of(const json& v, const hp::mesh_value& m) {
  hp::layout_result r;
  if (const json& placements = optional_field(v, "placements"); placements.is_array()) {
    std::vector<hp::placement> list;
    for (const json& p : placements) {
      const std::string text = p.get<std::string>();
      if (text == "R")
        list.push_back(hp::replicate());
      else if (text.size() > 1 && text[0] == 'S')
        list.push_back(hp::shard(dim_in(text)));
      else if (text.size() > 1 && text[0] == 'P')
        list.push_back(hp::partial_of(
            hp::reduction_called(text.substr(2, text.size() - 2 - (text.back() == ')' ? 1 : 0)).c_str())));
      else
        throw malformed_vector("unknown placement '" + text + "'");
    }
    r = hp::layout_from_placements(m.shape, list.data(), static_cast<int>(list.size()), int_of(member(v, "ndim")));
    return {refused(r.status), r.layout};
  }
  const json& map = optional_field(v, "map");
  r = map.is_array() ? layout_from_json_map(m, map) : layout_from_tmap(m.shape, member(v, "tmap"));
  read_layout l{refused(r.status), r.layout};
  if (!l.why) l.why = add_partial(l.layout, m, optional_field(v, "partial"));
  return l;
}

/// Tensors of more elements are not replayed: figures of all ranks are to stay within 64 bits.
inline constexpr hp::extent_t most_elements = hp::extent_t{1} << 48;

inline hp::shape shape_from(const json& extents) {
  const auto list = whole_numbers_of(extents);
  if (list.size() > static_cast<std::size_t>(hp::max_dims))
    throw malformed_vector("the shape has more dims than the core holds");
  hp::shape s;
  hp::extent_t elements = 1;
  for (const hp::extent_t n : list) {
    s.extent[s.rank++] = n;
    const hp::extent_t magnitude = n < 0 ? -n : n;
    if (magnitude > most_elements / elements) throw malformed_vector("key '" + asked_key() + "' has too many elements");
    if (magnitude > 0) elements *= magnitude;
  }
  return s;
}

inline hp::box box_from(const json& intervals) {
  hp::box b;
  for (const json& i : intervals) {
    if (b.rank == hp::max_dims) throw malformed_vector("the box has more dims than the core holds");
    b.dim[b.rank++] = {whole_number_of(i.at(0)), whole_number_of(i.at(1))};
  }
  return b;
}

inline std::string text_of(const hp::shape& s) {
  std::string text = "[";
  for (int d = 0; d < s.rank; ++d) text += (d > 0 ? "," : "") + std::to_string(s.extent[d]);
  return text + "]";
}

inline std::string text_of(const hp::box& b) {
  std::string text = "[";
  for (int d = 0; d < b.rank; ++d)
    text += (d > 0 ? ",[" : "[") + std::to_string(b.dim[d].begin) + "," + std::to_string(b.dim[d].end) + "]";
  return text + "]";
}

/// The numeric form of a layout of whole axes as text.
inline std::string text_of(const hp::layout_value& l) {
  std::string text = "mesh " + text_of([&l] {
                       hp::shape s;
                       for (int a = 0; a < l.mesh.axis_count; ++a) s.extent[s.rank++] = l.mesh.size[a];
                       return s;
                     }()) +
                     " map [";
  for (int d = 0; d < l.rank; ++d) {
    text += d > 0 ? ",(" : "(";
    const hp::numeric_entry e = hp::numeric_of(l, d);
    for (int i = 0; i < e.count; ++i) text += (i > 0 ? "," : "") + std::to_string(e.number[i]);
    text += ")";
  }
  return text + "]";
}

}  // namespace replay
