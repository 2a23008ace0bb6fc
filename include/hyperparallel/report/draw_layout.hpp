// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small drawing of who holds what: a grid of the pieces of two dims, in each cell the ranks that hold it.
//
//                0:32           32:64        dim 1
//                x=0            x=1
//            +--------------+--------------+
//    0:16 y=0 | 0 + 4        | 8 + 12       |    a term at rank 0, the other at rank 4
//            +--------------+--------------+
//
// Laws: where nothing is left out, every rank stands in exactly one cell, whose intervals are those of its box; ranks
// that hold equal blocks are a list, terms of a reduction are parted by its sign. What is left out reads "..".
// Tensors of more than two dims are drawn by the two dims that are cut most, and the drawing says so.

#include <string>
#include <vector>

#include <hyperparallel/mesh/axis_group.hpp>
#include <hyperparallel/report/format_layout.hpp>
#include <hyperparallel/report/table.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

/// How much of a drawing is drawn.
struct drawing_options {
  int rows = 8;     ///< at most, at least 3
  int columns = 8;  ///< at most, at least 3
  int terms = 4;    ///< of a reduction in a cell, at least 2
  int ranges = 3;   ///< of ranks in a list
};

}  // namespace report

namespace detail {

inline constexpr int left_out = -1;

/// The pieces of one dim that a drawing shows.
struct drawn_dim {
  int dim = -1;            ///< -1: the tensor has none to draw here
  std::vector<int> piece;  ///< in order; `left_out` stands for several
};

inline drawn_dim choose_pieces(const layout_value& l, int dim, int limit) {
  drawn_dim d{dim, {}};
  const int pieces = dim < 0 ? 1 : static_cast<int>(shards_of(l, dim));
  for (int i = 0; i < pieces; ++i)
    if (pieces <= limit || i < limit - 2 || i + 1 == pieces)
      d.piece.push_back(i);
    else if (i == limit - 2)
      d.piece.push_back(left_out);
  return d;
}

/// Number of the piece of `dim` that the position at `c` holds.
inline int piece_of(const layout_value& l, int dim, const coordinate& c) {
  int piece = 0;
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].dim == dim) piece = piece * l.cut[i].size + digit_of(l.mesh, l.cut[i], c.at[l.cut[i].axis]);
  return piece;
}

/// The interval and the coordinates of a piece: {"0:32", "x=0,y=1"}.
struct piece_label {
  std::string interval, coordinates;
};

inline piece_label label_of(const layout_value& l, const mesh_value& names, const shape& s, int dim, int piece) {
  if (dim < 0) return {};
  if (piece == left_out) return {"..", ""};
  const extent_t n = s.extent[dim], chunk = ceil_divide(n, shards_of(l, dim));
  piece_label label{to_text(interval{smaller(n, piece * chunk), smaller(n, (piece + 1) * chunk)}), ""};
  for (int i = l.cut_count - 1; i >= 0; --i) {
    const cut& c = l.cut[i];
    if (c.dim != dim) continue;
    const std::string digit = cut_text(l.mesh, c, &names) + "=" + std::to_string(piece % c.size);
    label.coordinates = label.coordinates.empty() ? digit : digit + "," + label.coordinates;
    piece /= c.size;
  }
  return label;
}

/// "0-3,8" of rising numbers, the ranges beyond the limit as "..".
inline std::string ranges_text(const std::vector<int>& ranks, int limit) {
  std::string out;
  int count = 0;
  for (std::size_t i = 0, end = 0; i < ranks.size(); i = end, ++count) {
    if (count == limit) return out + ",..";
    for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    out += fmt::format("{}{}", count > 0 ? "," : "", ranks[i]);
    if (end - i > 1) out += fmt::format("{}{}", end - i == 2 ? "," : "-", ranks[end - 1]);
  }
  return out;
}

/// "+" for sums and averages, else the name of the reduction; "" where nothing is partial.
inline std::string sign_of(const layout_value& l) {
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != reduce_op::none)
      return l.partial[a] == reduce_op::sum || l.partial[a] == reduce_op::avg ? "+" : name_of(l.partial[a]);
  return "";
}

/// The terms of a cell, each a rising list of ranks.
inline std::string cell_text(const std::vector<std::vector<int>>& terms, const std::string& sign,
                             const report::drawing_options& options) {
  const std::string between = " " + sign + " ";
  const std::size_t all = terms.size(), limit = static_cast<std::size_t>(options.terms);
  std::string out;
  for (std::size_t i = 0; i < all; ++i) {
    const bool shown = all <= limit || i + 2 < limit || i + 1 == all;
    if (!shown && i + 2 != limit) continue;
    if (i > 0) out += between;
    out += shown ? ranges_text(terms[i], options.ranges) : "..";
  }
  return out;
}

/// The two dims that are cut most, in order; -1 where there are none.
inline void choose_dims(const layout_value& l, int& rows, int& columns) {
  rows = -1;
  columns = l.rank > 0 ? 0 : -1;
  if (l.rank < 2) return;
  int first = 0;
  for (int d = 1; d < l.rank; ++d)
    if (shards_of(l, d) > shards_of(l, first)) first = d;
  int second = first == 0 ? 1 : 0;
  for (int d = 0; d < l.rank; ++d)
    if (d != first && shards_of(l, d) > shards_of(l, second)) second = d;
  rows = first < second ? first : second;
  columns = first < second ? second : first;
}

