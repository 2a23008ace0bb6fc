// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sentence of a refusal, from the type that spells it:
//
//   diag::too_many_dims<map_entries<9>>   →   9 dims are more than the 8 that a tensor may have. Merge dims, …
//
// The compiler prints the type, the words of its name stand in refusal_words.hpp, and its arguments fill their slots:
// `{dim}` is the argument of dim<…>, several of a name are joined by commas; `{code}` the enumerator of a status in
// words; `{words 1}` argument 1 with blanks for underscores, `{type 1}` its name without namespaces and arguments,
// `{value 1}` what it holds. A name without words reads as itself, followed by its arguments.

#include <hyperparallel/support/fixed_string.hpp>
#include <hyperparallel/support/refusal_words.hpp>
#include <hyperparallel/support/static_message.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

struct text_span {
  const char* begin = nullptr;
  const char* end = nullptr;
  constexpr bool empty() const { return begin == end; }
};

/// End of the literal, of a character or a string, that begins at `at`.
constexpr const char* literal_end(const char* at) {
  const char quote = *at;
  for (++at; *at != quote; ++at)
    if (*at == '\\') ++at;
  return at + 1;
}

/// Arguments of a template or the members of a value: what stands between commas of one level.
struct spelled_arguments {
  static constexpr int capacity = 64;
  text_span item[capacity] = {};
  int count = 0;
};

constexpr text_span trimmed(text_span s) {
  while (!s.empty() && *s.begin == ' ') ++s.begin;
  while (!s.empty() && *(s.end - 1) == ' ') --s.end;
  return s;
}

/// Whether `s` begins with `name`.
constexpr bool begins_with(text_span s, const char* name) {
  const int length = text_length(name);
  return s.end - s.begin >= length && same_text(name, s.begin, s.begin + length);
}

/// As g++ writes them.
inline constexpr const char* unnamed_namespaces[] = {"{anonymous}::", "<unnamed>::"};

/// The bracket that opens arguments or members in `s`, or its end.
constexpr const char* opening_of(text_span s) {
  while (s.begin != s.end && *s.begin != '<' && *s.begin != '{' && *s.begin != '\'') ++s.begin;
  for (const char* unnamed : unnamed_namespaces)
    if (begins_with(s, unnamed)) return opening_of({s.begin + text_length(unnamed), s.end});
  return s.begin;
}

constexpr spelled_arguments arguments_of(text_span s) {
  spelled_arguments r;
  const char* at = opening_of(s);
  if (at == s.end || *at == '\'') return r;
  int depth = 0;
  for (const char* begin = ++at; at < s.end && r.count < spelled_arguments::capacity;) {
    if (*at == '\'' || *at == '"') {
      at = literal_end(at);
      continue;
    }
    if (*at == '<' || *at == '(' || *at == '{' || *at == '[') ++depth;
    const bool closes = *at == '>' || *at == ')' || *at == '}' || *at == ']';
    if ((closes || *at == ',') && depth == 0) {
      const text_span one = trimmed({begin, at});
      if (!one.empty()) r.item[r.count++] = one;
      if (closes) break;
      begin = at + 1;
    }
    if (closes) --depth;
    ++at;
  }
  return r;
}

/// The name without namespaces and arguments.
constexpr text_span head_of(text_span s) {
  text_span head = trimmed({s.begin, opening_of(s)});
  for (const char* at = head.begin; at != head.end; ++at)
    if (*at == ':') head.begin = at + 1;
  return head;
}

constexpr bool is_called(text_span s, const char* name) { return same_text(name, s.begin, s.end); }

constexpr void add_words(static_message& m, text_span s) {
  for (; s.begin != s.end; ++s.begin) m.add(*s.begin == '_' ? ' ' : *s.begin);
}

/// Of an operator on extents, or one that is broadcast, the operator.
constexpr text_span named_type(text_span s) {
  const text_span head = head_of(s);
  const bool holds_one = is_called(head, "operation") || is_called(head, "listed") || is_called(head, "elementwise");
  return holds_one ? named_type(arguments_of(s).item[0]) : head_of(s);
}

/// The string literal that `s` ends in, within quotes, as of fixed_string<7>{"dp, tp"}; empty of others.
constexpr text_span literal_of(text_span s) {
  while (!s.empty() && *s.begin != '"' && *s.begin != '\'') ++s.begin;
  return s.empty() || *s.begin == '\'' ? text_span{s.end, s.end} : text_span{s.begin + 1, literal_end(s.begin) - 1};
}

