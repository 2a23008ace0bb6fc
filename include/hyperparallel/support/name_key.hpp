// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names that the compiler knows, as keys: `using namespace hp::literals; set["up.weight"_n]`, `"x"_n = x`.

#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/support/fixed_string.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// A value and its name.
template <fixed_string Name, class Value>
struct named_value {
  static constexpr auto name = Name;
  Value value;
};

template <fixed_string Name>
struct name_key {
  static constexpr auto name = Name;
  template <class Value>
  constexpr named_value<Name, Value> operator=(Value value) const {  // NOLINT: reads as a named argument
    return {static_cast<Value&&>(value)};
  }
};

namespace diag {
template <class Name, class Nearest>
struct name_is_unknown;
template <class Name>
struct name_stands_twice;
}  // namespace diag

namespace detail {

/// A name for error lines.
template <fixed_string Name>
struct name_spelling {
  static constexpr const char* text = Name.text;
  static constexpr int length = Name.size();
};

/// The name among the `Table::count` texts from `Table::texts` that is most like `Name`; none of none.
template <fixed_string Name, class Table>
struct nearest_spelling {
  static constexpr int nearest = nearest_of(Table::texts, Table::count, Name.text);
  static constexpr const char* text = nearest < 0 ? "" : Table::texts[nearest];
  static constexpr int length = text_length(text);
};

/// `type`: that `Name` is none of them.
template <fixed_string Name, class Table>
struct unknown_name_refusal {
  using type =
      diag::name_is_unknown<spelled<alias, name_spelling<Name>>, spelled<nearest_name, nearest_spelling<Name, Table>>>;
};

}  // namespace detail

namespace literals {

template <fixed_string Name>
constexpr name_key<Name> operator""_n() {
  return {};
}

}  // namespace literals

}}  // namespace hyperparallel::v0_2
