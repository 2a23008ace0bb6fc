// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>
#include <models/one_device_program.hpp>
#include <models/trained_models.hpp>

#include <random>
#include <utility>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::program_code;

constexpr hp::sharded_program one_matrix_under(const char* name, int ranks) {
  return hp::partition(programs::one_matrix(), hp::strategy_called(name, ranks).strategy);
}
static_assert(hp::check_program(one_matrix_under("dp", 4)).code == program_code::ok);

/// Programs with gathers, scatters, waiting terms, travelling blocks, states, micro-batches.
const std::vector<hp::sharded_program>& good_programs() {
  static const std::vector<hp::sharded_program> all = [] {
    std::vector<hp::sharded_program> made;
    models::small_moe_config config = programs::divisible_moe;
    config.layers = 1;
    for (const char* name : {"tp", "tp-sp", "zero1", "zero3", "ring", "2d", "summa", "tp-ep", "dp-tp-ep-cp"})
      for (const int micro_batches : {1, 2})
        made.push_back(hp::partition(programs::moe_graph({.unrolled = true, .micro_batches = micro_batches}, config),
                                     hp::strategy_called(name, 4).strategy));
    return made;
  }();
  return all;
}

hp::program_code code_of(const hp::sharded_program& p) { return hp::check_program(p).code; }

TEST(check_program, good_programs_are_good) {
  for (const hp::sharded_program& p : good_programs()) {
    EXPECT_EQ(p.status, hp::strategy_status{});
    EXPECT_EQ(hp::check_program(p), hp::program_status{});
  }
  const hp::sharded_program one = programs::one_device_program(programs::moe_graph({}));
  EXPECT_EQ(hp::check_program(one), hp::program_status{});
}

/// The short way to "lies as placed" never says yes where some device holds another box.
TEST(check_program, cut_as_placed_means_the_same_boxes_everywhere) {
  std::mt19937 random(5);
  int same = 0, other = 0;
  const auto compare = [&](const hp::sharded_program& p, const hp::program_compute& c, const hp::tensor_factors& t,
                           int v) {
    bool equal = true;
    for (int position = 0; position < hp::position_count(p.mesh.shape); ++position)
      for (int d = 0; d < t.rank; ++d)
        equal = equal && hp::box_of(p, v, position).dim[d] ==
                             hp::detail::loop_interval(p.graph.op[c.op], c.placement, p.mesh.shape,
                                                       hp::coordinates_of(p.mesh.shape, position), t.term[d]);
    const bool told = hp::detail::is_cut_as_placed(p, c, t, v);
    EXPECT_TRUE(equal || !told);
    EXPECT_EQ(hp::detail::lies_as_placed(p, c, t, v), equal);
    ++(equal ? same : other);
  };
  for (const hp::sharded_program& good : good_programs()) {
    hp::sharded_program p = good;
    for (int i = 0; i < p.compute.size; ++i) {
      const hp::program_compute& c = p.compute[i];
      const hp::graph_operator& o = p.graph.op[c.op];
      for (int k = 0; k < o.operand_count; ++k) {
        compare(p, c, p.graph.rule_of(o).operand[k], c.operand[k]);
        // Another value of the tensor, or one whose cuts stand elsewhere.
        hp::layout_value& l = p.value[c.operand[k]].layout;
        const hp::layout_value kept = l;
        if (l.cut_count > 0) {
          hp::cut& one = l.cut[random() % static_cast<unsigned>(l.cut_count)];
          const int axes = p.mesh.shape.axis_count;
          if (random() % 2 == 0) one.axis = static_cast<int>(random() % static_cast<unsigned>(axes));
          one.size = p.mesh.shape.size[one.axis];
          compare(p, c, p.graph.rule_of(o).operand[k], c.operand[k]);
        }
        l = kept;
        if (l.cut_count > 1) {
          std::swap(l.cut[0].axis, l.cut[1].axis);
          std::swap(l.cut[0].size, l.cut[1].size);
          compare(p, c, p.graph.rule_of(o).operand[k], c.operand[k]);
        }
        l = kept;
      }
    }
  }
  EXPECT_GT(same, 1000);
  EXPECT_GT(other, 100);
}

