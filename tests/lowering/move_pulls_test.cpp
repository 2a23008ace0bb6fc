// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/move_pulls.hpp>
#include <hyperparallel/redistribution/certificate.hpp>
#include <hyperparallel/redistribution/choose_move.hpp>

#include <lowering/one_move.hpp>
#include <support/all_layouts.hpp>
#include <support/small_links.hpp>
#include <support/tries.hpp>

#include <gtest/gtest.h>

#include <set>

namespace hp = hyperparallel;

namespace {

using tested::tries;

/// Everything a plan's own transfers say.
void expect_transfers(const hp::sharded_program& p, const hp::move_pulls& pulls) {
  const hp::program_value &from = p.value[0], &to = p.value[1];
  const hp::move_plan plan = hp::plan_move(from.layout, to.layout, p.graph.tensor[0].shape);
  ASSERT_EQ(plan.code, hp::move_code::ok);
  const int positions = hp::position_count(p.mesh.shape);
  if (plan.reduced != 0 && plan.step_count == 2 && hp::elements_of(p.graph.tensor[0]) == 1) {
    ASSERT_EQ(pulls.row.size, 1) << "every device fetches all terms of one number";
    for (int q = 0; q < positions; ++q)
      EXPECT_EQ(pulls.sender_begin[q + 1] - pulls.sender_begin[q] - 1, pulls.pulled[q]);
    return;
  }
  ASSERT_EQ(pulls.row.size, plan.step_count == 0 ? 1 : plan.step_count);
  hp::extent_t total = 0;
  for (int i = 0; i < plan.step_count; ++i)
    for (int q = 0; q < positions; ++q) {
      const hp::step_receiver r = hp::receiver_of(plan.step[i], plan.shape, q);
      std::set<int> senders, listed;
      hp::extent_t elements = 0;
      for (hp::extent_t k = 0; k < r.transfers; ++k) {
        const hp::transfer t = hp::transfer_at(plan.step[i], r, k);
        if (hp::volume(t.part) == 0) continue;
        senders.insert(t.sender);
        if (t.sender != q) elements += hp::volume(t.part);
      }
      const int at = i * positions + q;
      for (int k = pulls.sender_begin[at]; k < pulls.sender_begin[at + 1]; ++k)
        EXPECT_TRUE(listed.insert(pulls.sender[k]).second) << "listed twice";
      EXPECT_EQ(listed, senders);
      EXPECT_EQ(pulls.pulled[at], elements);
      total += elements;
    }
  std::vector<hp::extent_t> tally(2 * static_cast<std::size_t>(positions) + 64);
  EXPECT_EQ(total, plan.step_count == 0 ? 0 : hp::certify(plan, tally.data()).received_total);
}

TEST(MovePulls, ListEachSenderOnceAndCountWhatTheCertificateCounts) {
  std::mt19937 random(1);
  for (int n = tries(300, 20000); n > 0; --n) {
    const hp::sharded_program p = programs::random_move(random, n % 3 == 0 ? hp::reduce_op::none : hp::reduce_op::sum);
    const hp::program_pulls pulls = hp::pulls_of(p);
    ASSERT_EQ(pulls.status, hp::move_pulls_status{});
    expect_transfers(p, pulls.of(0));
  }
}

/// Every pair of layouts of a 2x2x2 mesh, terms in every fifth of them: the rows are the steps of the candidate that
/// `choose_move` takes by time, and bring what its table says.
TEST(MovePulls, AreTheStepsThatAreChosenByTime) {
  const hp::mesh_shape m{3, {2, 2, 2}};
  std::vector<hp::layout_value> all = worlds::all_layouts(m, 2);
  const std::size_t bare = all.size();
  const std::vector<hp::layout_value> with_terms = worlds::partial_layouts(m, 2, {hp::reduce_op::sum});
  for (std::size_t i = 0; i < with_terms.size(); i += 5) all.push_back(with_terms[i]);
  const hp::interconnect net = tested::node_links();
  std::vector<hp::extent_t> entries(static_cast<std::size_t>(hp::tally_size(net, 8)));
  int pairs = 0, other = 0;
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < bare; ++b) {
      const hp::sharded_program p = programs::one_move(all[a], all[b], hp::shape{64, 32});
      const int bytes = hp::bytes_of(p.graph.tensor[0].type);
      const hp::program_pulls pulls = hp::pulls_of(p, hp::kinds_of_moves(p, net));
      ASSERT_EQ(pulls.status.code, hp::move_pulls_code::ok);
      const hp::move_kind& kind = pulls.moves.kind[0];
      if (kind.exchange_steps == 0 || kind.received == 0) continue;
      const hp::chosen_move chosen = hp::choose_move(all[a], all[b], hp::shape{64, 32},
                                                     {hp::objective::time, net, bytes, 0, false}, entries.data());
      ASSERT_EQ(chosen.code, hp::choice_code::ok);
      hp::extent_t pulled = 0;
      for (const hp::extent_t n : pulls.of(0).pulled) pulled += n;
      ASSERT_EQ(pulled, chosen.figures.received_total);
      ASSERT_EQ(hp::time_of(pulls.moves.load[0], bytes, net), chosen.figures.time);
      ASSERT_EQ(kind.candidate, chosen.candidate);
      ASSERT_EQ(pulls.of(0).row.size, hp::step_count(chosen.plan));
      ++pairs;
      other += kind.candidate != hp::move_candidate::exchange ? 1 : 0;
    }
  EXPECT_GT(pairs, 3000);
  EXPECT_GT(other, 500);
}

