// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/ops/experts.hpp>

#include <gtest/gtest.h>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
using hp::operator_id;
namespace ops = hp::ops;

constexpr extent_t groups = 3, tokens = 7, choices = 2, experts = 4, width = 5;

letter_extents sizes(extent_t capacity) {
  std::mt19937 random(0);
  letter_extents e("", random);
  for (const auto& [letter, extent] : std::initializer_list<std::pair<char, extent_t>>{
           {'b', groups}, {'B', groups}, {'S', tokens}, {'K', choices}, {'e', experts}, {'c', capacity}, {'h', width}})
    e.of[static_cast<int>(letter)] = extent;
  return e;
}

/// Slot of each choice [group][token][choice], or -1; `joint`: all groups share the slots.
std::vector<extent_t> slots_by_definition(const std::vector<std::int32_t>& index, extent_t capacity, bool joint) {
  std::vector<extent_t> slot;
  std::vector<extent_t> filled(at(experts));
  for (extent_t i = 0; i < groups * tokens * choices; ++i) {
    if (!joint && i % (tokens * choices) == 0) filled.assign(at(experts), 0);
    const extent_t e = index[at(i)], group = joint ? 0 : i / (tokens * choices);
    slot.push_back(filled[at(e)] < capacity ? (group * experts + e) * capacity + filled[at(e)]++ : -1);
  }
  return slot;
}

TEST(Experts, AgreeWithTheDefinition) {
  std::mt19937 random(1);
  for (const bool joint : {false, true})
    for (const extent_t capacity : {1, 3, 7, 21}) {
      const letter_extents extents = sizes(capacity);
      const std::string g = joint ? "B" : "b", slots = joint ? "ech" : "bech", index = g + "SK", rows = g + "Sh";
      run_case<double> there(id_of<ops::dispatch>, rows + "," + index + "->" + slots, "ne", {}, extents, random);
      run_case<double> back(id_of<ops::undispatch>, slots + "," + index + "->" + rows, "ne", {}, extents, random);
      run_case<double> join(id_of<ops::combine>, slots + "," + index + "," + index + "->" + rows, "nen", {}, extents,
                            random);
      run_case<double> weighted(id_of<ops::dispatch_weighted>, rows + "," + index + "," + index + "->" + slots, "nen",
                                {}, extents, random);
      run_case<double> d_weight(id_of<ops::combine_weight_gradient>, rows + "," + slots + "," + index + "->" + index,
                                "nne", {}, extents, random);
      for (run_case<double>* c : {&back, &join, &weighted}) c->operand[1] = there.operand[1];
      d_weight.operand[2] = there.operand[1];
      for (run_case<double>* c : {&there, &back, &join, &weighted, &d_weight}) c->run_whole();

      const std::vector<extent_t> slot = slots_by_definition(there.operand[1].indices, capacity, joint);
      std::vector<double> sent(there.result[0].values.size()), sent_weighted(sent.size());
      std::vector<double> returned(back.result[0].values.size()), joined(returned.size()), dots(slot.size());
      extent_t dropped = 0;
      for (std::size_t i = 0; i < slot.size(); ++i) {
        dropped += slot[i] < 0 ? 1 : 0;
        for (std::size_t h = 0; h < at(width) && slot[i] >= 0; ++h) {
          const std::size_t in_slot = at(slot[i] * width) + h, in_row = i / at(choices) * at(width) + h;
          sent[in_slot] = there.operand[0].values[in_row];
          sent_weighted[in_slot] = weighted.operand[2].values[i] * weighted.operand[0].values[in_row];
          returned[in_row] += back.operand[0].values[in_slot];
          joined[in_row] += join.operand[2].values[i] * join.operand[0].values[in_slot];
          dots[i] += d_weight.operand[0].values[in_row] * d_weight.operand[1].values[in_slot];
        }
      }
      EXPECT_EQ(there.result[0].values, sent);
      EXPECT_EQ(weighted.result[0].values, sent_weighted);
      EXPECT_LE(largest_difference(back.result[0].values, returned), 1e-15);
      EXPECT_LE(largest_difference(join.result[0].values, joined), 1e-15);
      EXPECT_LE(largest_difference(d_weight.result[0].values, dots), 1e-15);
      EXPECT_EQ(dropped > 0, capacity < (joint ? 11 : 4)) << "of capacity " << capacity;
    }
}

TEST(Experts, RefuseSlotsOfAnotherShape) {
  std::mt19937 random(2);
  run_case<float> c(id_of<ops::dispatch>, "bSh,bSK->beh", "ne", {}, random);
  EXPECT_THROW(c.run_whole(), std::invalid_argument);
}

}  // namespace
