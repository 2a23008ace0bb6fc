// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/sharded_program.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>
#include <models/one_device_program.hpp>
#include <models/trained_models.hpp>

#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;

// Boxes of a value: all of one volume, `local_elements`; together they cover the tensor as often as it has copies.
TEST(sharded_program, boxes_are_equal_and_cover_the_tensor) {
  for (const char* name : {"2d", "zero3-tp", "ring", "summa"}) {
    const hp::sharded_program p = hp::partition(programs::moe_graph({}), hp::strategy_called(name, 4).strategy);
    for (int v = 0; v < p.value.size; ++v) {
      const hp::graph_tensor& t = p.graph.tensor[p.value[v].tensor];
      hp::extent_t sum = 0, pieces = 1;
      for (int d = 0; d < t.shape.rank; ++d) pieces *= hp::shards_of(p.value[v].layout, d);
      for (int at = 0; at < 4; ++at) {
        sum += hp::volume(hp::box_of(p, v, at));
        EXPECT_EQ(hp::volume(hp::box_of(p, v, at)), hp::local_elements(p, v));
      }
      EXPECT_EQ(sum, hp::elements_of(t) * 4 / pieces);
      EXPECT_EQ(hp::local_bytes(p, v), hp::local_elements(p, v) * hp::bytes_of(t.type));
      EXPECT_EQ(p.storage[p.value[v].storage].bytes, hp::local_bytes(p, v));
    }
  }
}

// The device at c holds what c - by holds at rest.
TEST(sharded_program, a_block_that_has_travelled_is_another_devices) {
  const hp::sharded_program p = hp::partition(programs::moe_graph({}), hp::strategy_called("ring", 4).strategy);
  int travelled = 0;
  for (int v = 0; v < p.value.size; ++v) {
    if (p.value[v].rotation.by == 0) continue;
    hp::sharded_program at_rest = p;
    at_rest.value[v].rotation = {};
    for (int at = 0; at < 4; ++at)
      EXPECT_EQ(hp::box_of(p, v, at), hp::box_of(at_rest, v, (at + 4 - p.value[v].rotation.by) % 4));
    ++travelled;
  }
  EXPECT_GT(travelled, 4);
}

TEST(sharded_program, steps_happen_once_a_repetition_and_micro_batch_but_norms_and_updates) {
  hp::sharded_program p;
  p.graph.micro_batches = 3;
  p.graph.segment.push({0, 5});
  for (int phase = 0; phase < hp::graph_phase_count; ++phase)
    for (const int segment : {-1, 0}) {
      const hp::graph_phase at = static_cast<hp::graph_phase>(phase);
      const hp::extent_t batches = at == hp::graph_phase::norm || at == hp::graph_phase::update ? 1 : 3;
      EXPECT_EQ(hp::times_of(p, {false, 0, at, segment}), batches * (segment < 0 ? 1 : 5));
    }
}

constexpr hp::extent_t homes(const hp::sharded_program& p) {
  hp::extent_t bytes = 0;
  for (const hp::program_storage& s : p.storage) bytes += s.home ? s.bytes : 0;
  return bytes;
}
// Two inputs of the matrix model: 8 x 16 and 16 x 32 numbers of 4 bytes.
static_assert(homes(programs::one_device_program(programs::one_matrix())) == 4 * (8 * 16 + 16 * 32));

}  // namespace
