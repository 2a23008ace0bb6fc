// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/hand_over.hpp>

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "support/tries.hpp"

namespace {

using namespace hyperparallel;

/// A tensor that lies on one part and is wanted on another.
sharded_program two_parts(const layout_value& from, const layout_value& to, const shape& s) {
  sharded_program p;
  graph_tensor t;
  t.shape = s;
  p.graph.tensor.push(t);
  p.home.push(0);
  int first = 0;
  for (const layout_value* l : {&from, &to}) {
    program_part part;
    part.mesh.shape = l->mesh;
    part.first_rank = first;
    first += position_count(l->mesh);
    program_storage storage;
    storage.tensor = 0;
    storage.part = p.part.push(part);
    p.value.push({0, *l, {}, p.storage.push(storage)});
  }
  p.move.push({0, 1, -1});
  return p;
}

mesh_shape random_mesh(std::mt19937& random) {
  mesh_shape m;
  m.axis_count = 1 + static_cast<int>(random() % 2);
  for (int a = 0; a < m.axis_count; ++a) m.size[a] = 1 + static_cast<int>(random() % 4);
  return m;
}
/// Each axis cuts a dim, in even or padded pieces, or none.
layout_value random_layout(std::mt19937& random, const mesh_shape& m, const shape& s) {
  layout_value l;
  l.mesh = m;
  l.rank = s.rank;
  int dim[max_axes] = {};
  for (int a = 0; a < m.axis_count; ++a) dim[a] = static_cast<int>(random() % 3);
  for (int d = 0; d < s.rank; ++d) {
    extent_t pieces = 1;
    for (int a = 0; a < m.axis_count; ++a)
      if (dim[a] == d && m.size[a] > 1) {
        append_cut(l, {d, a, 1, m.size[a]});
        pieces *= m.size[a];
      }
    if (s.extent[d] % pieces != 0) l.padded |= 1u << d;
  }
  return l;
}

/// Every element of every receiver's block comes once, from a rank that has it; nothing else comes.
TEST(hand_over, brings_each_block_once_and_nothing_more) {
  std::mt19937 random(81);
  int by_position = 0, alike = 0, unlike = 0;
  for (int n = tested::tries(2000, 20000); n > 0; --n) {
    const shape s{1 + static_cast<extent_t>(random() % 12), 1 + static_cast<extent_t>(random() % 6)};
    const mesh_shape here = random_mesh(random), there = n % 3 == 0 ? here : random_mesh(random);
    const layout_value from = random_layout(random, here, s), to = random_layout(random, there, s);
    const sharded_program p = two_parts(from, to, s);
    ASSERT_TRUE(hyperparallel::detail::is_hand_over(p, p.move[0]));
    if (hyperparallel::detail::is_by_position(p, p.move[0])) {
      for (int r = 0; r < position_count(there); ++r) ASSERT_EQ(box_of(p, 0, r), box_of(p, 1, r));
      ++by_position;
      continue;
    }
    const move_plan plan = hyperparallel::detail::plan_of_hand_over(p, p.move[0]);
    ASSERT_EQ(plan.code, move_code::ok);
    ASSERT_EQ(plan.step_count, 1);
    for (int r = 0; r < position_count(there); ++r) {
      const box wanted = box_of(p, 1, r);
      extent_t taken = 0, counted = 0;
      std::vector<box> parts;
      const step_receiver receiver = receiver_of(plan.step[0], plan.shape, r);
      for (extent_t k = 0; k < receiver.transfers; ++k) {
        const transfer t = transfer_at(plan.step[0], receiver, k);
        if (volume(t.part) == 0) continue;
        ASSERT_EQ(intersection(t.part, box_of(p, 0, t.sender)), t.part) << "the sender has it";
        ASSERT_EQ(intersection(t.part, wanted), t.part) << "the receiver wants it";
        for (const box& other : parts) ASSERT_EQ(volume(intersection(t.part, other)), 0);
        parts.push_back(t.part);
        taken += volume(t.part);
      }
      hyperparallel::detail::visit_taken(plan, r, [&](int, extent_t elements) { counted += elements; });
      ASSERT_EQ(taken, volume(wanted));
      ASSERT_EQ(counted, taken);
    }
    (here == there ? alike : unlike) += 1;
  }
  EXPECT_GT(by_position, 50);
  EXPECT_GT(alike, 200);
  EXPECT_GT(unlike, 500);
}

/// Eight ranks that hold a whole tensor each share the sending of it.
TEST(hand_over, replicas_share_the_sending) {
  layout_value whole, halves;
  whole.mesh = {1, {8}};
  halves.mesh = {1, {2}};
  whole.rank = halves.rank = 2;
  layout_value both = halves;
  append_cut(halves, {0, 0, 1, 2});
  for (const layout_value& to : {halves, both}) {
    const sharded_program p = two_parts(whole, to, {64, 4});
    const move_plan plan = hyperparallel::detail::plan_of_hand_over(p, p.move[0]);
    std::set<int> senders;
    for (int r = 0; r < 2; ++r)
      hyperparallel::detail::visit_taken(plan, r, [&](int sender, extent_t) { senders.insert(sender); });
    EXPECT_GE(senders.size(), 2u);
  }
}

/// Terms are reduced by the part that has them, before they are handed over: what would take two steps is no hand-over.
TEST(hand_over, terms_for_copies_are_refused) {
  layout_value terms, copies;
  terms.mesh = {1, {4}};
  copies.mesh = {1, {2}};
  terms.rank = copies.rank = 1;
  terms.partial[0] = reduce_op::sum;
  const sharded_program p = two_parts(terms, copies, shape{8});
  EXPECT_EQ(hyperparallel::detail::plan_of_hand_over(p, p.move[0]).code, move_code::source_is_refused);
}

}  // namespace
