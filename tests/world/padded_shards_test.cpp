// SPDX-License-Identifier: Apache-2.0
// ZeRO over numbers of devices that divide no dim of the model: one device's losses and parameters, nothing whole.

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/single_device.hpp>

#include "padded_steps.hpp"
#include "training_models.hpp"

namespace {

using namespace padded_steps;

struct course {
  std::vector<double> loss;
  std::vector<std::vector<double>> parameters;  ///< after the last step
};

constexpr int steps = 3;

course train_under(const graph& g, const strategy_value& s, int threads = 0) {
  model_run_options options;
  options.program.execution.threads = threads;
  model_run<double> run(g, s, options);
  course c;
  for (int i = 0; i < steps; ++i)
    c.loss.push_back(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(16 * i + micro)); }));
  for (const int p : training::parameters_of(g)) c.parameters.push_back(run.world().get(p));
  return c;
}

/// The plain loop over operators.
course train_on_one_device(const graph& g) {
  model_run<double> source(g, strategy_called("single", 1).strategy);
  single_device<double> device(g);
  for (const int p : training::parameters_of(g)) device.values(p) = source.world().get(p);
  course c;
  for (int i = 0; i < steps; ++i) {
    double loss = 0;
    device.train_step([&](single_device<double>& d, int micro) {
      if (micro > 0) loss += d.values(g.loss)[0];
      source.set_random_inputs(static_cast<std::uint64_t>(16 * i + micro));
      for (const char* name : {"tokens", "labels"}) d.indices(name) = source.world().get_index(name);
    });
    c.loss.push_back((loss + device.values(g.loss)[0]) / g.micro_batches);
  }
  for (const int p : training::parameters_of(g)) c.parameters.push_back(device.values(p));
  return c;
}

void expect_alike(const course& many, const course& one, const std::string& which) {
  for (std::size_t i = 0; i < one.loss.size(); ++i)
    EXPECT_LE(std::abs(many.loss[i] - one.loss[i]), 1e-9 * std::abs(one.loss[i])) << which << ", step " << i;
  for (std::size_t p = 0; p < one.parameters.size(); ++p)
    for (std::size_t e = 0; e < one.parameters[p].size(); ++e)
      ASSERT_NEAR(many.parameters[p][e], one.parameters[p][e], 1e-9) << which << ", parameter " << p;
}

TEST(padded_shards, every_stage_is_one_device) {
  for (const int dp : {3, 5, 6, 7, 12}) {
    for (const beside other : {beside::nothing, beside::tensor, beside::experts}) {
      const graph g = step_of(other == beside::experts ? 2 * dp : dp, optimizer_kind::adamw);
      const course one = train_on_one_device(g);
      for (int stage = 1; stage <= 3; ++stage)
        expect_alike(train_under(g, zero(dp, stage, other)), one,
                     "dp=" + std::to_string(dp) + ", beside " + std::to_string(static_cast<int>(other)) + ", stage " +
                         std::to_string(stage));
    }
  }
}

TEST(padded_shards, whole_matrix_steps_and_micro_batches_are_one_device) {
  for (const int dp : {3, 7}) {
    const graph muon = step_of(dp, optimizer_kind::muon), twice = step_of(dp, optimizer_kind::sgd, 2);
    const course one_of_muon = train_on_one_device(muon), one_of_twice = train_on_one_device(twice);
    for (int stage = 1; stage <= 3; ++stage) {
      expect_alike(train_under(muon, zero(dp, stage, beside::nothing)), one_of_muon, "muon");
      expect_alike(train_under(twice, zero(dp, stage, beside::tensor)), one_of_twice, "two micro-batches");
    }
  }
}

TEST(padded_shards, bits_do_not_depend_on_threads) {
  const graph g = step_of(7, optimizer_kind::adamw);
  const course one = train_under(g, zero(7, 3, beside::tensor), 1);
  for (const int threads : {2, 4}) {
    const course again = train_under(g, zero(7, 3, beside::tensor), threads);
    EXPECT_EQ(one.loss, again.loss) << threads;
    EXPECT_EQ(one.parameters, again.parameters) << threads;
  }
}

/// Whole tensors leave one world and enter another, as through a checkpoint: padding is in neither.
TEST(padded_shards, what_seven_devices_leave_three_go_on_with) {
  const graph g = step_of(21, optimizer_kind::sgd);
  const course one = train_on_one_device(g);
  model_run<double> seven(g, zero(7, 3, beside::nothing)), three(g, zero(3, 3, beside::tensor));
  std::vector<double> loss;
  for (int i = 0; i < steps; ++i) {
    model_run<double>& run = i < 2 ? seven : three;
    for (int t = 0; i == 2 && t < g.tensor.size; ++t) {
      const graph_tensor& x = g.tensor[t];
      if ((x.kind == graph_tensor_kind::parameter || x.kind == graph_tensor_kind::state) && x.replaces < 0 &&
          three.world().is_used(t))
        three.world().set(g.name_of_tensor(t), std::span<const double>(seven.world().get(t)));
    }
    loss.push_back(run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(16 * i)); }));
  }
  for (std::size_t i = 0; i < one.loss.size(); ++i) EXPECT_NEAR(loss[i], one.loss[i], 1e-9) << i;
}

/// What the stage shards lies on no device whole: each tensor of more than one element is cut along `dp`.
TEST(padded_shards, nothing_of_a_stage_stays_whole) {
  for (int dp = 2; dp <= 64; ++dp)
    for (int stage = 1; stage <= 3; ++stage)
      for (const beside other : {beside::nothing, beside::tensor}) {
        const sharded_program p = partition(step_of(dp, optimizer_kind::adamw), zero(dp, stage, other));
        ASSERT_EQ(p.status.code, strategy_code::ok) << dp;
        for (int t = 0; t < p.graph.tensor.size; ++t) {
          const graph_tensor& x = p.graph.tensor[t];
          const bool sharded =
              x.kind == graph_tensor_kind::state || (stage == 3 && x.kind == graph_tensor_kind::parameter);
          if (!sharded || x.replaces >= 0 || p.home[t] < 0 || element_count(x.shape).value < 2) continue;
          const layout_value& l = p.value[p.home[t]].layout;
          bool cut = false;
          for (int i = 0; i < l.cut_count; ++i) cut = cut || l.cut[i].axis == 0;
          EXPECT_TRUE(cut) << p.graph.name_of_tensor(t) << ", dp=" << dp << ", stage " << stage;
        }
      }
}

}  // namespace
