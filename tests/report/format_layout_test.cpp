// SPDX-License-Identifier: Apache-2.0
// Every small layout, partial states included, comes back from its text; complaints name axis, dim and sizes.

#include <hyperparallel/report/format_layout.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "support/all_layouts.hpp"

namespace hp = hyperparallel;

namespace {

hp::mesh_value named_mesh(const hp::mesh_shape& m) {
  const char* names[] = {"dp", "cp", "a_tp"};
  return hp::make_mesh(names, m.axis_count, m.size, m.axis_count).mesh;
}

/// Reads "(dp, None, (cp, tp)) partial(tp: sum)".
hp::layout_result read(const std::string& text, const hp::mesh_value& m) {
  std::vector<std::string> entries;
  std::string entry;
  std::size_t at = 1;
  for (int depth = 1; depth > 0; ++at) {
    const char c = text.at(at);
    if (c == '(')
      ++depth;
    else if (c == ')')
      --depth;
    else if (c != ' ' && !(c == ',' && depth == 1))
      entry += c;
    if ((c == ',' && depth == 1) || (depth == 0 && !entry.empty())) {
      entries.push_back(entry);
      entry.clear();
    }
  }
  std::vector<const char*> list;
  for (const std::string& e : entries) list.push_back(e.c_str());
  hp::layout_result r = hp::layout_from_map(m, list.data(), static_cast<int>(list.size()));
  const std::string opening = " partial(";
  if (text.compare(at, opening.size(), opening) != 0) return r;
  for (at += opening.size(); text.at(at - 1) != ')';) {
    const std::size_t colon = text.find(':', at), end = text.find_first_of(",)", colon);
    const hp::reduce_op op = hp::reduction_called(text.substr(colon + 2, end - colon - 2).c_str());
    EXPECT_EQ(hp::set_partial(r.layout, hp::axis_index(m, text.substr(at, colon - at).c_str()), op).code,
              hp::layout_code::ok);
    at = text[end] == ',' ? end + 2 : end + 1;
  }
  return r;
}

TEST(format_layout, reads_back_for_every_small_layout) {
  for (const hp::mesh_shape& shape : worlds::small_meshes()) {
    const hp::mesh_value m = named_mesh(shape);
    for (int rank = 0; rank <= 3; ++rank)
      for (const hp::layout_value& whole : worlds::all_layouts(shape, rank))
        for (int partial = 0; partial < 1 << shape.axis_count; ++partial) {
          hp::layout_value l = whole;
          for (int a = 0; a < shape.axis_count; ++a)
            if ((partial >> a & 1) != 0) hp::set_partial(l, a, static_cast<hp::reduce_op>(1 + (a + partial) % 7));
          const hp::layout_result back = read(fmt::format("{}", named(l, m)), m);
          EXPECT_EQ(back.status.code, hp::layout_code::ok);
          EXPECT_EQ(back.layout, l) << to_text(named(l, m));
        }
  }
}

TEST(format_layout, golden) {
  const char* names[] = {"dp", "cp", "tp"};
  const int sizes[] = {2, 2, 4};
  const hp::mesh_value m = hp::make_mesh(names, 3, sizes, 3).mesh;
  const char* map[] = {"dp", "None", "cp,tp"};
  hp::layout_value l = hp::layout_from_map(m, map, 3).layout;
  EXPECT_EQ(fmt::format("{}", named(l, m)), "(dp, None, (cp, tp))");
  EXPECT_EQ(fmt::format("{}", l), "(0, None, (1, 2))");
  EXPECT_EQ(fmt::format("{}", as_dictionary(l, m, hp::rank_list{3, 4})),
            "{'mesh_shape': (2, 2, 4), 'tensor_map': (2, -1, (1, 0)), 'interleaved_parallel': False, "
            "'alias_name': ('dp', 'cp', 'tp'), 'rank_list': [4, 5, 6]}");
  l = hp::replicated(m.shape, 1);
  hp::append_cut(l, {0, 2, 2, 2});
  hp::set_partial(l, 1, hp::reduce_op::sum);
  l.padded = 1;
  EXPECT_EQ(fmt::format("{}", named(l, m)), "(tp:(2)2) partial(cp: sum) padded(0)");
  const hp::mesh_value line = named_mesh({1, {2}});
  EXPECT_EQ(fmt::format("{}", as_dictionary(hp::replicated(line.shape, 1), line)),
            "{'mesh_shape': (2,), 'tensor_map': (-1,), 'interleaved_parallel': False, 'alias_name': ('dp',), "
            "'rank_list': [0, 1]}");
  EXPECT_EQ(fmt::format("{} {} {}", hp::replicate(), hp::shard(1, 2), hp::partial_of(hp::reduce_op::max)),
            "Replicate() Shard(1, order=2) Partial(max)");
  EXPECT_EQ(fmt::format("{}", hp::slice_of(l, hp::shape{7}, 0)), "[0:4]");
  l.padded = 0;
  EXPECT_EQ(fmt::format("{}", hp::local_shape(l, hp::shape{8})), "(4)");
  EXPECT_EQ(fmt::format("{}", hp::local_shape(l, hp::shape{7})), "dim 0 of extent 7 does not divide by its 2 shards");
}

TEST(format_layout, refusals_name_axis_dim_and_sizes) {
  const hp::mesh_value m = named_mesh({2, {2, 3}});
  const auto refused = [&](std::vector<const char*> map) {
    return to_text(named(hp::layout_from_map(m, map.data(), static_cast<int>(map.size())).status, m));
  };
  EXPECT_EQ(refused({"dp", "cp,dp"}), "axis dp is used twice (dim 1, place 1)");
  EXPECT_EQ(refused({"xx"}), "an axis is not in the mesh (dp=2, cp=3) (dim 0, place 0)");
  EXPECT_EQ(refused(std::vector<const char*>(9, "")), "9 dims are more than the 8 that a tensor may have");
  const char* map[] = {"dp,cp", ""};
  hp::layout_value l = hp::layout_from_map(m, map, 2).layout;
  EXPECT_EQ(to_text(hp::check_shape(l, hp::shape{1000, 4})), "dim 0 of extent 1000 does not divide by its 6 shards");
  EXPECT_EQ(to_text(hp::check_shape(l, hp::shape{6, 4, 2})), "the map has 2 entries for a tensor of 3 dims");
  EXPECT_EQ(fmt::format("{}", named(hp::set_partial(l, 1, hp::reduce_op::sum), m)),
            "axis cp shards dim 0 and is partial");
}

TEST(format_layout, has_a_sentence_for_every_code) {
  std::set<std::string> texts;
  for (int c = 0; c <= static_cast<int>(hp::layout_code::rank_is_outside_the_mesh); ++c)
    texts.insert(to_text(hp::layout_status{static_cast<hp::layout_code>(c), 0, 0, 0, 0, 0}));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(hp::layout_code::rank_is_outside_the_mesh) + 1);
  EXPECT_FALSE(texts.contains("unknown"));
}

}  // namespace
