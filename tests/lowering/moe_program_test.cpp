// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <type_traits>

#include <hyperparallel/lowering/moe_buckets.hpp>
#include <hyperparallel/lowering/moe_program.hpp>
#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/price/moe_tiling_choice.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"ep", 8}> {};
struct single : hp::device_matrix<hp::axis{"ep", 1}> {};

constexpr hp::moe_layer small{1024, 512, 64, 8, 8 * 512};
constexpr hp::moe_options options{.tiling = {64, 256, 256, 64, 64, 16, 8, 8}};
using program = hp::moe_program<small, mesh, hp::matrix384, options>;

// What a user's CI would hold.
static_assert(program::verified);
static_assert(program::dispatch::kind == hp::plan_kind::all_to_all);
static_assert(program::dispatch::bytes_received == program::dispatch::lower_bound);
static_assert(program::combine::kind == hp::plan_kind::all_to_all && program::combine::steps == 1);
static_assert(program::dispatch::bytes_received == program::combine::bytes_received);
static_assert(program::makespan >= program::certificate.bound);
static_assert(hp::local_shape_of<program::by_expert, program::gate_up_weight> == hp::shape{8, 1, 1024, 1024});

// On one device every layout is the replicated one, and nothing moves.
using alone = hp::moe_program<hp::moe_layer{64, 32, 8, 2, 64}, single, hp::matrix384,
                              hp::moe_options{.tiling = {16, 64, 64, 16, 16, 16, 4, 2}}>;
static_assert(alone::verified && alone::dispatch::steps == 0 && alone::dispatch::bytes_received == 0);
static_assert(std::is_same_v<alone::by_source, alone::by_expert>);

hp::moe_plan_result full(int devices, const hp::moe_options& o, bool serialized) {
  const hp::moe_layer layer{7168, 2048, 8 * devices, 8, devices * 4096};
  return hp::make_moe_plan(layer, devices, 1, hp::matrix384::device, hp::matrix384::expert_all_to_all, o, serialized);
}

hp::planned_flow plan(const hp::moe_plan_result& r, const hp::moe_options& o) {
  return hp::planned_flow(hp::moe_builder{r.plan}, hp::moe_machine(o, 1), {o.policy, o.synchronisation});
}

TEST(moe_program, the_run_time_plan_is_the_compile_time_plan_field_by_field) {
  hp::planned_flow p(hp::moe_builder{program::plan}, hp::moe_machine(options, 1),
                     {options.policy, options.synchronisation});
  const auto& f = program::stages::flow;
  ASSERT_EQ(p.flow().size, f.size);
  for (int t = 0; t < f.size.tasks; ++t) {
    EXPECT_EQ(p.flow().task[t].duration, f.task[t].duration);
    EXPECT_EQ(p.flow().task[t].operation, f.task[t].operation);
    EXPECT_EQ(p.flow().task[t].item, f.task[t].item);
    EXPECT_EQ(p.schedule().queue[t], program::stages::schedule.queue[t]);
    EXPECT_EQ(p.schedule().order[t], program::stages::schedule.order[t]);
    EXPECT_EQ(p.schedule().queue_task[t], program::stages::schedule.queue_task[t]);
  }
  for (int w = 0; w < f.size.waits; ++w) {
    EXPECT_EQ(p.flow().wait[w].event, f.wait[w].event);
    EXPECT_EQ(p.flow().wait[w].threshold, f.wait[w].threshold);
  }
  EXPECT_EQ(p.verify(), program::stages::safety);
  EXPECT_EQ(p.bound(), program::stages::bound);
  const hp::simulated_figures figures = p.simulate();
  EXPECT_EQ(figures.result, program::stages::timeline.result);
  EXPECT_EQ(figures.communication, program::communication);
}

TEST(moe_program, at_full_size_the_taskflow_is_near_its_bound_and_hides_the_all_to_all) {
  for (int devices : {4, 8, 16}) {
    const hp::moe_options o;
    hp::planned_flow flow = plan(full(devices, o, false), o);
    hp::planned_flow serial = plan(full(devices, o, true), o);
    ASSERT_EQ(flow.verify().code, hp::verify_code::ok);
    ASSERT_EQ(serial.verify().code, hp::verify_code::ok);
    const hp::simulated_figures fused = flow.simulate(), plain = serial.simulate();
    const hp::makespan_certificate c{fused.result.makespan, flow.bound().value};
    EXPECT_GE(c.makespan, c.bound);
    EXPECT_LE(c.ratio(), 10200) << devices;
    EXPECT_GE(fused.communication.masked_share(), 9500) << devices;
    EXPECT_EQ(plain.communication.masked_share(), 0) << devices;
    EXPECT_GE(plain.result.makespan, fused.result.makespan * 3 / 2) << devices;
  }
}

