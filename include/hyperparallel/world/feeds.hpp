// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs of a run by names that the compiler holds against the model, and results by names.
//
//   hp::feed<language_model>(run.world(), hp::values("tokens"_n = tokens, "labels"_n = labels));
//   const auto made = hp::fetch<language_model>(run.world(), "cross_entropy"_n, "gradient(embed.table)"_n);
//   made["cross_entropy"_n]                                         // a std::vector, row-major
//
// Names are those of the run, so of repeated layers written out: "layers.3.attention.query.weight". A name that the model
// lacks (with the nearest that it has), and an input that is not fed, are one error line. Sizes and element types are checked as
// by `program_values::set`. O(tensors) by the compiler, one build of the model a check.

#include <type_traits>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/world/named_values.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class Name, class Nearest>
struct model_has_nothing_of_this_name;
template <class Name>
struct input_is_not_fed;
}  // namespace diag

namespace detail {

/// A name in an error line, cut at 63 characters.
struct cut_name {
  char text[64] = {};
  int length = 0;

  constexpr cut_name() = default;
  constexpr explicit cut_name(const char* name) {
    for (; length < 63 && name[length] != '\0'; ++length) text[length] = name[length];
  }
};

/// The first name that does not fit.
struct name_mistake {
  cut_name name{};
  cut_name nearest{};  ///< of what is there
  bool found = false;
};

/// What of the names is no tensor of the model, with its gradients; of feeds, no input.
template <class Model>
constexpr name_mistake unknown_name(const char* const* names, int count, bool inputs) {
  graph g = build_model<Model>({.unrolled = true});
  if (!inputs) differentiate(g);
  const auto is_there = [&](int t) { return !inputs || g.tensor[t].kind == graph_tensor_kind::input; };
  for (int i = 0; i < count; ++i) {
    if (const int t = find_tensor(g, names[i]); t >= 0 && is_there(t)) continue;
    growing_array<int> there;
    for (int t = 0; t < g.tensor.size; ++t)
      if (is_there(t)) there.push(t);
    const auto name_at = [&](int n) { return g.name_of_tensor(there[n]); };
    const int nearest = nearest_name_of(there.size, name_at, names[i]);
    return {cut_name(names[i]), nearest < 0 ? cut_name() : cut_name(name_at(nearest)), true};
  }
  return {};
}
/// The first input that is not among the names.
template <class Model>
constexpr name_mistake missing_name(const char* const* names, int count) {
  const graph g = build_model<Model>({.unrolled = true});
  for (int t = 0; t < g.tensor.size; ++t) {
    if (g.tensor[t].kind != graph_tensor_kind::input) continue;
    bool given = false;
    for (int i = 0; i < count; ++i) given = given || same_text(names[i], g.name_of_tensor(t));
    if (!given) return {cut_name(g.name_of_tensor(t)), {}, true};
  }
  return {};
}

template <class Model, bool Inputs, fixed_string... Name>
struct checked_names {
  static constexpr const char* names[] = {Name.text...};
  static constexpr int count = static_cast<int>(sizeof...(Name));
  static constexpr name_mistake unknown = unknown_name<Model>(names, count, Inputs);
  static constexpr name_mistake missing = Inputs ? missing_name<Model>(names, count) : name_mistake{};
  static constexpr cut_name unknown_text = unknown.name, nearest_text = unknown.nearest, missing_text = missing.name;

  template <const cut_name& Of>
  struct spelling {
    static constexpr const char* text = Of.text;
    static constexpr int length = Of.length;
  };
  static constexpr auto choose() {
    if constexpr (unknown.found)
      return std::type_identity<diag::model_has_nothing_of_this_name<spelled<alias, spelling<unknown_text>>,
                                                                     spelled<nearest_name, spelling<nearest_text>>>>{};
    else if constexpr (missing.found)
      return std::type_identity<diag::input_is_not_fed<spelled<alias, spelling<missing_text>>>>{};
    else
      return std::type_identity<accepted>{};
  }
  using type = typename decltype(choose())::type;
};

}  // namespace detail

/// Whether the model has just these inputs; silent when not.
template <class Model, fixed_string... Name>
inline constexpr bool takes_inputs =
    std::is_same_v<typename detail::checked_names<Model, true, Name...>::type, accepted>;

/// Sets every input of the model. Throws program_error (sizes, element types, indices out of range).
template <class Model, class World, fixed_string... Name, class... Value>
void feed(World& world, const named_values<named_value<Name, Value>...>& inputs) {
  static_assert(insist<typename detail::checked_names<Model, true, Name...>::type>::met);
  (world.set(Name.text, inputs[name_key<Name>{}]), ...);
}

/// The values of tensors of the model, or of gradients, by name. Throws program_error where a run did not keep one.
template <class Model, class World, fixed_string... Name>
auto fetch(const World& world, name_key<Name>... key) {
  static_assert(insist<typename detail::checked_names<Model, false, Name...>::type>::met);
  return values((key = world.get(Name.text))...);
}

}}  // namespace hyperparallel::v0_2