/// What an argument holds: "tp" of alias<'t', 'p'>, "3" of dim<3>, "(dp, None) on mesh" of a layout in words.
constexpr void add_value(static_message& m, text_span s) {
  const spelled_arguments inner = arguments_of(s);
  const text_span head = head_of(s);
  const auto join = [&](int first, const char* before, const char* after) {
    if (first < inner.count) m.add(before);
    for (int i = first; i < inner.count; ++i) {
      if (i > first) m.add(", ");
      add_value(m, inner.item[i]);
    }
    if (first < inner.count) m.add(after);
  };
  bool characters = true, types = true;
  for (int i = 0; i < inner.count; ++i) {
    characters = characters && *inner.item[i].begin == '\'';
    types = types && opening_of(inner.item[i]) != inner.item[i].end;
  }
  if (is_called(head, "fixed_string")) {
    m.add(literal_of(s).begin, literal_of(s).end);
  } else if (*s.begin == '\'') {
    m.add(s.begin[1] == '\\' ? s.begin[2] : s.begin[1]);
  } else if (opening_of(s) == s.end) {
    if (is_called(head, "whole")) return m.add("None");
    m.add(head.begin, head.end);
  } else if (is_called(head, "mapped")) {
    join(1, "(", ")");
    m.add(inner.count > 1 ? " on " : "() on ");
    add_value(m, inner.item[0]);
  } else if (is_called(head, "axes_in_order")) {
    join(0, "(", ")");
  } else if (is_called(head, "padded_over")) {
    join(0, "padded(", ")");
  } else if (is_called(head, "partial_over")) {
    m.add("partial ");
    add_value(m, inner.item[0]);
    join(1, ": ", "");
  } else if (is_called(head, "waits") && inner.count == 3) {
    m.add("rank ");
    add_value(m, inner.item[0]);
    m.add(" stands at ");
    add_value(m, inner.item[1]);
    m.add(" and waits for ");
    add_value(m, inner.item[2]);
  } else if (characters) {
    for (int i = 0; i < inner.count; ++i) add_value(m, inner.item[i]);
  } else if (types) {
    join(0, "", "");
  } else {
    add_value(m, inner.item[0]);
    join(1, " (", ")");
  }
}

/// Fills slots from the arguments of a refusal.
struct refusal_slots {
  spelled_arguments arguments{};

  constexpr text_span numbered(const char* digit) const {
    const int n = *digit - '0';
    return n >= 1 && n <= arguments.count ? arguments.item[n - 1] : text_span{};
  }
  /// The enumerator of a status, with its type: the argument whose type ends in "_code".
  constexpr text_span code() const {
    for (int i = 0; i < arguments.count; ++i) {
      const text_span s = arguments.item[i], name = head_of(s);
      if (opening_of(s) != s.end || name.begin - s.begin <= 7) continue;
      if (same_text("_code::", name.begin - 7, name.begin)) return {head_of({s.begin, name.begin - 2}).begin, s.end};
    }
    return {};
  }
  constexpr void operator()(static_message& m, const char* begin, const char* end) const {
    const char* number = end;
    for (const char* at = begin; at != end; ++at)
      if (*at == ' ') number = at;
    const text_span kind{begin, number};
    if (number != end) {
      const text_span one = numbered(number + 1);
      if (one.empty()) return;
      if (is_called(kind, "words")) add_words(m, head_of(one));
      if (is_called(kind, "value")) add_value(m, one);
      if (is_called(kind, "type")) m.add(named_type(one).begin, named_type(one).end);
      return;
    }
    if (is_called(kind, "code")) return add_words(m, head_of(code()));
    bool first = true;
    for (int i = 0; i < arguments.count; ++i) {
      const text_span head = head_of(arguments.item[i]);
      if (opening_of(arguments.item[i]) == arguments.item[i].end || head.end - head.begin != end - begin) continue;
      bool same = true;
      for (int c = 0; same && begin + c != end; ++c) same = head.begin[c] == begin[c];
      if (!same) continue;
      const int before = m.length;
      if (!first) m.add(", ");
      const int joined = m.length;
      add_value(m, arguments.item[i]);
      if (m.length == joined) m.cut_to(before);
      first = first && m.length == before;
    }
  }
};

/// Whether find_refusal finds words; comparing what it gives with null is no constant for g++ 12 with -fsanitize=undefined.
constexpr bool has_words(text_span name) {
  return !name.empty() &&
         any_refusal([&](const refusal_words& one) { return same_text(one.key, name.begin, name.end); });
}

/// Of the text of a type. The words of a status's code go before those of the name, which tell less.
constexpr static_message sentence_of_spelling(text_span type) {
  static_message m;
  const text_span name = head_of(type);
  const refusal_slots slots{arguments_of(type)};
  const text_span code = slots.code();
  const text_span known = has_words(code) ? code : name;
  if (has_words(known)) {
    const refusal_words* const words = find_refusal(known.begin, known.end);
    fill_pattern(m, words->sentence, slots);
    m.add('.');
    if (*words->remedy == '\0') return m;
    m.add(' ');
    fill_pattern(m, words->remedy, slots);
    m.add('.');
    return m;
  }
  add_words(m, name);
  for (int i = 0; i < slots.arguments.count; ++i) {
    const text_span one = slots.arguments.item[i];
    m.add(i == 0 ? ": " : ", ");
    add_words(m, head_of(one));
    if (opening_of(one) == one.end) continue;
    m.add(' ');
    add_value(m, one);
  }
  return m;
}

/// The spelling of `Type` by the compiler.
template <class Type>
constexpr text_span spelling_of() {
  const char* begin = __PRETTY_FUNCTION__;
  const char* end = begin + sizeof(__PRETTY_FUNCTION__) - 2;  // before the bracket
  while (*begin != '=') ++begin;
  return {begin + 2, end};
}

/// The sentence of a refused type, with the remedy.
template <class Why>
inline constexpr static_message sentence_of_refusal = detail::sentence_of_spelling(detail::spelling_of<Why>());

}  // namespace detail

/// The message of a `static_assert`; looked at only where the assertion fails.
template <class Why>
struct refusal_message {
  static constexpr unsigned long size() { return static_cast<unsigned long>(detail::sentence_of_refusal<Why>.length); }
  static constexpr const char* data() { return detail::sentence_of_refusal<Why>.text; }
};

}}  // namespace hyperparallel::v0_2
