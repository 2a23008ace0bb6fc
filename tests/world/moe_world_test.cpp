// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include <hyperparallel/kernels/keyed_random.hpp>
#include <hyperparallel/world/moe_world.hpp>

namespace hp = hyperparallel;

namespace {

constexpr hp::moe_layer layer{24, 12, 16, 3, 64};

float number(std::uint64_t stream, std::size_t i) { return hp::keyed_uniform(5, stream, i); }

std::vector<float> numbers(std::uint64_t stream, hp::extent_t n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = number(stream, i);
  return v;
}

std::vector<float> tokens(int count) { return numbers(1, hp::extent_t{count} * layer.hidden); }

hp::moe_options options() {
  hp::moe_options o;
  o.tiling = {8, 8, 16, 4, 8, 4, 4, 6};
  o.matrix_queues = 2;
  o.vector_queues = 2;
  return o;
}

template <class World>
void load(World& w) {
  w.set_router(numbers(2, hp::extent_t{layer.hidden} * layer.experts));
  for (int x = 0; x < layer.experts; ++x)
    w.set_expert(x, numbers(100 + static_cast<std::uint64_t>(x), hp::gate_up_elements(layer)),
                 numbers(200 + static_cast<std::uint64_t>(x), hp::down_elements(layer)));
}

std::vector<float> run(int devices, const hp::moe_options& o, int count, int threads = 0) {
  hp::moe_world<> w(layer, devices, o, {.threads = threads});
  load(w);
  std::vector<float> out(static_cast<std::size_t>(count) * static_cast<std::size_t>(layer.hidden), -1.0F);
  EXPECT_EQ(w.run(tokens(count), out), hp::run_result::complete);
  return out;
}

/// The layer's formula in double precision, straight from moe_layer.hpp.
std::vector<double> formula(int count) {
  const std::size_t h = layer.hidden, width = layer.intermediate, experts = layer.experts;
  const std::vector<float> x = tokens(count), router = numbers(2, layer.hidden * layer.experts);
  std::vector<double> y(static_cast<std::size_t>(count) * h, 0.0);
  for (std::size_t t = 0; t < static_cast<std::size_t>(count); ++t) {
    std::vector<double> score(experts, 0.0);
    for (std::size_t e = 0; e < experts; ++e) {
      for (std::size_t i = 0; i < h; ++i) score[e] += double{x[t * h + i]} * double{router[i * experts + e]};
      score[e] = 1.0 / (1.0 + std::exp(-score[e]));
    }
    std::vector<std::size_t> chosen;
    double sum = 0;
    for (int k = 0; k < layer.top_k; ++k) {
      std::size_t best = experts;
      for (std::size_t e = 0; e < experts; ++e)
        if (std::find(chosen.begin(), chosen.end(), e) == chosen.end() && (best == experts || score[e] > score[best]))
          best = e;
      chosen.push_back(best);
      sum += score[best];
    }
    for (const std::size_t e : chosen) {
      const std::vector<float> w1 = numbers(100 + e, hp::gate_up_elements(layer));
      const std::vector<float> w2 = numbers(200 + e, hp::down_elements(layer));
      std::vector<double> gate(2 * width, 0.0);
      for (std::size_t i = 0; i < h; ++i)
        for (std::size_t c = 0; c < 2 * width; ++c) gate[c] += double{x[t * h + i]} * double{w1[i * 2 * width + c]};
      for (std::size_t c = 0; c < width; ++c) {
        const double act = gate[c] / (1.0 + std::exp(-gate[c])) * gate[width + c];
        for (std::size_t i = 0; i < h; ++i) y[t * h + i] += score[e] / sum * act * double{w2[c * h + i]};
      }
    }
  }
  return y;
}

TEST(moe_world, computes_the_layers_formula) {
  const std::vector<float> out = run(4, options(), layer.tokens);
  const std::vector<double> wanted = formula(layer.tokens);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], wanted[i], 1e-4 * (1 + std::abs(wanted[i])));
}

TEST(moe_world, the_number_of_devices_changes_no_bit) {
  const std::vector<float> one = run(1, options(), layer.tokens);
  for (int devices : {2, 4, 8, 16}) EXPECT_EQ(run(devices, options(), layer.tokens), one) << devices;
}

TEST(moe_world, threads_tiles_windows_and_policies_change_no_bit) {
  const std::vector<float> one = run(1, options(), layer.tokens);
  for (int threads : {1, 2, 3}) EXPECT_EQ(run(4, options(), layer.tokens, threads), one) << threads;
  for (int buffers : {1, 2, 4}) {
    hp::moe_options o = options();
    o.weight_buffers = buffers;
    EXPECT_EQ(run(4, o, layer.tokens), one) << buffers;
  }
  hp::moe_options ranked = options();
  ranked.policy = hp::priority::upward_rank;
  EXPECT_EQ(run(4, ranked, layer.tokens), one);
  for (int rows : {1, 5, 16}) {
    hp::moe_options o = options();
    o.tiling = {rows, 7, 5, 3, 9, 2, 5, 1};
    EXPECT_EQ(run(4, o, layer.tokens), one) << rows;
  }
}

