// SPDX-License-Identifier: Apache-2.0
// One model, any strategy, the same numbers: every named strategy against one device, bits against bits over threads
// and runs, and the memory that a run takes against the account.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <hyperparallel/strategy/memory_account.hpp>
#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/single_device.hpp>

#include "support/tries.hpp"
#include "training_models.hpp"

namespace {

using namespace hyperparallel;
using tested::exhaustive;

// The thread sanitizer looks at every access: a few strategies show it every kind of task.
#if defined(__SANITIZE_THREAD__)
constexpr int every = 6;
#else
constexpr int every = 1;
#endif

template <class T>
struct course {
  std::vector<T> loss;
  std::vector<std::vector<T>> gradient;    ///< of the first step, by parameter
  std::vector<std::vector<T>> parameters;  ///< after the last step
};

template <class T>
T largest(const std::vector<T>& values) {
  T most = 0;
  for (const T v : values) most = std::max(most, std::abs(v));
  return most;
}
template <class T>
T largest_difference(const std::vector<T>& a, const std::vector<T>& b) {
  T most = a.size() == b.size() ? T{0} : std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const T d = std::abs(a[i] - b[i]);
    if (!(d <= most)) most = d;
  }
  return most;
}

template <class T>
course<T> train(model_run<T>& run, const graph& g, int steps) {
  course<T> c;
  for (int s = 0; s < steps; ++s) {
    c.loss.push_back(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(16 * s + micro)); }));
    if (s == 0)
      for (const std::string& name : training::gradient_names(g)) c.gradient.push_back(run.world().get(name));
  }
  for (const int p : training::parameters_of(g)) c.parameters.push_back(run.world().get(p));
  return c;
}

template <class T>
course<T> train_under(const graph& g, const char* name, int ranks, int steps, int threads = 0) {
  model_run_options options;
  options.program.keep = training::gradient_names(g);
  options.program.execution.threads = threads;
  model_run<T> run(g, strategy_called(name, ranks).strategy, options);
  return train(run, g, steps);
}

/// The plain loop over operators, fed with the first values and inputs of a run on one rank. Also the smallest
/// distance between the last expert that was chosen and the first that was not.
template <class T>
course<T> train_on_one_device(const graph& g, int steps, T& margin) {
  model_run<T> source(g, strategy_called("single", 1).strategy);
  single_device<T> device(g);
  for (const int p : training::parameters_of(g)) device.values(p) = source.world().get(p);
  course<T> c;
  for (int s = 0; s < steps; ++s) {
    T loss = 0;
    device.train_step([&](single_device<T>& d, int micro) {
      if (micro > 0) loss += d.values(g.loss)[0];
      source.set_random_inputs(static_cast<std::uint64_t>(16 * s + micro));
      for (const char* name : {"tokens", "labels"}) d.indices(name) = source.world().get_index(name);
    });
    loss += device.values(g.loss)[0];
    c.loss.push_back(loss / static_cast<T>(g.micro_batches));
    if (s == 0)
      for (const int p : training::parameters_of(g)) c.gradient.push_back(device.values(g.tensor[p].gradient));
    for (const graph_operator& o : g.op) {
      if (o.kind != id_of<ops::top_k> || o.recomputed) continue;
      const std::vector<T>& scores = device.values(o.operand[0]);
      const std::size_t experts = static_cast<std::size_t>(g.tensor[o.operand[0]].shape.extent[2]);
      const std::size_t chosen = static_cast<std::size_t>(g.tensor[o.result[0]].shape.extent[2]);
      for (std::size_t row = 0; row < scores.size(); row += experts) {
        std::vector<T> sorted(scores.begin() + static_cast<std::ptrdiff_t>(row),
                              scores.begin() + static_cast<std::ptrdiff_t>(row + experts));
        std::sort(sorted.begin(), sorted.end(), std::greater<T>());
        margin = std::min(margin, sorted[chosen - 1] - sorted[chosen]);
      }
    }
  }
  for (const int p : training::parameters_of(g)) c.parameters.push_back(device.values(p));
  return c;
}

