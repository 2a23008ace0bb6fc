// SPDX-License-Identifier: Apache-2.0
#pragma once
// A vector of op_infer.jsonl as operands and attributes. An attribute of another type or number than its operator takes
// is a refusal: in the library the compiler says so.

#include <hyperparallel/operators/rules/attributes.hpp>

#include <limits>
#include <utility>

#include "reading.hpp"

namespace replay {

/// The operator takes no such attribute or operand.
struct refused_case : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline bool is_shape(const json& a) {
  if (!a.is_array()) return false;
  for (const json& n : a)
    if (!n.is_number_integer()) return false;
  return true;
}

/// A list of shapes, of which null stands for what is no tensor.
inline bool are_shapes(const json& a) {
  if (!a.is_array() || a.empty() || !a.at(0).is_array()) return false;
  for (const json& s : a)
    if (!s.is_null() && !is_shape(s)) return false;
  return true;
}

struct operator_case {
  std::string rule{}, op{};
  read_mesh mesh{};
  std::vector<hp::layout_value> operand{};  ///< those that are tensors
  std::vector<json> attribute{};            ///< without the operands' shapes
  std::vector<hp::shape> given{};           ///< the operands' shapes, where the vector states them
  int copies = 0;                           ///< results that the one result of the rule stands for

  int count() const { return static_cast<int>(operand.size()); }
  bool has(std::size_t i) const { return i < attribute.size() && !attribute[i].is_null(); }

  /// The shape of an operand; layouts do not depend on it, so where none is stated any that every layout divides.
  hp::shape shape(int o) const {
    if (static_cast<std::size_t>(o) < given.size()) return given[static_cast<std::size_t>(o)];
    hp::shape s;
    for (int d = 0; d < rank(o); ++d) s.extent[s.rank++] = 4 * hp::position_count(mesh.mesh.shape);
    return s;
  }
  int rank(int o) const {
    if (o >= count()) throw refused_case("an operand is missing");
    return operand[static_cast<std::size_t>(o)].rank;
  }
  std::vector<hp::shape> shapes() const {
    std::vector<hp::shape> all;
    for (int o = 0; o < count(); ++o) all.push_back(shape(o));
    return all;
  }

  int integer(std::size_t i) const {
    if (i >= attribute.size() || !attribute[i].is_number_integer())
      throw refused_case("attribute " + std::to_string(i) + " is no integer");
    const auto n = attribute[i].get<std::int64_t>();
    if (n < std::numeric_limits<int>::min() || n > std::numeric_limits<int>::max())
      throw refused_case("attribute " + std::to_string(i) + " is out of range");
    return static_cast<int>(n);
  }
  int integer_or(std::size_t i, int otherwise) const { return has(i) ? integer(i) : otherwise; }
  bool flag(std::size_t i) const {
    if (!has(i)) return false;
    if (!attribute[i].is_boolean()) throw refused_case("attribute " + std::to_string(i) + " is no truth value");
    return attribute[i].get<bool>();
  }
  bool is_list(std::size_t i) const { return has(i) && attribute[i].is_array(); }
  /// Integers of a list, as a shape holds them.
  hp::shape extents(std::size_t i) const {
    if (i >= attribute.size() || !is_shape(attribute[i]))
      throw refused_case("attribute " + std::to_string(i) + " is no list of integers");
    return shape_from(attribute[i]);
  }
  /// Dims: one, a list, or none for null or absent.
  hp::rules::dim_list dims(std::size_t i) const {
    hp::rules::dim_list d;
    if (!has(i)) return d;
    if (!is_list(i)) return integer(i);
    const hp::shape s = extents(i);
    for (int k = 0; k < s.rank; ++k) d.at[d.count++] = static_cast<int>(s.extent[k]);
    return d;
  }
};

inline hp::mesh_value first_mesh(const json& v) {
  const json* from = &v;
  for (const json& input : optional_field(v, "inputs"))
    if (!v.contains("mesh") && input.is_object() && input.contains("mesh")) {
      from = &input;
      break;
    }
  const read_mesh m = mesh_of(*from);
  if (m.why) throw refused_case(m.why.text);
  return m.mesh;
}

inline operator_case case_from(const json& v) {
  operator_case c;
  c.rule = text_of(v, "rule");
  c.op = text_of(v, "op");
  bool tensors = false;
  for (const json& input : member(v, "inputs")) tensors = tensors || input.is_object();
  if (!tensors) throw refused_case("there is no operand");
  c.mesh.mesh = first_mesh(v);
  for (const json& input : v["inputs"]) {
    if (!input.is_object()) continue;
    hp::mesh_value m = c.mesh.mesh;
    if (input.contains("mesh")) {
      const read_mesh own = mesh_of(input);
      if (own.why) throw refused_case(own.why.text);
      m = own.mesh;
    }
    const read_layout l = layout_of(input, m);
    if (l.why) throw refused_case(l.why.text);
    c.operand.push_back(l.layout);
  }
  const json& attrs = optional_field(v, "attrs");
  const bool shapes_come_last = attrs.is_array() && !attrs.empty() && are_shapes(attrs.back());
  const json& shapes = attrs.is_object()  ? optional_field(attrs, "input_shapes")
                       : shapes_come_last ? attrs.back()
                                          : optional_field(v, "shapes");
  for (const json& s : shapes)
    if (s.is_array()) c.given.push_back(shape_from(s));
  if (attrs.is_array()) c.attribute.assign(attrs.begin(), attrs.end() - (shapes_come_last ? 1 : 0));
  return c;
}

/// The axes of a dim in the words of the vectors: `.`, `dp`, `(dp,cp)`; empty where a part of an axis cuts it, which no
/// map can say.
inline std::string entry_of(const hp::layout_value& l, const hp::mesh_value& m, int dim) {
  std::string entry;
  int axes = 0;
  for (int i = 0; i < l.cut_count; ++i) {
    const hp::cut& x = l.cut[i];
    if (x.dim != dim) continue;
    if (x.size != l.mesh.size[x.axis]) return "";
    entry += (axes++ > 0 ? "," : "") + std::string(m.label[x.axis].text);
  }
  return axes == 0 ? "." : axes == 1 ? entry : "(" + entry + ")";
}

/// Of the sharded dims only, in their order.
inline std::vector<std::string> entries_of(const hp::layout_value& l, const hp::mesh_value& m) {
  std::vector<std::string> list;
  for (int d = 0; d < l.rank; ++d)
    if (std::string entry = entry_of(l, m, d); entry != ".") list.push_back(std::move(entry));
  return list;
}

/// A layout as `[dp (cp,mp) .]{tp:sum}`; empty where it has no map.
inline std::string words_of(const hp::layout_value& l, const hp::mesh_value& m) {
  std::string text = "[";
  for (int d = 0; d < l.rank; ++d) {
    const std::string entry = entry_of(l, m, d);
    if (entry.empty()) return "";
    text += (d > 0 ? " " : "") + entry;
  }
  text += "]";
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != hp::reduce_op::none)
      text += "{" + std::string(m.label[a].text) + ":" + hp::name_of(l.partial[a]) + "}";
  return text;
}

}  // namespace replay
