// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/taskflow/exact_check.hpp>
#include <hyperparallel/world/moe_training_world.hpp>

#include "moe_reference.hpp"

namespace hp = hyperparallel;

namespace {

using floats = std::vector<float>;
using std::size_t;

floats numbers(std::uint64_t stream, hp::extent_t n) {
  floats v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = hp::keyed_uniform(7, stream, i);
  return v;
}

/// Everything that a step reads.
struct problem {
  hp::moe_layer layer;
  floats x, router, target;
  std::vector<floats> w1, w2;
};

problem random_problem(const hp::moe_layer& layer) {
  problem p{layer,
            numbers(1, hp::extent_t{layer.tokens} * layer.hidden),
            numbers(2, hp::extent_t{layer.hidden} * layer.experts),
            numbers(3, hp::extent_t{layer.tokens} * layer.hidden),
            {},
            {}};
  for (std::uint64_t e = 0; e < static_cast<std::uint64_t>(layer.experts); ++e) {
    p.w1.push_back(numbers(1000 + e, hp::gate_up_elements(layer)));
    p.w2.push_back(numbers(2000 + e, hp::down_elements(layer)));
  }
  return p;
}

/// Every token chooses expert 0, none an expert of the upper half.
problem skewed_problem(const hp::moe_layer& layer) {
  problem p = random_problem(layer);
  const size_t h = static_cast<size_t>(layer.hidden), experts = static_cast<size_t>(layer.experts);
  for (size_t t = 0; t < p.x.size(); t += h) p.x[t] = 1.0F;
  p.router[0] = 30.0F;
  for (size_t e = experts / 2; e < experts; ++e) p.router[e] = -30.0F;
  return p;
}

/// Everything that a step returns.
struct learnt {
  floats output, x, router;
  std::vector<hp::moe_choice> choices;
  std::vector<floats> w1, w2;
  friend bool operator==(const learnt&, const learnt&) = default;
};

constexpr hp::moe_layer common{24, 12, 16, 3, 64};

hp::moe_options options() {
  hp::moe_options o;
  o.tiling = {8, 8, 16, 4, 8, 4, 4, 6, 16, 10};
  o.matrix_queues = 2;
  o.vector_queues = 2;
  return o;
}

template <class World>
void load(World& w, const problem& p) {
  w.set_router(p.router);
  for (int e = 0; e < p.layer.experts; ++e) w.set_expert(e, p.w1[static_cast<size_t>(e)], p.w2[static_cast<size_t>(e)]);
}

/// dY = y - target, the gradient of half the squared distance.
hp::moe_loss distance_to(const problem& p) {
  return [&p](int first, std::span<const float> output, std::span<float> gradient) {
    const float* const target = p.target.data() + first * p.layer.hidden;
    for (size_t i = 0; i < output.size(); ++i) gradient[i] = output[i] - target[i];
  };
}

template <class World>
learnt step(World& w, const problem& p, int tokens) {
  const size_t n = static_cast<size_t>(tokens) * static_cast<size_t>(p.layer.hidden);
  learnt r{floats(n, NAN), floats(n, NAN), {}, {}, {}, {}};
  EXPECT_EQ(w.step(std::span(p.x).first(n), distance_to(p), r.output, r.x), hp::run_result::complete);
  r.router.assign(w.router_gradient().begin(), w.router_gradient().end());
  r.choices = w.choices();
  for (int e = 0; e < p.layer.experts; ++e) {
    r.w1.emplace_back(w.gate_up_gradient(e).begin(), w.gate_up_gradient(e).end());
    r.w2.emplace_back(w.down_gradient(e).begin(), w.down_gradient(e).end());
  }
  return r;
}

learnt learn(const problem& p, int devices, const hp::moe_options& o, int tokens, int threads = 0,
             bool serialized = false) {
  hp::moe_training_world<> w(p.layer, devices, o, {.threads = threads}, serialized);
  load(w, p);
  return step(w, p, tokens);
}

/// Error relative to the largest element. Sums of up to 64 products of like size go through four products one after
/// the other, each rounded to 6e-8: a few 1e-7. An error of order or formula is of size 1e-2 and more.
void compare(const floats& got, const moe_reference::numbers& wanted, const std::string& name) {
  ASSERT_EQ(got.size(), wanted.size()) << name;
  double largest = 0;
  for (const double w : wanted) largest = std::max(largest, std::abs(w));
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), wanted[i], 5e-6 * largest) << name << " " << i;
}

