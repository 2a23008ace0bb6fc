// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads an operator's einsum against the tensors it is given: its loops, and which loop each dim follows.
//
// Law: a letter is one loop with one extent wherever it stands; a loop takes its named dim from the first operand that
// has it, a letter of a result alone from the dims that the caller creates. `*` binds the same run of dims everywhere.
// Failures name the operand, the dim and both extents. O(letters · loops).

#include <hyperparallel/model/graph.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel::inline v0_2 {

/// A loop that no operand has: the letter of a result and the named dim that it makes.
struct created_dim {
  char letter = '\0';
  int dim = 0;
};

namespace detail {

struct letter_loops {
  int letter[max_operator_loops] = {};  ///< of each loop; dims under `*` are 256, 257, …
  int count = 0;

  constexpr int find(int l) const {
    for (int i = 0; i < count; ++i)
      if (letter[i] == l) return i;
    return -1;
  }
};

inline constexpr int first_star_letter = 256;

/// Letters of one tensor's part of a text, with `*` written out.
struct tensor_letters {
  int rank = 0;
  int letter[max_dims] = {};
  bool fits = true;
};

/// Reads up to ',' or '-' or the end and moves `at` there. `star` is the run's length, or -1 while unknown: then it
/// follows from `rank`.
constexpr tensor_letters read_letters(const char* text, int& at, int rank, int& star) {
  tensor_letters r;
  int end = at, plain = 0;
  bool starred = false;
  for (; text[end] != '\0' && text[end] != ',' && text[end] != '-'; ++end) {
    if (text[end] == '*')
      starred = true;
    else
      ++plain;
  }
  if (starred && star < 0) star = rank - plain;
  if (starred && star < 0) r.fits = false;
  const int total = plain + (starred && star > 0 ? star : 0);
  if (total > max_dims || (rank >= 0 && total != rank)) r.fits = false;
  if (r.fits) {
    for (int i = at; i < end; ++i) {
      if (text[i] == '*') {
        for (int s = 0; s < star; ++s) r.letter[r.rank++] = first_star_letter + s;
      } else {
        r.letter[r.rank++] = text[i];
      }
    }
  }
  at = end;
  return r;
}

constexpr bool is_whole_letter(int letter) { return letter >= 'A' && letter <= 'Z'; }

constexpr int dim_of_created(int letter, const created_dim* created, int count) {
  for (int i = 0; i < count; ++i)
    if (created[i].letter == letter) return created[i].dim;
  return -1;
}

constexpr graph_status bind_loops_here(const graph& g, graph_operator& o, const char* text, const int* operands,
                                       int count, const created_dim* created, int created_count) {
  if (count > max_operator_operands) return {graph_code::too_many_operands, -1, -1, count};
  letter_loops known;
  int at = 0, star = -1;
  for (int i = 0; i < count; ++i) {
    const graph_tensor& t = g.tensor[operands[i]];
    const tensor_letters letters = read_letters(text, at, t.shape.rank, star);
    if (!letters.fits) return {graph_code::rank_differs_from_text, -1, t.name, i, 0, t.shape.rank, 0};
    o.operand[i].tensor = operands[i];
    o.operand[i].rank = letters.rank;
    for (int d = 0; d < letters.rank; ++d) {
      int l = known.find(letters.letter[d]);
      if (l < 0) {
        if (known.count == max_operator_loops) return {graph_code::too_many_loops, -1, t.name, i, d};
        l = known.count++;
        known.letter[l] = letters.letter[d];
        o.loop[l] = {t.dim[d], t.shape.extent[d], is_whole_letter(letters.letter[d]), true};
      } else if (o.loop[l].extent != t.shape.extent[d]) {
        return {graph_code::dim_differs_between_operands, -1, t.name, i, d, t.shape.extent[d], o.loop[l].extent};
      }
      o.operand[i].loop[d] = static_cast<signed char>(l);
    }
    // Operators of any number of operands repeat the last part of their text.
    if (text[at] == ',')
      ++at;
    else if (i + 1 < count) {
      while (at > 0 && text[at - 1] != ',') --at;
    }
  }
  o.operand_count = count;
  if (text[at] != '-' || text[at + 1] != '>') return {graph_code::text_is_malformed};
  at += 2;
  for (o.result_count = 0; o.result_count < max_operator_results;) {
    const tensor_letters letters = read_letters(text, at, -1, star);
    if (!letters.fits) return {graph_code::text_is_malformed};
    operator_tensor& r = o.result[o.result_count++];
    r.rank = letters.rank;
    for (int d = 0; d < letters.rank; ++d) {
      int l = known.find(letters.letter[d]);
      if (l < 0) {
        const int dim = dim_of_created(letters.letter[d], created, created_count);
        if (dim < 0) return {graph_code::dim_of_result_is_unknown, -1, -1, o.result_count - 1, d};
        if (known.count == max_operator_loops) return {graph_code::too_many_loops, -1, -1, o.result_count - 1, d};
        l = known.count++;
        known.letter[l] = letters.letter[d];
        o.loop[l] = {dim, g.dim[dim].extent, is_whole_letter(letters.letter[d]), false};
      }
      o.loop[l].reduced = false;
      r.loop[d] = static_cast<signed char>(l);
    }
    if (text[at] != ',') break;
    ++at;
  }
  o.loop_count = known.count;
  return text[at] == '\0' ? graph_status{} : graph_status{graph_code::text_is_malformed};
}
graph_status bind_loops_in_library(const graph& g, graph_operator& o, const char* text, const int* operands, int count,
                                   const created_dim* created, int created_count);

}  // namespace detail

/// Fills loops, operands' and results' maps of `o` from `text`. Operands are tensors of `g`; results get ranks and
/// loops, no tensors yet. The status names the operand by its number; `op` is the caller's to add.
constexpr graph_status bind_loops(const graph& g, graph_operator& o, const char* text, const int* operands, int count,
                                  const created_dim* created, int created_count) {
  HYPERPARALLEL_TWIN(detail::bind_loops_in_library(g, o, text, operands, count, created, created_count));
  return detail::bind_loops_here(g, o, text, operands, count, created, created_count);
}

}  // namespace hyperparallel::inline v0_2
