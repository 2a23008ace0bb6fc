// SPDX-License-Identifier: Apache-2.0
// The table of a choice names every candidate once: with its figures, or with the reason why there is none.

#include <hyperparallel/report/format_choice.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <hyperparallel/hardware/presets.hpp>

#include "support/all_layouts.hpp"

namespace hp = hyperparallel;

namespace {

int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(format_choice, is_a_row_for_each_way_and_a_reason_for_each_other) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::interconnect links = hp::on_topology(hp::generic_host::topology);
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(links, 8)));
  const hp::shape s{64, 64};
  for (const hp::layout_value& from : worlds::all_layouts(m, 2))
    for (const hp::objective goal : {hp::objective::bytes, hp::objective::time}) {
      hp::layout_value source = from;
      hp::set_partial(source, 0, hp::reduce_op::sum);
      const hp::chosen_move c = hp::choose_move(source, hp::replicated(m, 2), s, {goal, links, 4, 0}, entries.data());
      const std::string text = fmt::format("{}", hp::priced(c, 4));
      EXPECT_EQ(count(text, "  chosen\n"), 1) << text;
      for (int i = 0; i < hp::move_candidate_count; ++i) {
        const std::string name = hp::name_of(static_cast<hp::move_candidate>(i));
        EXPECT_EQ(count("\n" + text, "\n" + name + " "), c.alternative[i].why_not == hp::candidate_code::ok ? 1 : 0)
            << text;
        EXPECT_GE(count(text, name), 1) << text;
        if (c.alternative[i].why_not != hp::candidate_code::ok)
          EXPECT_GE(count(text, hp::text_of(c.alternative[i].why_not)), 1) << text;
        else
          EXPECT_GE(count(text, fmt::format("  {}", c.alternative[i].figures.time)), 1) << text;
      }
    }
}

TEST(format_choice, a_way_that_links_do_not_carry_has_no_time) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::link_level link = {"link", hp::unbounded_group, 10 * hp::gigabyte, hp::microsecond};
  const hp::link_level links[] = {link, link};
  const hp::interconnect net = hp::on_full_mesh(m, links);
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, 4)));
  hp::layout_value source = hp::replicated(m, 1);
  hp::append_cut(source, {0, 0, 1, 2});
  hp::append_cut(source, {0, 1, 1, 2});
  const hp::chosen_move c =
      hp::choose_move(source, hp::replicated(m, 1), hp::shape{64},
                      {.goal = hp::objective::time, .links = net, .element_bytes = 4}, entries.data());
  ASSERT_EQ(c.alternative[0].why_not, hp::candidate_code::links_do_not_carry_it);
  const std::string text = fmt::format("{}", hp::priced(c, 4));
  EXPECT_EQ(count(text, "     -  the links do not carry it\n"), 2) << text;  // exchange and normal form: diagonals
  EXPECT_EQ(count(text, "  chosen\n"), 1) << text;
}

}  // namespace