TEST(check_program, names_are_one_a_code) {
  EXPECT_STREQ(hp::name_of(program_code::ok), "ok");
  EXPECT_STREQ(hp::name_of(program_code::value_is_read_after_it_is_replaced), "value_is_read_after_it_is_replaced");
  EXPECT_STREQ(hp::name_of(program_code::next_value_is_not_at_home), "next_value_is_not_at_home");
}

/// Values that a step reads or writes.
std::vector<int> values_of(const hp::sharded_program& p, const hp::program_step& s, bool written) {
  std::vector<int> v;
  if (s.is_move) return {written ? p.move[s.index].target : p.move[s.index].source};
  const hp::program_compute& c = p.compute[s.index];
  const hp::graph_operator& o = p.graph.op[c.op];
  for (int i = 0; i < (written ? o.result_count : o.operand_count); ++i)
    v.push_back(written ? c.result[i] : c.operand[i]);
  return v;
}

// Without a step, what it would have written is missed by its first reader, or at home.
TEST(check_program, every_step_that_is_left_out_is_missed) {
  for (const hp::sharded_program& p : good_programs()) {
    for (int out = 0; out < p.step.size; ++out) {
      hp::sharded_program broken = p;
      broken.step.clear();
      for (int i = 0; i < p.step.size; ++i)
        if (i != out) broken.step.push(p.step[i]);
      int reader = -1, missed = -1;
      bool ends = false;
      for (const int v : values_of(p, p.step[out], true)) {
        ends = ends || p.storage[p.value[v].storage].home;
        for (int i = p.step.size - 1; i > out; --i)
          for (const int read : values_of(p, p.step[i], false))
            if (read == v && (reader < 0 || i <= reader)) {
              reader = i;
              missed = v;
            }
      }
      const hp::program_status s = hp::check_program(broken);
      if (reader >= 0) {
        EXPECT_EQ(s.code, program_code::value_is_read_before_it_is_written);
        EXPECT_EQ(s.step, reader - 1);
        if (p.step[reader].is_move) {
          EXPECT_EQ(s.value, missed);
        }
      } else {
        EXPECT_EQ(s.code, ends ? program_code::next_value_is_not_at_home : program_code::ok);
      }
    }
  }
}

TEST(check_program, a_step_that_happens_twice_writes_twice) {
  for (const hp::sharded_program& p : good_programs())
    for (int twice = 0; twice < p.step.size; ++twice) {
      hp::sharded_program broken = p;
      broken.step.clear();
      for (int i = 0; i < p.step.size; ++i) {
        broken.step.push(p.step[i]);
        if (i == twice) broken.step.push(p.step[i]);
      }
      // An update in place reads what it has replaced before it writes again.
      const hp::program_status s = hp::check_program(broken);
      EXPECT_TRUE(s.code == program_code::value_is_written_twice ||
                  s.code == program_code::value_is_read_after_it_is_replaced);
      EXPECT_EQ(s.step, twice + 1);
    }
}

TEST(check_program, what_an_update_replaced_is_not_read_again) {
  int tried = 0;
  for (const hp::sharded_program& p : good_programs())
    for (int i = 0; i < p.step.size; ++i)
      for (const int v : values_of(p, p.step[i], true)) {
        const int home = p.home[p.storage[p.value[v].storage].tensor];
        if (home < 0 || p.value[home].storage != p.value[v].storage) continue;
        // A move of the parameter as it was, afterwards.
        hp::sharded_program broken = p;
        const int copy = broken.value.push(p.value[home]);
        broken.value[copy].storage = broken.storage.push(p.storage[p.value[home].storage]);
        broken.step.clear();
        for (int k = 0; k <= i; ++k) broken.step.push(p.step[k]);
        broken.step.push({true, broken.move.push({home, copy, -1}), p.step[i].phase, -1});
        EXPECT_EQ(hp::check_program(broken),
                  (hp::program_status{program_code::value_is_read_after_it_is_replaced, i + 1, home}));
        ++tried;
      }
  EXPECT_GT(tried, 100);
}

