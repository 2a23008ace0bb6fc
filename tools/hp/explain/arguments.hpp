// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of a command line as values of the library. What cannot be read is a `bad_argument`: one line that names
// the argument, its value, what was expected and, where it helps, what is known.

#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/interop/written_layout.hpp>
#include <hyperparallel/io/hardware_file.hpp>
#include <hyperparallel/redistribution/choose_move.hpp>
#include <hyperparallel/report/format_hardware.hpp>
#include <hyperparallel/report/format_layout.hpp>

#include "../refusals.hpp"

namespace explain_arguments {

namespace hp = hyperparallel;

using bad_argument = hp::interop::text_error;
using hp::interop::axis_names;
using hp::interop::one_line;
using hp::interop::parts_of;

/// A whole number of decimal digits, or false.
template <class Integer>
bool read_number(std::string_view text, Integer& number) {
  if (text.empty() || text[0] == '-' || text[0] == '+') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

inline bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text)
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  return true;
}

/// "x=2,y=4"
inline hp::mesh_value read_mesh(const std::string& argument, const std::string& text) {
  const std::string expected = "; expected axes as in x=2,y=4, outermost first";
  std::vector<std::string> names;
  std::vector<int> sizes;
  for (const std::string& part : parts_of(text, ',')) {
    const std::size_t equals = part.find('=');
    int size = 0;
    if (equals == std::string::npos) throw bad_argument(argument, text, "'" + part + "' has no size" + expected);
    if (!is_name(part.substr(0, equals)))
      throw bad_argument(argument, text, "'" + part.substr(0, equals) + "' is no name" + expected);
    if (!read_number(part.substr(equals + 1), size) || size < 1)
      throw bad_argument(
          argument, text,
          "'" + part.substr(equals + 1) + "' is no size of an axis, a whole number from 1 to 2147483647" + expected);
    names.push_back(part.substr(0, equals));
    sizes.push_back(size);
  }
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  const int count = static_cast<int>(names.size());
  const hp::mesh_result r = hp::make_mesh(pointers.data(), count, sizes.data(), count);
  if (r.status.code != hp::mesh_code::ok) {
    const bool counts = r.status.code == hp::mesh_code::too_many_axes;
    const std::string blamed = counts
                                   ? std::to_string(count) + " axes, of which it takes " + std::to_string(hp::max_axes)
                                   : "axis " + names[static_cast<std::size_t>(r.status.axis)];
    throw bad_argument(argument, text, std::string(hp::to_text(r.status.code)) + " (" + blamed + ")" + expected);
  }
  return r.mesh;
}

/// "64x64"; "()" is a scalar.
inline hp::shape read_shape(const std::string& argument, const std::string& text) {
  hp::shape s;
  if (text == "()") return s;
  const std::string expected = "; expected extents as in 64x64, or () for a scalar";
  const std::vector<std::string> parts = parts_of(text, 'x');
  if (parts.size() > static_cast<std::size_t>(hp::max_dims))
    throw bad_argument(argument, text,
                       std::to_string(parts.size()) + " dims; expected at most " + std::to_string(hp::max_dims));
  for (const std::string& part : parts)
    if (!read_number(part, s.extent[s.rank++]))
      throw bad_argument(argument, text, "'" + part + "' is no extent" + expected);
  if (hp::element_count(s).overflow)
    throw bad_argument(argument, text, "the element count leaves 64 bits; expected less than 2^63 elements");
  return s;
}

/// "f32"
inline hp::data_type read_type(const std::string& argument, const std::string& text) {
  std::string known;
  for (int t = 0; t <= static_cast<int>(hp::data_type::f64); ++t) {
    const char* name = hp::name_of(static_cast<hp::data_type>(t));
    if (text == name) return static_cast<hp::data_type>(t);
    known += (t > 0 ? ", " : "") + std::string(name);
  }
  throw bad_argument(argument, text, "no such element type; known: " + known);
}

