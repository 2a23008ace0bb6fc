// SPDX-License-Identifier: Apache-2.0
// An explanation holds every step and the certificate's figures; its example transfers are those of the busiest rank.

#include <hyperparallel/report/explain_move.hpp>

#include <hyperparallel/redistribution/candidates.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/all_layouts.hpp"

namespace hp = hyperparallel;

namespace {

constexpr const char* names[] = {"x", "y"};

hp::mesh_value mesh_of(int x, int y) {
  const int sizes[] = {x, y};
  return hp::make_mesh(names, 2, sizes, 2).mesh;
}

int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(explain_move, golden) {
  const hp::mesh_value m = mesh_of(2, 4);
  const char *const from[] = {"x", "None"}, *const to[] = {"None", "y,x"};
  const hp::move_plan p =
      hp::plan_move(hp::layout_from_map(m, from, 2).layout, hp::layout_from_map(m, to, 2).layout, {64, 64});
  EXPECT_EQ(fmt::format("{}", hp::explained(p, m, 4)),
            "kind    exchange: 1 step\n"
            "bound   |T| (1 - 1/g) on every rank, g = 2 gathered\n"
            "\n"
            "dim  digit of size  in the source  in the target  which is\n"
            "---  -------------  -------------  -------------  --------\n"
            "  0              2  x              local          gathered\n"
            "  1              4  local          y              sliced\n"
            "  1              2  local          x              sliced\n"
            "\n"
            "step 1  pull (x, None) -> (None, (y, x))\n"
            "        each rank takes every box of its target from one holder\n"
            "        all receive 8.0 KiB; a rank receives at most 1.0 KiB in 1 message, sends at most 1.0 KiB\n"
            "        rank 0 takes [32:64, 0:8] from rank 4\n"
            "\n"
            "certificate\n"
            "        received by all ranks  8.0 KiB\n"
            "        least of any program   8.0 KiB\n"
            "        ratio                  1.0000\n"
            "        busiest receiver       1.0 KiB\n"
            "        busiest sender         1.0 KiB\n"
            "        peak, source given up  10.0 KiB\n");
}

TEST(explain_move, every_small_move_with_its_partial_states) {
  const hp::mesh_value m = mesh_of(2, 2);
  const hp::shape s{8, 8};
  for (const hp::layout_value& from : worlds::all_layouts(m.shape, 2))
    for (const hp::layout_value& to : worlds::all_layouts(m.shape, 2))
      for (int state = 0; state < 4; ++state) {
        hp::layout_value source = from, target = to;
        if ((state & 1) != 0 && hp::set_partial(source, 0, hp::reduce_op::sum).code != hp::layout_code::ok) continue;
        if ((state & 2) != 0 && hp::set_partial(target, 1, hp::reduce_op::max).code != hp::layout_code::ok) continue;
        const hp::move_plan p = hp::plan_move(source, target, s);
        ASSERT_EQ(p.code, hp::move_code::ok);
        const std::string text = fmt::format("{}", hp::explained(p, m, 2));
        std::vector<hp::extent_t> tally(12);
        const hp::move_certificate c = hp::certify(p, tally.data());
        EXPECT_TRUE(text.starts_with("kind    " + std::string(hp::name_of(p.kind)) + ":")) << text;
        EXPECT_EQ(count(text, "\nstep "), p.step_count) << text;
        EXPECT_EQ(count(text, "        all receive "), c.steps) << text;
        if (p.step_count == 0) continue;
        const auto figure = [&](const char* name, hp::extent_t elements) {
          const std::string line = name + fmt::format("{}", hp::report::byte_count{elements * 2}) + "\n";
          EXPECT_EQ(count(text, line), 1) << text;
        };
        figure("received by all ranks  ", c.received_total);
        figure("least of any program   ", c.least_total);
        figure("busiest receiver       ", c.received_maximum);
        figure("busiest sender         ", c.sent_maximum);
        EXPECT_EQ(count(text, "\n        peak, source given up  "), 1) << text;
      }
}

TEST(explain_move, transfers_beyond_the_shown_ones_are_counted) {
  const hp::mesh_value m = mesh_of(2, 4);
  const char *const from[] = {"x,y", "None"}, *const to[] = {"None", "None"};
  const hp::move_plan p =
      hp::plan_move(hp::layout_from_map(m, from, 2).layout, hp::layout_from_map(m, to, 2).layout, {64, 64});
  constexpr int ranks[] = {10, 11, 12, 13, 14, 15, 16, 17};
  const std::string text = fmt::format("{}", hp::explained(p, m, 4, {8, ranks}));
  EXPECT_EQ(count(text, "        rank 10 takes "), 4) << text;
  EXPECT_EQ(count(text, " from rank 11\n"), 1) << text;
  EXPECT_EQ(count(text, "        and 3 more\n"), 1) << text;
}

TEST(explain_move, a_way_in_two_parts_has_the_steps_of_both) {
  const hp::mesh_value m = mesh_of(4, 2);
  const hp::link_level link = {"link", hp::unbounded_group, 10 * hp::gigabyte, hp::microsecond};
  const hp::link_level links[] = {link, link};
  const hp::interconnect net = hp::on_full_mesh(m.shape, links);
  const char *const from[] = {"x,y", "None"}, *const to[] = {"None", "None"};
  const hp::layout_value source = hp::layout_from_map(m, from, 2).layout, target = hp::layout_from_map(m, to, 2).layout;
  const hp::move_plan p = hp::plan_move(source, target, {64, 64});
  const hp::candidate_result both =
      hp::build_candidate(hp::candidates_of(source, target, {64, 64}, net), hp::move_candidate::both_orders);
  ASSERT_EQ(both.parts.count, 2);
  const std::string text = fmt::format("{}", hp::explained(p, both.parts, m, 4, hp::all_ranks(m.shape)));
  EXPECT_EQ(count(text, "\npart 1  moves 0:") + count(text, "\npart 2  moves "), 2) << text;
  EXPECT_EQ(count(text, "\nstep 1  pull "), 2) << text;
  EXPECT_EQ(count(text, "\nstep 2  pull "), 2) << text;
  EXPECT_EQ(count(text, "received by all ranks  112.0 KiB\n"), 1) << text;
  EXPECT_EQ(count(text, "least of any program   112.0 KiB\n"), 1) << text;
}

TEST(explain_move, axes_of_a_finer_matrix_are_numbered) {
  const hp::mesh_value finer = hp::detail::names_on(mesh_of(2, 8), {3, {2, 4, 2}});
  EXPECT_EQ(fmt::format("{}", finer), "(x=2, y.0=4, y.1=2)");
  EXPECT_EQ(fmt::format("{}", hp::detail::names_on(mesh_of(1, 8), {2, {1, 8}})), "(x=1, y=8)");
  EXPECT_EQ(fmt::format("{}", hp::detail::names_on(mesh_of(1, 8), {2, {2, 4}})), "(y.0=2, y.1=4)");
}

}  // namespace