TEST(check_program, an_operand_of_another_tensor_or_another_place) {
  for (const hp::sharded_program& p : good_programs()) {
    for (int i = 0; i < p.step.size; ++i) {
      if (p.step[i].is_move) continue;
      const int index = p.step[i].index;
      const hp::graph_operator& o = p.graph.op[p.compute[index].op];
      for (int k = 0; k < o.operand_count; ++k) {
        for (int t = 0; t < p.home.size; t += 7) {
          if (p.home[t] < 0 || t == o.operand[k]) continue;
          hp::sharded_program broken = p;
          broken.compute[index].operand[k] = p.home[t];
          const hp::program_code code = code_of(broken);
          EXPECT_TRUE(code == program_code::operand_lies_otherwise ||
                      code == program_code::value_is_read_after_it_is_replaced);
          break;
        }
      }
      // A placement that is short of an axis describes other boxes, or other terms.
      for (int a = 0; a < p.compute[index].placement.count; ++a) {
        hp::sharded_program broken = p;
        hp::operator_placement& placement = broken.compute[index].placement;
        placement.loop[placement.axis[a]] = placement.turned[placement.axis[a]] = -1;
        for (int b = a; b + 1 < placement.count; ++b) placement.axis[b] = placement.axis[b + 1];
        --placement.count;
        const hp::program_status s = hp::check_program(broken);
        EXPECT_TRUE(s.code == program_code::operand_lies_otherwise || s.code == program_code::result_lies_otherwise);
        EXPECT_EQ(s.step, i);
      }
    }
  }
}

// An operator that reads the terms of a sum in place of the sum: where not all its operands wait, that is refused.
TEST(check_program, terms_are_not_read_as_what_they_add_up_to) {
  int tried = 0;
  for (const hp::sharded_program& p : good_programs())
    for (const hp::program_move& m : p.move) {
      hp::layout_value whole = p.value[m.source].layout;
      if (!hp::is_partial(whole)) continue;
      for (int a = 0; a < hp::max_axes; ++a) whole.partial[a] = hp::reduce_op::none;
      if (!(whole == p.value[m.target].layout)) continue;
      for (int i = 0; i < p.step.size; ++i) {
        if (p.step[i].is_move) continue;
        const hp::program_compute& c = p.compute[p.step[i].index];
        const hp::graph_operator& o = p.graph.op[c.op];
        for (int k = 0; k < o.operand_count; ++k) {
          if (c.operand[k] != m.target) continue;
          hp::sharded_program broken = p;
          broken.compute[p.step[i].index].operand[k] = m.source;
          const hp::partial_words& words = hp::builtin_list[o.kind].partials;
          const bool passes = hp::detail::word_of(words, 0, hp::reduce_op::sum).mode == hp::partial_mode::together;
          const hp::program_status s = hp::check_program(broken);
          EXPECT_EQ(s.step, i);
          if (words == hp::refuse_partials() || (passes && o.operand_count > 1))
            EXPECT_EQ(s.code, program_code::operand_lies_otherwise) << hp::name_of(o.kind);
          else
            EXPECT_TRUE(s.code == program_code::operand_lies_otherwise ||
                        s.code == program_code::result_lies_otherwise);
          ++tried;
        }
      }
    }
  EXPECT_GT(tried, 100);
}

