// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of a mesh's axes in error lines.

#include <hyperparallel/mesh/device_matrix.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// Traits of the name of an axis, for `spelled`.
template <class Mesh>
struct blamed_axis {
  template <int Axis>
  struct of {
    static constexpr const char* text = Mesh::value.label[Axis].text;
    static constexpr int length = text_length(text);
  };
};

/// The axes of a mesh, and which of them is called most like the name of `Name`.
template <class Mesh, class Indices>
struct axis_names_of;
template <class Mesh, int... I>
struct axis_names_of<Mesh, indices<I...>> {
  using there = axes_there_are<spelled<alias, typename blamed_axis<Mesh>::template of<I>>...>;
  template <class Name>
  struct nearest_to {
    static constexpr const char* find() {
      const char* const names[sizeof...(I) + 1] = {Mesh::value.label[I].text...};
      short_text name;
      for (int i = 0; i < Name::length && i < short_text::capacity; ++i) name.text[i] = Name::text[i];
      const int nearest = nearest_of(names, sizeof...(I), name.text);
      return nearest < 0 ? "" : Mesh::value.label[nearest].text;
    }
    static constexpr const char* text = find();
    static constexpr int length = text_length(text);
  };
};

}}}  // namespace hyperparallel::v0_2::detail