/// Holds a step of `tokens` tokens against the dense layer in double precision.
void expect_gradients(const problem& p, const learnt& got, int tokens) {
  const auto exact = [](const floats& v) { return moe_reference::numbers(v.begin(), v.end()); };
  moe_reference::problem dense{p.layer, exact(p.x), exact(p.router), {}, {}};
  dense.x.resize(static_cast<size_t>(tokens) * dense.hidden());
  for (const floats& w : p.w1) dense.w1.push_back(exact(w));
  for (const floats& w : p.w2) dense.w2.push_back(exact(w));
  std::vector<int> choice;
  floats weight, to_weight;
  for (const hp::moe_choice& c : got.choices) {
    choice.push_back(c.expert);
    weight.push_back(c.weight);
    to_weight.push_back(c.gradient);
  }
  ASSERT_EQ(choice, moe_reference::choose(dense));
  const moe_reference::numbers weights = moe_reference::weigh(dense, choice);
  const moe_reference::numbers y = moe_reference::output(dense, choice, weights);
  moe_reference::numbers dy = y;
  for (size_t i = 0; i < dy.size(); ++i) dy[i] -= static_cast<double>(p.target[i]);
  const moe_reference::gradients g = moe_reference::backward(dense, choice, dy);
  moe_reference::numbers x = g.x;
  for (size_t i = 0; i < x.size(); ++i) x[i] += g.x_by_router[i];
  compare(got.output, y, "output");
  compare(weight, weights, "weights");
  compare(to_weight, g.weight, "gradient of the weights");
  compare(got.x, x, "gradient of x");
  compare(got.router, g.router, "gradient of the router");
  for (size_t e = 0; e < p.w1.size(); ++e) {
    compare(got.w1[e], g.w1[e], "gradient of w1 of expert " + std::to_string(e));
    compare(got.w2[e], g.w2[e], "gradient of w2 of expert " + std::to_string(e));
  }
}

TEST(moe_training_world, computes_the_gradients_of_the_layers_formula) {
  // Ragged tiles everywhere; all experts chosen; one expert a token.
  const hp::moe_layer layers[] = {common, {5, 3, 4, 2, 8}, {7, 4, 8, 8, 16}, {9, 5, 8, 1, 8}, {33, 17, 8, 3, 48}};
  for (const hp::moe_layer& layer : layers)
    for (const int devices : {1, 4}) {
      const problem p = random_problem(layer);
      expect_gradients(p, learn(p, devices, options(), layer.tokens), layer.tokens);
      ASSERT_FALSE(HasFatalFailure()) << layer.hidden << " on " << devices;
    }
}

TEST(moe_training_world, a_hot_expert_gets_all_tokens_and_experts_without_rows_zeros) {
  const problem p = skewed_problem(common);
  const learnt one = learn(p, 1, options(), common.tokens);
  expect_gradients(p, one, common.tokens);
  std::vector<int> rows(static_cast<size_t>(common.experts));
  for (const hp::moe_choice& c : one.choices) ++rows[static_cast<size_t>(c.expert)];
  ASSERT_EQ(rows[0], common.tokens);
  for (size_t e = 8; e < 16; ++e) {
    ASSERT_EQ(rows[e], 0);
    EXPECT_EQ(one.w1[e], floats(one.w1[e].size())) << e;
    EXPECT_EQ(one.w2[e], floats(one.w2[e].size())) << e;
  }
  for (const int devices : {2, 4, 8}) EXPECT_TRUE(learn(p, devices, options(), common.tokens) == one) << devices;
}

TEST(moe_training_world, the_number_of_devices_changes_no_bit) {
  const problem p = random_problem(common);
  const learnt one = learn(p, 1, options(), common.tokens);
  for (const int devices : {2, 4, 8, 16}) EXPECT_TRUE(learn(p, devices, options(), common.tokens) == one) << devices;
}