TEST(check_program, a_result_waits_as_the_placement_says) {
  int cleared = 0;
  for (const hp::sharded_program& p : good_programs())
    for (int i = 0; i < p.step.size; ++i) {
      if (p.step[i].is_move) continue;
      for (const int v : values_of(p, p.step[i], true)) {
        const hp::layout_value& l = p.value[v].layout;
        for (int a = 0; a < p.mesh.shape.axis_count; ++a) {
          bool cut = false;
          for (int k = 0; k < l.cut_count; ++k) cut = cut || l.cut[k].axis == a;
          if (cut) continue;
          hp::sharded_program broken = p;
          hp::reduce_op& op = broken.value[v].layout.partial[a];
          for (const hp::reduce_op other : {hp::reduce_op::none, hp::reduce_op::sum, hp::reduce_op::max}) {
            if (other == l.partial[a]) continue;
            op = other;
            EXPECT_EQ(hp::check_program(broken), (hp::program_status{program_code::result_lies_otherwise, i, v}));
          }
          cleared += l.partial[a] != hp::reduce_op::none;
        }
      }
    }
  EXPECT_GT(cleared, 100);
}

TEST(check_program, moves_keep_the_tensor_and_have_a_plan) {
  int turns = 0;
  for (const hp::sharded_program& p : good_programs())
    for (int i = 0; i < p.step.size; ++i) {
      if (!p.step[i].is_move) continue;
      const hp::program_move& m = p.move[p.step[i].index];
      hp::sharded_program broken = p;
      broken.value[m.target].tensor = p.value[m.target].tensor == 0 ? 1 : 0;
      EXPECT_EQ(hp::check_program(broken), (hp::program_status{program_code::move_changes_the_tensor, i, m.target}));
      broken = p;
      ++broken.value[m.target].layout.mesh.size[0];
      EXPECT_EQ(hp::check_program(broken), (hp::program_status{program_code::move_has_no_plan, i, m.target}));
      if (p.value[m.target].rotation == p.value[m.source].rotation) continue;
      broken = p;  // a block that travels stays as it is cut
      --broken.value[m.target].layout.cut_count;
      EXPECT_EQ(hp::check_program(broken), (hp::program_status{program_code::move_has_no_plan, i, m.target}));
      ++turns;
    }
  EXPECT_GT(turns, 10);
}

TEST(check_program, storages_hold_what_they_hold) {
  for (const hp::sharded_program& p : good_programs())
    for (int s = 0; s < p.storage.size; ++s) {
      hp::sharded_program broken = p;
      ++broken.storage[s].bytes;
      const hp::program_status found = hp::check_program(broken);
      EXPECT_EQ(found.code, program_code::storage_holds_another_size);
      EXPECT_EQ(p.value[found.value].storage, s);
    }
}

TEST(check_program, phases_stand_in_order) {
  for (const hp::sharded_program& p : good_programs())
    for (int i = 0; i + 1 < p.step.size; ++i) {
      if (p.step[i + 1].phase == hp::graph_phase::update) continue;
      hp::sharded_program broken = p;
      broken.step[i].phase = hp::graph_phase::update;
      EXPECT_EQ(hp::check_program(broken), (hp::program_status{program_code::phases_are_out_of_order, i + 1, -1}));
    }
}

TEST(check_program, next_values_end_at_home) {
  int tried = 0;
  for (const hp::sharded_program& p : good_programs())
    for (int t = 0; t < p.graph.tensor.size; ++t) {
      const int first = p.graph.tensor[t].replaces;
      if (first < 0 || p.home[first] < 0) continue;
      for (int v = 0; v < p.value.size; ++v) {
        if (p.value[v].tensor != t || p.value[v].storage != p.value[p.home[first]].storage) continue;
        hp::sharded_program broken = p;
        broken.value[v].storage = broken.storage.push(p.storage[p.value[v].storage]);
        EXPECT_EQ(hp::check_program(broken),
                  (hp::program_status{program_code::next_value_is_not_at_home, -1, p.home[first]}));
        ++tried;
      }
    }
  EXPECT_GT(tried, 100);
}

}  // namespace
