// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs of a run by names that the compiler holds against the model, and results by names.
//
//   hp::feed<language_model>(run.world(), hp::values("tokens"_n = tokens, "labels"_n = labels));
//   const auto made = hp::fetch<language_model>(run.world(), "cross_entropy"_n, "gradient(embed.table)"_n);
//   made["cross_entropy"_n]                                         // a std::vector, row-major
//
// Names are those of the run, so of repeated layers written out: "layers.3.attention.query.weight". A name that the model
// lacks, and an input that is not fed, are one error line. Sizes and element types are checked as
// by `program_values::set`. O(tensors) by the compiler, one build of the model a check.

#include <type_traits>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/runtime/named_values.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <class Name>
struct model_has_nothing_of_this_name;
template <class Name>
struct input_is_not_fed;
}  // namespace diag

namespace detail {

/// The first name that does not fit, cut at 63 characters.
struct name_mistake {
  char text[64] = {};
  int length = 0;
  bool found = false;
  constexpr void set(const char* name) {
    if (found) return;
    found = true;
    for (; length < 63 && name[length] != '\0'; ++length) text[length] = name[length];
  }
};

/// What of the names is no tensor of the model, with its gradients; of feeds, no input.
template <class Model>
constexpr name_mistake unknown_name(const char* const* names, int count, bool inputs) {
  graph g = build_model<Model>({.unrolled = true});
  if (!inputs) differentiate(g);
  name_mistake m;
  for (int i = 0; i < count; ++i) {
    const int t = find_tensor(g, names[i]);
    if (t < 0 || (inputs && g.tensor[t].kind != graph_tensor_kind::input)) m.set(names[i]);
  }
  return m;
}
/// The first input that is not among the names.
template <class Model>
constexpr name_mistake missing_name(const char* const* names, int count) {
  const graph g = build_model<Model>({.unrolled = true});
  name_mistake m;
  for (int t = 0; t < g.tensor.size; ++t) {
    if (g.tensor[t].kind != graph_tensor_kind::input) continue;
    bool given = false;
    for (int i = 0; i < count; ++i) given = given || same_text(names[i], g.name_of_tensor(t));
    if (!given) m.set(g.name_of_tensor(t));
  }
  return m;
}

template <class Model, bool Inputs, fixed_string... Name>
struct checked_names {
  static constexpr const char* names[] = {Name.text...};
  static constexpr int count = static_cast<int>(sizeof...(Name));
  struct unknown {
    static constexpr name_mistake mistake = unknown_name<Model>(names, count, Inputs);
    static constexpr const char* text = mistake.text;
    static constexpr int length = mistake.length;
  };
  struct missing {
    static constexpr name_mistake mistake = Inputs ? missing_name<Model>(names, count) : name_mistake{};
    static constexpr const char* text = mistake.text;
    static constexpr int length = mistake.length;
  };
  static constexpr auto choose() {
    if constexpr (unknown::mistake.found)
      return std::type_identity<diag::model_has_nothing_of_this_name<spelled<alias, unknown>>>{};
    else if constexpr (missing::mistake.found)
      return std::type_identity<diag::input_is_not_fed<spelled<alias, missing>>>{};
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