/// What the grid does not show.
inline std::string drawing_notes(const layout_value& l, const mesh_value& names, int rows, int columns) {
  std::string out;
  if (l.rank > 2)
    out += "  drawn: dims " + std::to_string(rows) + " and " + std::to_string(columns) + " of " +
           std::to_string(l.rank) + ", those cut most\n";
  for (int d = 0; d < l.rank; ++d)
    if (d != rows && d != columns && shards_of(l, d) > 1)
      out += "  dim " + std::to_string(d) + " is cut in " + std::to_string(shards_of(l, d)) +
             " as well: ranks of one cell hold different parts of it\n";
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != reduce_op::none)
      out += "  +" + axis_text(&names, a) + ": the blocks are terms of a " + name_of(l.partial[a]) + " along it\n";
  return out;
}

}  // namespace detail

namespace report {

/// The grid of a drawing: who holds which piece of two dims, in words.
struct layout_grid {
  int row_dim = -1, column_dim = -1;               ///< -1: the tensor has none
  std::vector<std::string> row;                    ///< "0:16 y=0"
  std::vector<std::string> interval, coordinates;  ///< of each column
  std::vector<std::vector<std::string>> cell;      ///< by row and column
  std::string notes;                               ///< what the grid does not show, in lines
};

/// Domain: `check_shape(l, s)` is ok; `names` is the mesh of `l`; `ranks` lists its positions. O(positions · cuts).
inline layout_grid grid_of(const layout_value& l, const mesh_value& names, const shape& s, const rank_list& ranks,
                           const drawing_options& options = {}) {
  namespace hidden = hyperparallel::detail;
  layout_grid g;
  hidden::choose_dims(l, g.row_dim, g.column_dim);
  const hidden::drawn_dim rows = hidden::choose_pieces(l, g.row_dim, options.rows),
                          columns = hidden::choose_pieces(l, g.column_dim, options.columns);
  axis_list partial;
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != reduce_op::none) partial.axis[partial.count++] = a;
  const std::size_t terms = static_cast<std::size_t>(group_size(l.mesh, partial)), wide = columns.piece.size();
  std::vector<std::vector<std::vector<int>>> held(rows.piece.size() * wide, std::vector<std::vector<int>>(terms));
  for (int p = 0; p < position_count(l.mesh); ++p) {
    const coordinate c = coordinates_of(l.mesh, p);
    const int row = hidden::piece_of(l, g.row_dim, c), column = hidden::piece_of(l, g.column_dim, c);
    for (std::size_t i = 0; i < rows.piece.size(); ++i)
      for (std::size_t j = 0; j < wide; ++j)
        if (rows.piece[i] == row && columns.piece[j] == column)
          held[i * wide + j][static_cast<std::size_t>(index_in_group(l.mesh, partial, p))].push_back(rank_at(ranks, p));
  }
  for (std::size_t j = 0; j < wide; ++j) {
    const hidden::piece_label label = hidden::label_of(l, names, s, g.column_dim, columns.piece[j]);
    g.interval.push_back(label.interval);
    g.coordinates.push_back(label.coordinates);
  }
  const std::string sign = hidden::sign_of(l);
  for (std::size_t i = 0; i < rows.piece.size(); ++i) {
    const hidden::piece_label label = hidden::label_of(l, names, s, g.row_dim, rows.piece[i]);
    g.row.push_back(label.interval + (label.coordinates.empty() ? "" : " ") + label.coordinates);
    std::vector<std::string>& cells = g.cell.emplace_back();
    for (std::size_t j = 0; j < wide; ++j) {
      const bool gap = rows.piece[i] == hidden::left_out || columns.piece[j] == hidden::left_out;
      cells.push_back(gap ? ".." : hidden::cell_text(held[i * wide + j], sign, options));
    }
  }
  g.notes = hidden::drawing_notes(l, names, g.row_dim, g.column_dim);
  return g;
}

/// The drawing, each line ended by a line break. Domain and cost of `grid_of`.
inline std::string draw_layout(const layout_value& l, const mesh_value& names, const shape& s, const rank_list& ranks,
                               const drawing_options& options = {}) {
  const layout_grid g = grid_of(l, names, s, ranks, options);
  const std::size_t wide = g.interval.size();
  std::vector<std::vector<std::string>> grid(g.row.size() + 2, std::vector<std::string>(1));
  grid[0].insert(grid[0].end(), g.interval.begin(), g.interval.end());
  grid[1].insert(grid[1].end(), g.coordinates.begin(), g.coordinates.end());
  for (std::size_t i = 0; i < g.row.size(); ++i) {
    grid[i + 2][0] = g.row[i];
    grid[i + 2].insert(grid[i + 2].end(), g.cell[i].begin(), g.cell[i].end());
  }
  std::vector<std::size_t> width(wide + 1, 1);
  for (const std::vector<std::string>& line : grid)
    for (std::size_t j = 0; j <= wide; ++j)
      width[j] = width[j] < detail::text_width(line[j]) ? detail::text_width(line[j]) : width[j];
  std::string rule = std::string(width[0] + 3, ' ') + "+";
  for (std::size_t j = 1; j <= wide; ++j) rule += std::string(width[j] + 2, '-') + "+";
  std::string out;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    std::string line = "  " + std::string(width[0] - detail::text_width(grid[i][0]), ' ') + grid[i][0];
    for (std::size_t j = 1; j <= wide; ++j)
      line += (i < 2 ? "   " : " | ") + grid[i][j] + std::string(width[j] - detail::text_width(grid[i][j]), ' ');
    if (i >= 2) line += " |";
    if (i == 0 && g.column_dim >= 0) line += "   dim " + std::to_string(g.column_dim);
    line.resize(line.find_last_not_of(' ') + 1);
    if (!line.empty()) out += line + "\n";
    if (i >= 1) out += rule + "\n";
  }
  return out + g.notes;
}

inline std::string draw_layout(const layout_value& l, const mesh_value& names, const shape& s,
                               const drawing_options& options = {}) {
  return draw_layout(l, names, s, all_ranks(l.mesh), options);
}

}  // namespace report

}}  // namespace hyperparallel::v0_2