TEST(MovePulls, RotatedBlocksComeWholeFromTheDeviceThatHoldsThem) {
  std::mt19937 random(2);
  for (int n = tries(200, 5000); n > 0; --n) {
    const hp::mesh_shape m = programs::random_mesh(random);
    const hp::layout_value l = programs::random_layout(random, m, 2, hp::reduce_op::sum);
    const int axis = static_cast<int>(random() % static_cast<unsigned>(m.axis_count));
    const int before = static_cast<int>(random() % 4), after = static_cast<int>(random() % 4);
    const hp::shape s{2 * hp::shards_of(l, 0), hp::shards_of(l, 1)};
    const hp::sharded_program p = programs::one_move(l, l, s, {before == 0 ? -1 : axis, before}, {axis, after});
    const hp::program_pulls pulls = hp::pulls_of(p);
    ASSERT_EQ(pulls.status.code, hp::move_pulls_code::ok);
    const hp::move_pulls& one = pulls.of(0);
    EXPECT_EQ(one.row.size, 1);
    for (int q = 0; q < hp::position_count(m); ++q) {
      ASSERT_EQ(one.sender_begin[q + 1] - one.sender_begin[q], 1);
      const int sender = one.sender[one.sender_begin[q]];
      EXPECT_EQ(hp::box_of(p, 0, sender), hp::box_of(p, 1, q));
      EXPECT_EQ(one.pulled[q], sender == q ? 0 : hp::local_elements(p, 1));
      hp::coordinate from = hp::coordinates_of(m, sender), to = hp::coordinates_of(m, q);
      from.at[axis] = to.at[axis] = 0;  // terms and replicas along other axes stay where they are
      EXPECT_EQ(from, to);
    }
  }
}

TEST(MovePulls, NameTheMoveThatHasNone) {
  hp::layout_value cut, whole;
  cut.mesh = whole.mesh = {1, {4}};
  cut.rank = whole.rank = 1;
  hp::append_cut(cut, {0, 0, 1, 4});
  const hp::program_pulls turned = hp::pulls_of(programs::one_move(cut, whole, hp::shape{8}, {0, 1}));
  EXPECT_EQ(turned.status.code, hp::move_pulls_code::rotation_meets_other_layout);
  EXPECT_EQ(turned.status.move, 0);
  hp::layout_value waits = whole, other = whole;
  waits.mesh = other.mesh = {2, {2, 2}};
  waits.partial[0] = hp::reduce_op::sum;
  waits.partial[1] = hp::reduce_op::max;
  const hp::program_pulls mixed = hp::pulls_of(programs::one_move(waits, other, hp::shape{8}));
  EXPECT_EQ(mixed.status.code, hp::move_pulls_code::plan_is_refused);
  EXPECT_EQ(mixed.status.plan, hp::move_code::reductions_do_not_commute);
  for (int c = 0; c < 3; ++c) EXPECT_STRNE(hp::to_text(static_cast<hp::move_pulls_code>(c)), "unknown");
}

constexpr bool lists_at_compile_time() {
  hp::layout_value cut, whole;
  cut.mesh = whole.mesh = {1, {4}};
  cut.rank = whole.rank = 1;
  hp::append_cut(cut, {0, 0, 1, 4});
  hp::sharded_program p;
  p.mesh.shape = cut.mesh;
  hp::graph_tensor t;
  t.shape = hp::shape{8};
  p.graph.tensor.push(t);
  p.value.push({0, cut, {}, 0});
  p.value.push({0, whole, {}, 1});
  p.move.push({0, 1, -1});
  const hp::program_pulls pulls = hp::pulls_of(p);
  return pulls.status.code == hp::move_pulls_code::ok && pulls.of(0).sender.size == 16 && pulls.of(0).pulled[2] == 6;
}
static_assert(lists_at_compile_time());

}  // namespace
