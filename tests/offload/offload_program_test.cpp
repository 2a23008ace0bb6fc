// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_program.hpp>

#include <offload/random_offload_program.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace hp = hyperparallel;

namespace {

using code = hp::offload_code;

/// Two operators; a value that the first defines and the second reads, and a parameter.
constexpr hp::offload_program good_program() {
  hp::offload_program p;
  p.op.push({10, -1, false});
  p.op.push({20, 0, false});
  p.link.push({1000, 5});
  p.tier.push({100, -1, -1});
  p.tier.push({1000, 0, 0});
  p.storage.push({.bytes = 7, .first_access = 0, .access_count = 2, .recompute = 4, .operand_count = 1});
  p.storage.push({.bytes = 9, .first_access = 2, .access_count = 1, .persistent = true});
  p.access.push({0, false, true});
  p.access.push({1, true, false});
  p.access.push({1, true, true});
  p.operand.push(1);
  return p;
}

template <class Break>
hp::offload_status broken(const Break& change) {
  hp::offload_program p = good_program();
  change(p);
  return hp::check(p);
}

static_assert(hp::check(good_program()) == hp::offload_status{});

TEST(offload_program, names_each_fault) {
  EXPECT_EQ(broken([](auto& p) { p.tier.clear(); }).code, code::no_tier);
  EXPECT_EQ(broken([](auto& p) { p.tier.resize(9, {10, 0, 0}); }).code, code::too_many_tiers_or_links);
  EXPECT_EQ(broken([](auto& p) { p.link.resize(33, {10, 0}); }).found, 33);
  EXPECT_EQ(broken([](auto& p) { p.tier[0].capacity = 0; }),
            (hp::offload_status{.code = code::capacity_is_not_positive, .tier = 0, .limit = 1}));
  EXPECT_EQ(broken([](auto& p) { p.tier[1].out_link = -1; }).code, code::tier_without_link);
  EXPECT_EQ(broken([](auto& p) { p.tier[1].in_link = 1; }).tier, 1);
  EXPECT_EQ(broken([](auto& p) { p.link[0].bytes_per_second = 0; }).code, code::bandwidth_is_not_positive);
  EXPECT_EQ(broken([](auto& p) { p.link[0].latency = -1; }).code, code::latency_is_negative);
  EXPECT_EQ(broken([](auto& p) { p.op[1].duration = -2; }),
            (hp::offload_status{.code = code::duration_is_negative, .op = 1, .found = -2}));
  EXPECT_EQ(broken([](auto& p) { p.op[0].link = 1; }).code, code::operator_on_unknown_link);
  EXPECT_EQ(broken([](auto& p) { p.storage[1].bytes = -1; }).code, code::bytes_are_negative);
  EXPECT_EQ(broken([](auto& p) { p.storage[1].access_count = 2; }).code, code::accesses_are_outside_the_program);
  EXPECT_EQ(broken([](auto& p) { p.storage[1].access_count = INT32_MAX; }).code,
            code::accesses_are_outside_the_program);
  EXPECT_EQ(broken([](auto& p) { p.access[1].op = 0; }).code, code::accesses_are_not_in_order);
  EXPECT_EQ(broken([](auto& p) { p.access[1].op = 2; }).op, 2);
  EXPECT_EQ(broken([](auto& p) { p.access[1].reads = false; }).code, code::access_neither_reads_nor_writes);
  EXPECT_EQ(broken([](auto& p) { p.access[0] = {0, true, false}; }),
            (hp::offload_status{.code = code::storage_is_read_before_it_is_written, .op = 0, .storage = 0}));
  EXPECT_EQ(broken([](auto& p) { p.storage[0].operand_count = 2; }).code, code::operand_is_outside_the_program);
  EXPECT_EQ(broken([](auto& p) { p.operand[0] = 2; }).code, code::operand_is_outside_the_program);
  EXPECT_EQ(broken([](auto& p) { p.operand[0] = 0; }).code, code::storage_is_its_own_operand);
  EXPECT_EQ(broken([](auto& p) { p.storage[0].tier = 2; }).code, code::control_names_unknown_tier);
  EXPECT_EQ(broken([](auto& p) { p.storage[0].tier = 0; }).code, code::control_names_unknown_tier);
  EXPECT_EQ(broken([](auto& p) {
              p.tier.resize(1);
              p.storage[0].control = hp::offload_control::offload;
            }).code,
            code::control_offloads_without_tier);
  EXPECT_EQ(broken([](auto& p) { p.storage[1].control = hp::offload_control::recompute; }),
            (hp::offload_status{.code = code::control_recomputes_what_cannot_be, .storage = 1}));
  EXPECT_EQ(broken([](auto& p) { p.op[0].duration = p.op[1].duration = INT64_MAX / 2 + 1; }).code,
            code::sum_exceeds_64_bits);
  EXPECT_EQ(broken([](auto& p) { p.storage[0].bytes = INT64_MAX / 4; }).code, code::sum_exceeds_64_bits);
}

TEST(offload_program, takes_random_programs) {
  offload_testing::draw d(3);
  for (int i = 0; i < 500; ++i) {
    offload_testing::program_shape shape;
    shape.tiers = d.between(1, 4);
    shape.collectives = shape.half_duplex = d.one_in(2);
    EXPECT_EQ(hp::check(offload_testing::random_program(d, shape)), hp::offload_status{});
  }
}

TEST(offload_program, has_a_sentence_for_every_code) {
  EXPECT_STREQ(hp::to_text(code::ok), "ok");
  EXPECT_STREQ(hp::to_text(code::bandwidth_is_not_positive), "the link's bandwidth is not positive");
  EXPECT_STREQ(hp::to_text(code::sum_exceeds_64_bits), "a sum over the program exceeds 64 bits");
}

}  // namespace