/// Each text is "x:sum" or several of them, joined by commas; what they name becomes partial in `l`.
inline void read_partial(const std::string& argument, const std::vector<std::string>& texts, const hp::mesh_value& m,
                         hp::layout_value& l) {
  std::string known;
  for (int op = 1; op <= static_cast<int>(hp::reduce_op::any); ++op)
    known += (op > 1 ? ", " : "") + std::string(hp::name_of(static_cast<hp::reduce_op>(op)));
  for (const std::string& text : texts)
    for (const std::string& part : parts_of(text, ',')) {
      const std::size_t colon = part.find(':');
      if (colon == std::string::npos)
        throw bad_argument(argument, text, "'" + part + "' names no reduction; expected an axis and one, as in x:sum");
      const std::string name = part.substr(0, colon), reduction = part.substr(colon + 1);
      const int axis = hp::axis_index(m, name.c_str());
      if (axis < 0)
        throw bad_argument(argument, text, "'" + name + "' is no axis of the mesh; expected one of: " + axis_names(m));
      const hp::reduce_op op = hp::reduction_called(reduction.c_str());
      if (op == hp::reduce_op::none)
        throw bad_argument(argument, text, "'" + reduction + "' is no reduction; expected one of: " + known);
      if (l.partial[axis] != hp::reduce_op::none)
        throw bad_argument(argument, text, "axis " + name + " is partial twice; expected each axis once");
      const hp::layout_status s = hp::set_partial(l, axis, op);
      if (s.code != hp::layout_code::ok)
        throw bad_argument(argument, text, fmt::format("{}; expected an axis that shards no dim", hp::named(s, m)));
    }
}

/// Private links of the generic host's kind between devices that differ along one axis of the mesh.
inline constexpr const char* full_mesh = "full_mesh";

inline std::string known_topology_names() {
  std::string known;
  for (const hp::known_hardware& h : hp::hardware_presets) known += std::string(h.name.text) + ", ";
  return known + full_mesh;
}

inline hp::interconnect read_links(const std::string& argument, const std::string& text, const hp::mesh_shape& m,
                                   const hp::rank_list& ranks) {
  if (const hp::known_hardware* h = hp::find_hardware(text.c_str())) {
    hp::interconnect links = h->links;
    links.ranks = ranks;
    return links;
  }
  if (text.ends_with(".json")) {
    try {
      hp::interconnect links = hp::read_hardware_file(text).links;
      links.ranks = ranks;
      return links;
    } catch (const hp::io_error& e) {
      throw hp_tool::bad_input(e.what());
    }
  }
  if (text != full_mesh)
    throw bad_argument(argument, text,
                       "no such topology; known: " + known_topology_names() + ", or a file that ends in .json");
  hp::link_level along[hp::max_axes];
  for (hp::link_level& link : along) link = hp::generic_host::topology.level[0];
  return hp::on_full_mesh(m, along);
}

/// A line for each kind of link.
inline std::string links_text(const hp::interconnect& links) {
  std::string out;
  for (int l = 0; l < links.topology.level_count; ++l) out += fmt::format("  {}\n", links.topology.level[l]);
  for (int a = 0; links.kind == hp::interconnect_kind::full_mesh && a < links.mesh.axis_count; ++a)
    out +=
        fmt::format("  {} between devices that differ along axis {} alone: {}, latency {}\n", links.along[a].name.text,
                    a, hp::report::rate{links.along[a].bandwidth}, hp::report::duration{links.along[a].latency});
  return out;
}

inline hp::objective read_objective(const std::string& argument, const std::string& text) {
  for (const hp::objective goal : {hp::objective::bytes, hp::objective::time})
    if (text == hp::name_of(goal)) return goal;
  throw bad_argument(argument, text, "no such objective; known: bytes, time");
}

/// "96MiB", "512B", "512".
inline hp::extent_t read_bytes(const std::string& argument, const std::string& text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  const std::string number = text.substr(0, end), unit = end == std::string::npos ? "B" : text.substr(end);
  struct {
    const char* name;
    hp::extent_t bytes;
  } constexpr units[] = {{"B", 1}, {"KiB", hp::KiB}, {"MiB", hp::MiB}, {"GiB", hp::GiB}};
  hp::extent_t count = 0;
  for (const auto& u : units) {
    if (unit != u.name || !read_number(number, count)) continue;
    const hp::checked_extent bytes = hp::checked_multiply(count, u.bytes);
    if (!bytes.overflow && bytes.value > 0) return bytes.value;
  }
  throw bad_argument(argument, text, "no amount of memory; expected one above 0 in B, KiB, MiB or GiB, as in 96MiB");
}

/// "3,1,0,2": a rank for each position of the mesh.
inline std::vector<int> read_ranks(const std::string& argument, const std::string& text, const hp::mesh_value& m) {
  const std::string expected =
      "; expected the " + std::to_string(hp::position_count(m.shape)) + " ranks of the mesh as in 3,1,0,2";
  std::vector<int> ranks;
  for (const std::string& part : parts_of(text, ',')) {
    int rank = 0;
    if (!read_number(part, rank)) throw bad_argument(argument, text, "'" + part + "' is no rank" + expected);
    ranks.push_back(rank);
  }
  const hp::rank_list_status s = hp::check_rank_list(m.shape, {static_cast<int>(ranks.size()), ranks.data()});
  if (s.code != hp::rank_list_code::ok) throw bad_argument(argument, text, hp::to_text(s) + expected);
  return ranks;
}

}  // namespace explain_arguments