TEST(moe_training_world, tiles_threads_orders_rotations_and_policies_change_no_bit) {
  const problem p = random_problem(common);
  const learnt one = learn(p, 1, options(), common.tokens);
  for (const int threads : {1, 2, 3})
    EXPECT_TRUE(learn(p, 4, options(), common.tokens, threads) == one) << threads << " threads";
  const hp::moe_tiling tilings[] = {
      {1, 7, 5, 3, 9, 2, 5, 1, 5, 7}, {5, 24, 24, 2, 1, 64, 1, 0, 100, 100}, {64, 3, 1, 64, 64, 7, 30, 40, 1, 3}};
  for (const hp::moe_tiling& tiling : tilings)
    for (const int devices : {1, 4}) {
      hp::moe_options o = options();
      o.tiling = tiling;
      EXPECT_TRUE(learn(p, devices, o, common.tokens) == one) << "blocks of " << tiling.row_block;
    }
  for (const auto order : {hp::weight_gradient_order::interleaved, hp::weight_gradient_order::last})
    for (const auto policy : {hp::priority::reference_order, hp::priority::upward_rank})
      for (const auto rotation :
           {hp::rotation_kind::cyclic, hp::rotation_kind::nearest_first, hp::rotation_kind::farthest_first}) {
        hp::moe_options o = options();
        o.weight_gradients = order;
        o.policy = policy;
        o.rotation = rotation;
        EXPECT_TRUE(learn(p, 4, o, common.tokens) == one);
      }
  hp::moe_options even = options();
  even.even_exchange = true;
  EXPECT_TRUE(learn(p, 4, even, common.tokens) == one);
  hp::moe_options prefetched = options();
  prefetched.weight_buffers = 4;
  EXPECT_TRUE(learn(p, 4, prefetched, common.tokens) == one);
}

TEST(moe_training_world, operators_with_barriers_between_give_the_same_bits) {
  const problem p = random_problem(common);
  const learnt one = learn(p, 1, options(), common.tokens);
  for (const int devices : {1, 2, 8})
    EXPECT_TRUE(learn(p, devices, options(), common.tokens, 0, true) == one) << devices;
}

TEST(moe_training_world, the_forward_world_gives_the_same_output) {
  const problem p = random_problem(common);
  const learnt one = learn(p, 4, options(), common.tokens);
  for (const bool serialized : {false, true}) {
    hp::moe_world<> w(common, 4, options(), {}, serialized);
    load(w, p);
    floats output(p.x.size());
    w.run(p.x, output);
    EXPECT_EQ(output, one.output);
  }
}

TEST(moe_training_world, a_short_step_learns_from_its_tokens_and_no_others) {
  const problem p = random_problem(common);
  hp::moe_training_world<> one(common, 1, options()), eight(common, 8, options());
  load(one, p);
  load(eight, p);
  for (const int count : {64, 1, 7, 8, 9, 63, 0, 20}) {
    const learnt got = step(one, p, count);
    expect_gradients(p, got, count);
    EXPECT_TRUE(step(eight, p, count) == got) << count;
  }
}

TEST(moe_training_world, repeated_steps_on_one_world_are_independent) {
  const problem p = random_problem(common), other = skewed_problem(common);
  hp::moe_training_world<> w(common, 4, options());
  load(w, p);
  const learnt first = step(w, p, common.tokens);
  for (int i = 0; i < 3; ++i) {
    load(w, other);
    EXPECT_FALSE(step(w, other, common.tokens) == first);
    load(w, p);
    EXPECT_TRUE(step(w, p, common.tokens) == first) << i;
  }
}

