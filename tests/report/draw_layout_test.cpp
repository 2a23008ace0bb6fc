// SPDX-License-Identifier: Apache-2.0
// Every rank of every small layout stands in exactly one cell of its drawing, and the cell's labels are its box.

#include <hyperparallel/report/draw_layout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "support/all_layouts.hpp"

namespace hp = hyperparallel;

namespace {

hp::mesh_value named_mesh(const hp::mesh_shape& shape) {
  constexpr const char* names[] = {"x", "y", "z"};
  return hp::make_mesh(names, shape.axis_count, shape.size, shape.axis_count).mesh;
}

struct drawn_rank {
  int rank;
  std::string row, column, cell;
};

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, mark);) parts.push_back(part);
  return parts;
}

/// Reads a drawing of a tensor of one or two dims back.
std::vector<drawn_rank> ranks_in(const std::string& drawing, int dims) {
  std::vector<drawn_rank> found;
  const std::vector<std::string> lines = split(drawing, '\n');
  std::vector<std::string> columns;
  std::istringstream header(lines[0].substr(0, lines[0].find("   dim ")));
  for (std::string column; header >> column;) columns.push_back(column);
  for (const std::string& line : lines) {
    if (line.find('|') == std::string::npos) continue;
    const std::vector<std::string> cells = split(line, '|');
    std::istringstream label(cells[0]);
    std::string row;
    if (dims == 2) label >> row;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::istringstream terms(cells[c + 1]);
      for (std::string term; terms >> term;)
        for (const std::string& range : split(term == "+" || term == "max" ? "" : term, ',')) {
          const std::size_t dash = range.find('-');
          const int last = std::stoi(dash == std::string::npos ? range : range.substr(dash + 1));
          for (int r = std::stoi(range); r <= last; ++r) found.push_back({r, row, columns[c], cells[c + 1]});
        }
    }
  }
  return found;
}

TEST(draw_layout, every_rank_stands_once_in_the_cell_of_its_box) {
  const hp::report::drawing_options all{64, 64, 64, 64};
  for (const hp::mesh_shape& m : worlds::small_meshes())
    for (int dims = 1; dims <= 2; ++dims)
      for (hp::layout_value l : worlds::all_layouts(m, dims))
        for (const bool padded : {false, true}) {
          if (padded) l.padded = (1u << dims) - 1;
          const hp::shape s = padded ? (dims == 1 ? hp::shape{7} : hp::shape{5, 3}) : worlds::divisible_shape(m, dims);
          const std::string drawing = hp::report::draw_layout(l, named_mesh(m), s, all);
          std::vector<drawn_rank> found = ranks_in(drawing, dims);
          ASSERT_EQ(static_cast<int>(found.size()), hp::position_count(m)) << drawing;
          std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
          for (int p = 0; p < hp::position_count(m); ++p) {
            const drawn_rank& d = found[static_cast<std::size_t>(p)];
            const hp::box b = hp::slice_at(l, s, hp::coordinates_of(m, p));
            EXPECT_EQ(d.rank, p);
            EXPECT_EQ(d.column, hp::to_text(b.dim[dims - 1])) << drawing;
            EXPECT_EQ(d.row, dims == 2 ? hp::to_text(b.dim[0]) : "") << drawing;
          }
        }
}

TEST(draw_layout, terms_of_a_reduction_are_parted_by_its_sign) {
  const hp::mesh_value m = named_mesh({2, {2, 4}});
  hp::layout_value l = hp::replicated(m.shape, 2);
  hp::set_partial(l, 0, hp::reduce_op::sum);
  hp::append_cut(l, {1, 1, 1, 4});
  EXPECT_EQ(hp::report::draw_layout(l, m, {8, 64}),
            "        0:16    16:32   32:48   48:64   dim 1\n"
            "        y=0     y=1     y=2     y=3\n"
            "      +-------+-------+-------+-------+\n"
            "  0:8 | 0 + 4 | 1 + 5 | 2 + 6 | 3 + 7 |\n"
            "      +-------+-------+-------+-------+\n"
            "  +x: the blocks are terms of a sum along it\n");
  hp::layout_value maxima = hp::replicated(m.shape, 0);
  hp::set_partial(maxima, 0, hp::reduce_op::max);
  hp::set_partial(maxima, 1, hp::reduce_op::max);
  EXPECT_EQ(hp::report::draw_layout(maxima, m, {}),
            "    +----------------------+\n"
            "    | 0 max 1 max .. max 7 |\n"
            "    +----------------------+\n"
            "  +x: the blocks are terms of a max along it\n"
            "  +y: the blocks are terms of a max along it\n");
}

TEST(draw_layout, what_is_too_much_is_left_out) {
  const hp::mesh_value m = named_mesh({2, {16, 10}});
  hp::layout_value l = hp::replicated(m.shape, 1);
  hp::append_cut(l, {0, 0, 1, 16});
  const std::string drawing = hp::report::draw_layout(l, m, hp::shape{32});
  const std::vector<std::string> lines = split(drawing, '\n');
  EXPECT_NE(lines[0].find("10:12"), std::string::npos);
  EXPECT_EQ(lines[0].find("12:14"), std::string::npos);
  EXPECT_NE(lines[0].find("..   30:32"), std::string::npos) << drawing;
  EXPECT_NE(lines[3].find("| 0-9 "), std::string::npos) << drawing;
  EXPECT_NE(lines[3].find("| .. | 150-159 |"), std::string::npos) << drawing;
  hp::layout_value other = hp::replicated(m.shape, 1);
  hp::append_cut(other, {0, 1, 1, 10});
  EXPECT_NE(hp::report::draw_layout(other, m, hp::shape{10}).find("| 0,10,20,.. |"), std::string::npos);
}

TEST(draw_layout, of_many_dims_those_cut_most_are_drawn) {
  const hp::mesh_value m = named_mesh({3, {2, 3, 4}});
  hp::layout_value l = hp::replicated(m.shape, 4);
  hp::append_cut(l, {1, 0, 1, 2});
  hp::append_cut(l, {2, 2, 1, 4});
  hp::append_cut(l, {3, 1, 1, 3});
  const std::string drawing = hp::report::draw_layout(l, m, {5, 6, 8, 9});
  EXPECT_NE(drawing.find("0:2 z=0 | 0,12 "), std::string::npos) << drawing;
  EXPECT_NE(drawing.find("dim 3\n"), std::string::npos) << drawing;
  EXPECT_TRUE(
      drawing.ends_with("  drawn: dims 2 and 3 of 4, those cut most\n"
                        "  dim 1 is cut in 2 as well: ranks of one cell hold different parts of it\n"))
      << drawing;
}

TEST(draw_layout, ranks_are_those_of_the_list) {
  const hp::mesh_value m = named_mesh({1, {2}});
  hp::layout_value l = hp::replicated(m.shape, 1);
  hp::append_cut(l, {0, 0, 1, 2});
  constexpr int ranks[] = {7, 3};
  const std::string drawing = hp::report::draw_layout(l, m, hp::shape{4}, hp::rank_list{2, ranks});
  EXPECT_NE(drawing.find("| 7   | 3   |"), std::string::npos) << drawing;
}

}  // namespace