TEST(moe_program, a_window_of_two_buffers_costs_little_and_one_costs_more) {
  hp::moe_options o;
  o.weight_buffers = 2;
  const hp::moe_plan_result two = full(8, o, false);
  ASSERT_EQ(two.window.code, hp::window_code::ok);
  hp::planned_flow windowed = plan(two, o);
  ASSERT_EQ(windowed.verify().code, hp::verify_code::ok);
  const std::int64_t two_buffers = windowed.simulate().result.makespan;
  o.weight_buffers = 1;
  hp::planned_flow narrow = plan(full(8, o, false), o);
  ASSERT_EQ(narrow.verify().code, hp::verify_code::ok);
  o.weight_buffers = 0;
  hp::planned_flow resident = plan(full(8, o, false), o);
  const std::int64_t held = resident.simulate().result.makespan;
  EXPECT_LT(two_buffers, held * 105 / 100);
  EXPECT_GT(narrow.simulate().result.makespan, two_buffers);
}

TEST(moe_program, refuses_what_does_not_divide_by_status) {
  const hp::moe_plan_result r = hp::make_moe_plan({8, 4, 6, 2, 16}, 4, 1, hp::matrix384::device, {}, {});
  EXPECT_EQ(r.layer.code, hp::moe_code::experts_do_not_divide_over_devices);
}

TEST(moe_program, prices_nothing_on_a_device_that_cannot_be) {
  const hp::moe_layer layer{64, 32, 8, 2, 64};
  const hp::expert_all_to_all_fit fit{};
  hp::device_value d = hp::matrix384::device;
  ASSERT_TRUE(hp::make_moe_plan(layer, 4, 1, d, fit, {}).ok());
  d.gmm_warm = {};
  EXPECT_EQ(hp::make_moe_plan(layer, 4, 1, d, fit, {}).device, hp::check(d));
  EXPECT_FALSE(hp::make_moe_plan(layer, 4, 1, d, fit, {}).ok());
  EXPECT_EQ(hp::estimate_moe_tiling(layer, 4, d, fit, {}).device, hp::check(d));
  EXPECT_EQ(hp::estimate_moe_tiling(layer, 4, d, fit, {}).candidates, 0);
  EXPECT_EQ(hp::choose_moe_tiling(layer, 4, d, fit, {}).device, hp::check(d));
  EXPECT_EQ(hp::choose_moe_tiling(layer, 4, d, fit, {}).candidates, 0);
  EXPECT_EQ(hp::simulate_moe_tiling(layer, 4, d, fit, {}).price, hp::cost_code::hardware_is_refused);
  EXPECT_EQ(hp::moe_buckets<2>(layer, 4, d, fit, {}, {{1000, 4000}}).status().device, hp::check(d));
}

// A price that fails is the plan's own failure; its 0 is no duration.
TEST(moe_program, keeps_the_first_price_that_cannot_be_told) {
  const hp::moe_layer layer{64, 32, 8, 2, 64};
  const hp::device_value& die = hp::matrix384::device;
  const hp::expert_all_to_all_fit standing{0, 0};
  const hp::moe_options many{.vector_queues = die.aiv + 1};
  EXPECT_EQ(hp::make_moe_plan(layer, 4, 1, die, standing, {}).price, hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::make_moe_plan(layer, 4, 1, die, {}, many).price, hp::cost_code::count_exceeds_the_device);
  EXPECT_TRUE(hp::make_moe_plan(layer, 1, 1, die, standing, {}).ok()) << "one device sends nothing";
  EXPECT_EQ(hp::estimate_moe_tiling(layer, 4, die, standing, {}).candidates, 0);
  EXPECT_EQ(hp::choose_moe_tiling(layer, 4, die, standing, {}).candidates, 0);
  EXPECT_EQ(hp::moe_buckets<2>(layer, 4, die, standing, {}, {{1000, 4000}}).status().price,
            hp::cost_code::rate_is_not_positive);
}

}  // namespace
