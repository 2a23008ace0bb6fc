// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators as text: a factor rule reads as the einsum that it is, a refusal as one sentence.
//
//   mk,kn->mn                   reduction k
//   bsH->bsH                    a capital letter is whole on every device
//   (ab)c->abc                  a dim of several factors
//   a~b->a~b                    b needs a halo of its neighbours
//
// `named(status, mesh)` gives the axes their names. Law: a rule that was read from text, and has no halo, reads back to
// a rule of the same factors.

#include <string>

#include <hyperparallel/operators/placed_value.hpp>
#include <hyperparallel/operators/resolve.hpp>
#include <hyperparallel/report/format_layout.hpp>
#include <hyperparallel/support/refusal_words.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline report::named_value<propagation_status> named(const propagation_status& s, const mesh_value& m) {
  return {s, m};
}

namespace detail {

/// The factor's own letter, or the first free one from its number on: small where it may be sharded, capital where it
/// must be whole.
inline char factor_letter(const factor_rule& r, int f) {
  std::string used;
  for (int g = 0; g < r.factor_count; ++g)
    if (r.factor[g].letter != 0) used += r.factor[g].letter;
  if (r.factor[f].letter != 0) return r.factor[f].letter;
  for (int g = 0;; ++g) {
    if (r.factor[g].letter != 0) continue;
    const char first = r.factor[g].kind == factor_kind::need_replication ? 'A' : 'a';
    int place = g;
    while (used.find(static_cast<char>(first + place)) != std::string::npos) place = (place + 1) % 26;
    used += static_cast<char>(first + place);
    if (g == f) return used.back();
  }
}

inline std::string factor_text(const factor_rule& r, int f) {
  std::string text = r.factor[f].kind == factor_kind::permutation ? "~" : "";
  return text += factor_letter(r, f);
}

inline std::string tensor_text(const factor_rule& r, const tensor_factors& t) {
  std::string out;
  for (int d = 0; d < t.rank; ++d) {
    const int terms = t.first[d + 1] - t.first[d];
    std::string dim;
    for (int i = t.first[d]; i < t.first[d + 1]; ++i) dim += factor_text(r, t.term[i]);
    out += terms == 0 ? "." : terms == 1 ? dim : fmt::format("({})", dim);
  }
  return out;
}

inline std::string propagation_text(const propagation_status& s, const mesh_value* names) {
  if (s.code == propagation_code::ok) return "ok";
  const std::string axis = axis_text(names, s.axis), operand = std::to_string(s.operand);
  const std::string number = std::to_string(s.dim), dim = s.dim < 0 ? std::string() : number;
  const slot_text slots[] = {{"alias", axis.c_str()},
                             {"operand", operand.c_str()},
                             {"operands", operand.c_str()},
                             {"dim", dim.c_str()},
                             {"map_entries", number.c_str()}};
  return sentence_of(name_of(s.code), slots).text;
}

}  // namespace detail

/// The rule as text, see above.
inline std::string to_text(const factor_rule& r) {
  std::string out;
  for (int o = 0; o < r.operand_count; ++o) out.append(o > 0 ? "," : "").append(detail::tensor_text(r, r.operand[o]));
  out += "->";
  for (int o = 0; o < r.result_count; ++o) out.append(o > 0 ? "," : "").append(detail::tensor_text(r, r.result[o]));
  return out;
}

/// What a rule says about partial operands, one list a operand: "0: sum, avg each; 1: max→min each".
inline std::string to_text(const factor_rule& r, const partial_words& w) {
  constexpr const char* modes[] = {"refuses", "each", "together", "joins"};
  if (!w.stated) return "nothing";
  std::string out;
  for (int o = 0; o < r.operand_count; ++o) {
    std::string words;
    for (int mode = 1; mode < 4; ++mode) {
      std::string reductions;
      int same = 0;
      for (int op = 1; op < reduce_op_count; ++op) {
        const reduce_op in = static_cast<reduce_op>(op);
        const detail::partial_word word = detail::word_of(w, o, in);
        if (static_cast<int>(word.mode) != mode) continue;
        reductions += (reductions.empty() ? "" : ", ") + std::string(name_of(in));
        if (word.out != in && word.mode != partial_mode::joins) reductions += std::string("→") + name_of(word.out);
        same += word.out == in ? 1 : 0;
      }
      if (reductions.empty()) continue;
      if (same == reduce_op_count - 1) reductions = "every reduction";
      words += (words.empty() ? "" : ", ") + reductions + " " + modes[mode];
    }
    if (!words.empty()) out += (out.empty() ? "" : "; ") + std::to_string(o) + ": " + words;
  }
  return out.empty() ? "refuses" : out;
}

inline std::string to_text(const propagation_status& s) { return detail::propagation_text(s, nullptr); }

inline std::string to_text(const extents_status& s) {
  const std::string dim = "dim " + std::to_string(s.dim) + " of operand " + std::to_string(s.operand);
  const std::string extent = std::to_string(s.extent), expected = std::to_string(s.expected);
  switch (s.code) {
    case extents_code::ok:
      return "ok";
    case extents_code::operand_count_differs_from_rule:
      return "the operator takes " + expected + " operands, not " + extent;
    case extents_code::operand_rank_differs_from_rule:
      return "operand " + std::to_string(s.operand) + " has " + extent + " dims, the rule says " + expected;
    case extents_code::factor_extents_differ:
      return dim + " has extent " + extent + ", elsewhere the same factor has " + expected;
    case extents_code::factor_extent_is_fixed:
    case extents_code::dim_extent_is_fixed:
      return dim + " has extent " + extent + ", the rule says " + expected;
    case extents_code::dim_has_two_unknown_factors:
      return dim + " runs over two factors of unknown extent";
    case extents_code::factor_extent_is_not_known:
      return dim + " runs over a factor whose extent no operand tells";
    case extents_code::work_overflows:
      return "the operator's work leaves 64 bits";
  }
  return "unknown";
}

/// What a resolution moves: "operand 0 moves 1536 elements to (dp, None); 1 of 9 assignments, price 3072".
inline std::string to_text(const resolution& r) {
  switch (r.code) {
    case resolve_code::ok:
      break;
    case resolve_code::operands_are_refused:
      return to_text(r.strict);
    case resolve_code::extents_are_refused:
      return to_text(r.extents);
    case resolve_code::no_assignment_fits:
      return "no assignment of axes fits the operands";
    case resolve_code::too_many_pieces:
      return "the operands cut their axes into too many pieces";
  }
  if (r.moved == 0 && r.consumer_received == 0) return "nothing moves";
  std::string out;
  for (int o = 0; o < max_operands; ++o)
    if ((r.moved >> o & 1u) != 0)
      out += "operand " + std::to_string(o) + " moves " + std::to_string(r.received[o]) + " elements to " +
             to_text(r.placed.operand[o]) + "; ";
  if (r.consumer_received > 0)
    out += "the result moves " + std::to_string(r.consumer_received) + " elements to its consumer; ";
  return out + "price " + std::to_string(r.price) + ", best of " + std::to_string(r.assignments) + " assignments";
}

namespace report {

inline std::string to_text(const named_value<propagation_status>& n) {
  return hyperparallel::detail::propagation_text(n.value, &n.mesh);
}

}  // namespace report

}}  // namespace hyperparallel::v0_2