TEST(moe_training_world, a_loss_that_throws_ends_the_step_by_name_and_leaves_the_world_usable) {
  const problem p = random_problem(common);
  hp::moe_training_world<> w(common, 4, options());
  load(w, p);
  floats output(p.x.size()), gradient(p.x.size());
  const hp::moe_loss broken = [](int first, std::span<const float>, std::span<float>) {
    if (first >= 32) throw std::runtime_error("no label for token " + std::to_string(first));
  };
  try {
    w.step(p.x, broken, output, gradient);
    FAIL() << "the loss throws";
  } catch (const hp::task_error& e) {
    EXPECT_EQ(e.operation, "loss");
    EXPECT_EQ(e.slot, "output gradient");
    EXPECT_NE(std::string(e.what()).find("no label for token"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(step(w, p, common.tokens) == learn(p, 1, options(), common.tokens));
}

TEST(moe_training_world, says_what_is_wrong_with_its_input) {
  EXPECT_THROW(hp::moe_training_world<>(common, 3, options()), hp::plan_error);
  hp::moe_options o = options();
  o.weight_buffers = 3;
  try {
    hp::moe_training_world<> w(common, 4, o);
    FAIL() << "four local experts do not fit into three buffers";
  } catch (const hp::plan_error& e) {
    EXPECT_STREQ(e.what(), "a training step keeps the weights of all 4 local experts, 3 buffers are too few");
  }
  o = options();
  o.pass = hp::moe_pass::training;
  EXPECT_THROW(hp::moe_world<>(common, 4, o), hp::plan_error);
  o = options();
  o.scope = hp::moe_scope::experts;
  EXPECT_THROW(hp::moe_training_world<>(common, 4, o), hp::plan_error);
  hp::moe_training_world<> w(common, 4, options());
  const hp::moe_loss loss = [](int, std::span<const float>, std::span<float>) {};
  floats few(3), row(24), rows(48);
  EXPECT_THROW(w.step(few, loss, few, few), std::invalid_argument);
  EXPECT_THROW(w.step(row, loss, rows, row), std::invalid_argument);
  EXPECT_THROW(w.step(row, loss, row, rows), std::invalid_argument);
  EXPECT_THROW(w.step(row, {}, row, row), std::invalid_argument);
  EXPECT_THROW(w.gate_up_gradient(16), std::out_of_range);
  EXPECT_THROW(w.down_gradient(-1), std::out_of_range);
}

/// The training plan of a layer of 16 tokens and 8 experts.
struct small_plan {
  int devices, ranks;
  bool interleaved, serialized;
  hp::priority policy;
};

hp::moe_plan_result make(const small_plan& s, hp::moe_options& o) {
  o.tiling = {2, 4, 4, 1, 1, 2, 2, 3, 4, 8};
  o.pass = hp::moe_pass::training;
  o.weight_gradients = s.interleaved ? hp::weight_gradient_order::interleaved : hp::weight_gradient_order::last;
  o.policy = s.policy;
  o.rows_per_pair = 16 / s.devices;
  o.matrix_queues = o.vector_queues = 2;
  return hp::make_moe_plan({8, 4, 8, 2, 16}, s.devices, s.ranks, hp::matrix384::device,
                           hp::matrix384::expert_all_to_all, o, s.serialized);
}

TEST(moe_training_world, its_plans_are_proved_by_the_local_rule_and_by_the_exact_checker) {
  int plans = 0;
  for (const int devices : {1, 2, 4})
    for (const int ranks : {1, devices})
      for (const bool interleaved : {false, true})
        for (const bool serialized : {false, true})
          for (const auto policy : {hp::priority::reference_order, hp::priority::upward_rank}) {
            hp::moe_options o;
            const hp::moe_plan_result made = make({devices, ranks, interleaved, serialized, policy}, o);
            const hp::machine_shape machine = hp::moe_machine(o, ranks);
            const hp::planned_flow plan(hp::moe_builder{made.plan}, machine, {o.policy, o.synchronisation});
            ASSERT_EQ(plan.scheduled().code, hp::schedule_code::ok);
            const hp::verify_status proved = plan.verify();
            EXPECT_EQ(proved.code, hp::verify_code::ok) << hp::to_text(proved.code) << " task " << proved.task;
            hp::owned_exact_scratch x(plan.flow().size, hp::queue_count(machine));
            const hp::exact_status exact = hp::check_exactly(plan.flow(), plan.schedule(), x);
            EXPECT_EQ(exact.code, hp::exact_code::safe) << hp::to_text(exact.code) << " task " << exact.task;
            ++plans;
          }
  EXPECT_EQ(plans, 48);
}

TEST(moe_training_world, a_backward_task_without_its_waits_is_found_and_named) {
  hp::moe_options o;
  const hp::moe_plan_result made = make({2, 2, true, false, hp::priority::reference_order}, o);
  const hp::machine_shape machine = hp::moe_machine(o, 2);
  const hp::planned_flow plan(hp::moe_builder{made.plan}, machine, {o.policy, o.synchronisation});
  hp::owned_taskflow f(hp::measure(hp::moe_builder{made.plan}));
  hp::moe_builder{made.plan}(f);
  hp::seal(f);
  hp::owned_verify_scratch x(f.size, hp::queue_count(machine));
  hp::owned_exact_scratch exact(f.size, hp::queue_count(machine));
  std::map<int, int> found;  // by operation
  for (int t = 0; t < f.size.tasks; ++t) {
    if (f.task[t].operation < hp::moe_forward_operation_count) continue;
    const int kept = f.task[t].wait_end;
    f.task[t].wait_end = f.task[t].wait_begin;
    const hp::verify_status status = hp::verify(f, plan.schedule(), x);
    if (status.code == hp::verify_code::ok) {
      EXPECT_EQ(hp::check_exactly(f, plan.schedule(), exact).code, hp::exact_code::safe) << t;
    } else {
      EXPECT_EQ(status.task, t) << hp::to_text(status.code);
      ++found[f.task[t].operation];
    }
    f.task[t].wait_end = kept;
  }
  // Each operation has tasks that nothing but their waits keeps in order.
  EXPECT_EQ(found.size(), static_cast<size_t>(hp::moe_operation_count - hp::moe_forward_operation_count));
}

}  // namespace