TEST(training_parity, every_strategy_is_one_device_in_doubles) {
  const graph g = training::small_step(1, 4, f64);
  ASSERT_EQ(g.status.code, graph_code::ok);
  const int steps = tested::tries(2, 200);
  double margin = std::numeric_limits<double>::infinity();
  const course<double> one = train_on_one_device<double>(g, steps, margin);
  std::printf("%d steps; the smallest margin of a chosen expert is %.3g\n", steps, margin);
  for (int i = 0; i < named_strategy_count; i += every) {
    const char* const name = named_strategy_at(i).name;
    const course<double> many = train_under<double>(g, name, 8, steps);
    double loss = 0, gradient = 0;
    for (std::size_t s = 0; s < one.loss.size(); ++s)
      loss = std::max(loss, std::abs(many.loss[s] - one.loss[s]) / std::abs(one.loss[s]));
    for (std::size_t p = 0; p < one.gradient.size(); ++p)
      gradient = std::max(gradient, largest_difference(many.gradient[p], one.gradient[p]) / largest(one.gradient[p]));
    std::printf("  %-12s loss within %.2g, first gradients within %.2g\n", name, loss, gradient);
    EXPECT_LE(loss, 1e-9) << name;
    EXPECT_LE(gradient, 1e-12) << name;
  }
}

TEST(training_parity, every_strategy_is_one_device_in_floats) {
  const graph g = training::small_step();
  const int steps = tested::tries(2, 50);
  float margin = std::numeric_limits<float>::infinity();
  const course<float> one = train_on_one_device<float>(g, steps, margin);
  for (int i = 0; i < named_strategy_count; i += every) {
    const char* const name = named_strategy_at(i).name;
    const course<float> many = train_under<float>(g, name, 8, steps);
    float loss = 0;
    for (std::size_t s = 0; s < one.loss.size(); ++s)
      loss = std::max(loss, std::abs(many.loss[s] - one.loss[s]) / std::abs(one.loss[s]));
    if (exhaustive()) std::printf("  %-12s loss within %.2g\n", name, static_cast<double>(loss));
    EXPECT_LE(loss, 1e-4F) << name;
  }
}

TEST(training_parity, micro_batches_are_one_device_with_the_same_split) {
  const graph g = training::small_step(2, 2, f64);
  double margin = std::numeric_limits<double>::infinity();
  const course<double> one = train_on_one_device<double>(g, 3, margin);
  for (const char* name : {"dp", "zero1", "zero2", "zero3", "dp-tp", "ep", "ring"}) {
    const course<double> many = train_under<double>(g, name, 4, 3);
    for (std::size_t s = 0; s < one.loss.size(); ++s) EXPECT_NEAR(many.loss[s], one.loss[s], 1e-9) << name;
    for (std::size_t p = 0; p < one.parameters.size(); ++p)
      EXPECT_LE(largest_difference(many.parameters[p], one.parameters[p]), 1e-9) << name;
  }
}

TEST(training_parity, bits_do_not_depend_on_threads_or_runs) {
  const graph g = training::small_step(1, 2);
  const int shown = exhaustive() ? named_strategy_count : 6 / every + 2;
  for (int i = 0; i < shown; ++i) {
    const char* const name = named_strategy_at(i * (named_strategy_count / shown)).name;
    const course<float> first = train_under<float>(g, name, 8, 2, 1);
    for (const int threads : {1, 2, 4}) {
      const course<float> again = train_under<float>(g, name, 8, 2, threads);
      EXPECT_EQ(first.loss, again.loss) << name << ", threads " << threads;
      EXPECT_EQ(first.gradient, again.gradient) << name << ", threads " << threads;
      EXPECT_EQ(first.parameters, again.parameters) << name << ", threads " << threads;
    }
  }
}

/// The account counts what is alive, the address plan places it, the arenas measure it.
TEST(training_parity, a_run_takes_the_memory_that_the_account_says) {
  const graph g = training::small_step();
  for (int i = 0; i < named_strategy_count; i += every) {
    const char* const name = named_strategy_at(i).name;
    model_run<float> run(g, strategy_called(name, 8).strategy);
    run.train_step([&](int) { run.set_random_inputs(1); });
    const extent_t account = hyperparallel::detail::memory_account_of(run.world().program(), 64).peak;
    EXPECT_EQ(run.world().alive_maximum(), account) << name;
    for (int rank = 0; rank < 8; ++rank) {
      EXPECT_EQ(run.world().high_water(rank), run.world().planned_bytes()) << name << ", rank " << rank;
      EXPECT_LE(static_cast<double>(run.world().high_water(rank)), 1.05 * static_cast<double>(account))
          << name << ", rank " << rank;
    }
  }
}

}  // namespace
