// SPDX-License-Identifier: Apache-2.0
// One broken flow for every code of the structural check, each a single change of a good one.

#include <gtest/gtest.h>

#include "flows.hpp"

namespace {

using namespace taskflow_test;
using code = hp::flow_code;

constexpr moe_tiles tiles{3, 1, 0};
constexpr hp::taskflow_size size = hp::measure(tiles);
constexpr auto good = hp::build_fixed<size>(tiles);
constexpr std::int64_t capacity[] = {12 * 8192};

template <class Change>
constexpr hp::flow_status after(const Change& change) {
  auto f = good;
  change(f);
  hp::detail::fixed_flow_scratch<size> x;
  const hp::flow_status found = hp::check_flow(f, 1, capacity, 1, x);
  return found == hp::check_flow(f, 1, capacity, 1) ? found : hp::flow_status{static_cast<code>(99)};
}

static_assert(after([](auto&) {}) == hp::flow_status{});
static_assert(after([](auto& f) { f.task[3].wait_end = size.waits + 1; }).code == code::range_outside_the_flow);
static_assert(after([](auto& f) { ++f.run[1]; }).code == code::runs_are_wrong);
static_assert(after([](auto& f) { --f.size.runs; }).code == code::runs_are_wrong);
static_assert(after([](auto& f) { f.run[0] = 1; }).code == code::runs_are_wrong);
static_assert(after([](auto& f) { f.task[3].rank = 1; }) == hp::flow_status{code::rank_outside_the_machine, 3});
static_assert(after([](auto& f) { f.task[3].duration = -1; }) == hp::flow_status{code::negative_duration, 3});
static_assert(after([](auto& f) { f.wait[0].event = size.events; }).code == code::event_outside_the_flow);
static_assert(after([](auto& f) { f.signal[0] = -1; }).code == code::event_outside_the_flow);
static_assert(after([](auto& f) { f.access[0].slot = size.slots; }).code == code::slot_outside_the_flow);
static_assert(after([](auto& f) { f.access[0].end = 8193; }).code == code::access_outside_its_slot);
static_assert(after([](auto& f) { f.access[0].end = f.access[0].begin; }).code == code::access_outside_its_slot);
static_assert(after([](auto& f) { f.access[0].end = hp::whole_slot; }) == hp::flow_status{});
static_assert(after([](auto& f) {
                f.access[0].begin = -1;
                f.access[0].end = hp::whole_slot;
              }).code == code::access_outside_its_slot);
static_assert(after([](auto& f) { f.access[0].begin = f.access[0].end = hp::whole_slot; }).code ==
              code::access_outside_its_slot);
static_assert(after([](auto& f) {
                f.slot[11].bytes = std::int64_t{1} << 40;
                f.access[f.task[29].access_begin].begin = 1 << 30;
                f.access[f.task[29].access_begin].end = (1 << 30) + 1;
              }) == hp::flow_status{code::access_outside_its_slot, 29, -1, 11});
static_assert(after([](auto& f) {
                f.task[0].part = 1;
                f.access[0].step = 8190;
              }).code == code::access_outside_its_slot);
static_assert(after([](auto& f) { ++f.size.signal_uses; }) == hp::flow_status{code::use_total_differs});
static_assert(after([](auto& f) { --f.size.access_uses; }) == hp::flow_status{code::use_total_differs});
static_assert(after([](auto& f) { f.task[3].first_event = -1; }).code == code::event_outside_the_flow);
static_assert(after([](auto& f) { f.task[3].first_event = size.events; }).code == code::event_outside_the_flow);
static_assert(after([](auto& f) { f.task[3].first_slot = size.slots - 1; }).code == code::slot_outside_the_flow);
static_assert(after([](auto& f) { f.wait[4].threshold = 2; }) == hp::flow_status{code::use_total_differs});
static_assert(after([](auto& f) {
                f.wait[4].threshold = 2;
                f.thresholds = 1;
              }) == hp::flow_status{});
static_assert(after([](auto& f) { ++f.event[14].signals; }) == hp::flow_status{code::signal_total_differs, -1, 14});
static_assert(after([](auto& f) { f.wait[0].threshold = 0; }).code == code::threshold_is_out_of_range);
static_assert(after([](auto& f) { f.wait[0].threshold = 2; }).code == code::threshold_is_out_of_range);
static_assert(after([](auto& f) { f.wait[0].event = 5; }) ==
              hp::flow_status{code::reference_order_is_not_executable, 1, 5});
static_assert(after([](auto& f) { f.slot[11].offset += 1; }) ==
              hp::flow_status{code::slot_outside_its_tier, -1, -1, 11});
static_assert(after([](auto& f) { f.slot[2].tier = 1; }).code == code::slot_outside_its_tier);
static_assert(after([](auto& f) { f.slot[2].offset -= 1; }) == hp::flow_status{code::slots_overlap, -1, -1, 2, 1});

TEST(FlowCheck, FindsOverlapInAnySlotOrder) {
  std::mt19937 random(2);
  for (int i = 0; i < 3000; ++i) {
    const int slots = 1 + below(random, 9);
    hp::owned_taskflow f({0, 0, 0, 0, 0, slots});
    std::vector<bool> used(2 * 2 * 40);
    bool overlap = false;
    for (int s = 0; s < slots; ++s) {
      const int rank = below(random, 2), tier = below(random, 2), begin = below(random, 30), bytes = below(random, 5);
      hp::add_slot(f, rank, tier, begin, bytes);
      for (int b = begin; b < begin + bytes; ++b) {
        const auto place = static_cast<std::size_t>((rank * 2 + tier) * 40 + b);
        overlap = overlap || used[place];
        used[place] = true;
      }
    }
    hp::detail::owned_flow_scratch x(f.size);
    const std::int64_t room[] = {40, 40};
    ASSERT_EQ(hp::check_flow(f, 2, room, 2, x).code, overlap ? code::slots_overlap : code::ok);
  }
}

}  // namespace