TEST(moe_world, a_short_step_computes_its_tokens_and_no_others) {
  const std::vector<float> whole = run(8, options(), layer.tokens);
  for (int count : {0, 1, 7, 8, 9, 63}) {
    const std::vector<float> part = run(8, options(), count);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin())) << count;
  }
}

TEST(moe_world, repeated_steps_on_one_world_are_independent) {
  hp::moe_world<> w(layer, 4, options());
  load(w);
  const std::vector<float> whole = run(4, options(), layer.tokens);
  std::vector<float> out(whole.size()), few(static_cast<std::size_t>(5 * layer.hidden));
  for (int i = 0; i < 3; ++i) {
    w.run(tokens(5), few);
    w.run(tokens(layer.tokens), out);
    EXPECT_EQ(out, whole);
  }
}

TEST(moe_world, received_rows_count_every_routed_row_once) {
  hp::moe_world<> w(layer, 4, options());
  load(w);
  std::vector<float> out(static_cast<std::size_t>(layer.tokens * layer.hidden));
  w.run(tokens(layer.tokens), out);
  int rows = 0;
  for (int r = 0; r < 4; ++r) rows += w.received_rows(r);
  EXPECT_EQ(rows, layer.tokens * layer.top_k);
}

TEST(moe_world, too_many_rows_for_the_capacity_end_the_run_by_name_and_leave_the_world_usable) {
  hp::moe_options o = options();
  o.rows_per_pair = 2;
  hp::moe_world<> w(layer, 4, o);
  load(w);
  std::vector<float> out(static_cast<std::size_t>(layer.tokens * layer.hidden));
  try {
    w.run(tokens(layer.tokens), out);
    FAIL() << "the router gives some expert more than 2 rows from one device";
  } catch (const hp::task_error& e) {
    EXPECT_EQ(e.operation, "arrange");
    EXPECT_EQ(e.slot, "routes");
    EXPECT_NE(std::string(e.what()).find("the plan has room for 2"), std::string::npos) << e.what();
  }
  std::vector<float> one(static_cast<std::size_t>(layer.hidden));
  EXPECT_EQ(w.run(tokens(1), one), hp::run_result::complete);
  const std::vector<float> whole = run(1, options(), layer.tokens);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), whole.begin()));
}

TEST(moe_world, says_what_is_wrong_with_its_input) {
  EXPECT_THROW(hp::moe_world<>(layer, 3, options()), hp::plan_error);
  EXPECT_THROW(hp::moe_world<>(layer, 0, options()), hp::plan_error);
  EXPECT_THROW(hp::moe_world<>(layer, 65, options()), hp::plan_error);
  hp::moe_world<> w(layer, 2, options());
  const std::vector<float> few(3);
  EXPECT_THROW(w.set_router(few), std::invalid_argument);
  EXPECT_THROW(w.set_expert(0, few, few), std::invalid_argument);
  EXPECT_THROW(w.set_expert(16, few, few), std::out_of_range);
  std::vector<float> out(few.size());
  EXPECT_THROW(w.run(few, out), std::invalid_argument);
}

/// Before and after each kernel its thread idles for a random while.
class delayed_world : public hp::moe_world<> {
 public:
  using hp::moe_world<>::moe_world;

  void delay() {
    for (int o = 0; o < hp::moe_forward_operation_count; ++o) world().bind(o, &delayed_world::run_late, context_.get());
  }

 private:
  static void idle() {
    thread_local std::minstd_rand random(
        static_cast<unsigned>(std::hash<std::thread::id>{}(std::this_thread::get_id())));
    for (auto pauses = random() % 64; pauses > 0; --pauses) hp::spin_pause();
  }
  static void run_late(const hp::kernel_call& call) {
    idle();
    hp::moe_kernels[call.operation](call);
    idle();
  }
};

TEST(moe_world, delays_of_any_task_change_no_bit) {
  const hp::moe_options o = options();
  const std::vector<float> wanted = run(8, o, 64);
  delayed_world w(layer, 8, o, {.threads = 2});
  load(w);
  w.delay();
  std::vector<float> out(wanted.size());
  const std::vector<float> x = tokens(64);
  const int runs = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 10000 : 100;
  for (int i = 0; i < runs; ++i) {
    std::fill(out.begin(), out.end(), -1.0F);
    ASSERT_EQ(w.run(x, out), hp::run_result::complete);
    ASSERT_EQ(out, wanted) << "run " << i;
  }
}

}  // namespace
