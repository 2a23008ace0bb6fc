// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/world.hpp>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/layers.hpp>

#include <support/error_of.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <vector>

namespace hp = hyperparallel;

namespace {

using hp::data_type;
using tested::error_of;

struct decoder {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), seq = m.dim("seq", 8);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 4, .key_heads = 2, .head_dim = 4}, .feed_forward = {.width = 32}};
    int x = hp::token_embedding{.vocabulary = 32, .hidden = 16}(m, tokens);
    x = m.repeat("layers", 2, x, block);
    hp::language_head{.vocabulary = 32}(m, x, labels);
  }
};
struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using split = hp::strategy<mesh, hp::fully_sharded<"dp", 3>, hp::tensor_parallel<"tp">>;
template <class... Options>
using step_with = hp::train_step<decoder, split, hp::adamw, hp::matrix384, Options...>;

std::vector<std::int32_t> tokens_of(int batches) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(batches) * 32);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>((i * i + 3 * i) % 32);
  return all;
}
std::span<const std::int32_t> batch_of(const std::vector<std::int32_t>& all, std::int64_t batch) {
  return std::span(all).subspan(static_cast<std::size_t>(batch) * 32, 32);
}

/// The same program planned at start, fed by hand.
template <class Step>
std::vector<double> planned_at_start(int steps, int threads) {
  using number = typename hp::world<Step>::number;
  hp::step_settings s = Step::evaluated::settings();
  s.build.unrolled = true;
  hp::model_run<number> run(
      hp::training_graph<decoder>(hp::adamw::value, s), split::value,
      {.program = {.execution = {.threads = threads}, .topology = hp::interconnect_of(Step::hardware::topology)}});
  const std::vector<std::int32_t> tokens = tokens_of(3), labels = tokens_of(2);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i)
    losses.push_back(static_cast<double>(run.train_step([&](int m) {
      const std::int64_t batch = std::int64_t{i} * s.micro_batches + m;
      run.world().set("tokens", batch_of(tokens, batch % 3));
      run.world().set("labels", batch_of(labels, batch % 2));
    })));
  return losses;
}
template <class Step>
std::vector<double> planned_by_the_compiler(int steps, int threads) {
  hp::world<Step> world({.execution = {.threads = threads}});
  const std::vector<std::int32_t> tokens = tokens_of(3), labels = tokens_of(2);
  return world.feed("tokens", tokens).feed("labels", labels).train(steps);
}

template <class Step>
void expect_the_same_bits() {
  const std::vector<double> losses = planned_by_the_compiler<Step>(6, 1);
  ASSERT_EQ(losses.size(), 6U);
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_EQ(planned_by_the_compiler<Step>(6, 2), losses);
  EXPECT_EQ(planned_at_start<Step>(6, 1), losses);
  EXPECT_EQ(planned_at_start<Step>(6, 2), losses);
}

using in_bf16 = step_with<>;
using in_f64 = hp::train_step<decoder, split, hp::adamw, hp::h100, hp::precision<data_type::f64>, hp::accumulating<2>>;
struct alone : hp::device_matrix<hp::axis{"dp", 1}> {};
using on_one = hp::train_step<decoder, hp::strategy<alone>, hp::adamw, hp::h100, hp::precision<data_type::f64>,
                              hp::accumulating<2>>;
using in_f32 = step_with<hp::precision<data_type::f32>, hp::with_vector_queue, hp::looking_ahead<4>,
                         hp::keeping_value<"gradient(embedding.weight)">>;
static_assert(in_bf16::verified && in_f32::verified && in_f64::verified);
static_assert(std::is_same_v<hp::world<in_bf16>::number, float>);

TEST(World, HasTheBitsOfAPlanMadeAtStart) {
  expect_the_same_bits<in_bf16>();
  expect_the_same_bits<in_f32>();
}

/// Four ranks compute what one device does, but for the order of additions.
TEST(World, HasTheLossesOfOneDevice) {
  static_assert(std::is_same_v<hp::world<in_f64>::number, double>);
  expect_the_same_bits<in_f64>();
  const std::vector<double> many = planned_by_the_compiler<in_f64>(6, 2), one = planned_by_the_compiler<on_one>(6, 2);
  ASSERT_EQ(many.size(), one.size());
  for (std::size_t i = 0; i < many.size(); ++i) EXPECT_NEAR(many[i], one[i], 1e-9 * one[i]) << i;
}

/// Header-only a world has the kernels of its plan's operators and no others; in compiled mode all are in the library.
TEST(World, HasTheKernelsOfItsPlansOperators) {
  using planned = in_f32::planned;
  std::vector<bool> named(static_cast<std::size_t>(hp::builtin_operator_count), false);
  for (const hp::graph_operator& op : hp::program_of(planned::image).program.graph.op)
    named.at(static_cast<std::size_t>(op.kind)) = true;
  EXPECT_NE(std::find(named.begin(), named.end(), false), named.end());
  for (int number = 0; number < hp::builtin_operator_count; ++number) {
    const auto op = static_cast<hp::operator_id>(number);
    const bool has = named[static_cast<std::size_t>(number)] || hp::is_compiled;
    EXPECT_EQ((hp::detail::kernels_of_plan<planned, float, hp::operators<hp::builtin>>(op)),
              has ? hp::kernel_of<float>(op) : nullptr)
        << number;
  }
  EXPECT_EQ((hp::detail::kernels_of_plan<planned, float, hp::operators<hp::builtin>>(
                static_cast<hp::operator_id>(hp::builtin_operator_count))),
            nullptr);
}

TEST(World, KeepsWhatItsStepKeeps) {
  hp::world<in_f32> world;
  const std::vector<std::int32_t> tokens = tokens_of(1);
  world.feed("tokens", tokens).feed("labels", tokens).train(1);
  const std::vector<float> gradient = world.fetch("gradient(embedding.weight)");
  EXPECT_EQ(gradient.size(), 32U * 16U);
  EXPECT_GT(std::accumulate(gradient.begin(), gradient.end(), 0.0, [](double s, float g) { return s + g * g; }), 0.0);
  hp::world<in_bf16> other;
  other.feed("tokens", tokens).feed("labels", tokens).train(1);
  EXPECT_EQ(error_of<hp::program_error>([&] { other.fetch("embedding"); }),
            "activation \"embedding\" has no value: nothing has written it, or its memory was used again; "
            "keep it by program_options::keep, or keeping_value of a step");
}

TEST(World, AFeedThatDoesNotFitIsNamed) {
  hp::world<in_bf16> world;
  const std::vector<std::int32_t> tokens = tokens_of(1);
  const std::vector<float> floats(32);
  const auto refusal = [&](const std::string& name, const auto& values) {
    return error_of<hp::program_error>([&] { world.feed(name, values); });
  };
  EXPECT_EQ(refusal("token", tokens), "the graph has no tensor \"token\", the nearest is \"tokens\"");
  EXPECT_EQ(refusal("tokens", floats), "input \"tokens\" has elements of type i32, given f32");
  EXPECT_EQ(refusal("tokens", std::vector<std::int32_t>(33)), "input \"tokens\" has 32 elements, given 33");
  EXPECT_EQ(refusal("tokens", std::vector<std::int32_t>(32, 32)),
            "input \"tokens\" is 32 at [0, 0], expected 0 to 31 (read by operator \"embedding\")");
  EXPECT_EQ(refusal("embedding.weight", floats), "\"embedding.weight\" is no input but a parameter: it is not fed");
  EXPECT_EQ(error_of<hp::program_error>([&] { world.train(1); }), "input \"tokens\" was not set");
}

TEST(World, TrainsUntilAHookSaysSo) {
  hp::world<in_bf16> world;
  const std::vector<std::int32_t> tokens = tokens_of(1);
  world.feed("tokens", tokens).feed("labels", tokens);
  std::vector<std::int64_t> seen, told;
  int fed = 0;
  const std::vector<double> losses =
      world.train(10, {.before_micro_batch = [&](std::int64_t, int) { ++fed; },
                       .after_step =
                           [&](const hp::trained_step& s) {
                             EXPECT_EQ(s.of, 10);
                             seen.push_back(s.step);
                             return s.done < 4;
                           },
                       .progress = [&](const hp::trained_step& s) { told.push_back(s.step); },
                       .period = 1'000'000});
  EXPECT_EQ(losses.size(), 4U);
  EXPECT_EQ(fed, 4);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(told, std::vector<std::int64_t>{4}) << "the last step is always told";
  EXPECT_EQ(world.steps(), 4);
  EXPECT_EQ(world.train(2).size(), 2U);
  EXPECT_EQ(world.steps(), 6);
}

TEST(World, ACancelledStepDoesNotCount) {
  hp::world<in_bf16> world;
  const std::vector<std::int32_t> tokens = tokens_of(1);
  world.feed("tokens", tokens).feed("labels", tokens);
  std::thread other;
  const std::vector<double> losses = world.train(1'000'000, {.after_step = [&](const hp::trained_step& s) {
                                                   if (s.step == 3) other = std::thread([&] { world.cancel(); });
                                                   return true;
                                                 }});
  other.join();
  EXPECT_GE(losses.size(), 3U);
  EXPECT_EQ(world.steps(), static_cast<std::int64_t>(losses.size()));
}

/// The training that goes on from values and a number of steps is the one that was not interrupted.
TEST(World, GoesOnFromValuesThatWereFetched) {
  using step = in_f32;
  const std::vector<std::int32_t> tokens = tokens_of(1);
  hp::world<step> whole, first, second({.seed = 7});
  for (hp::world<step>* w : {&whole, &first, &second}) w->feed("tokens", tokens).feed("labels", tokens);
  const std::vector<double> losses = whole.train(5);
  first.train(2);
  const hp::graph& g = first.run().model();
  for (int t = 0; t < g.tensor.size; ++t)
    if ((g.tensor[t].kind == hp::graph_tensor_kind::parameter || g.tensor[t].kind == hp::graph_tensor_kind::state) &&
        g.tensor[t].replaces < 0)
      second.set(g.name_of_tensor(t), first.fetch(g.name_of_tensor(t)));
  second.set_steps(first.steps());
  EXPECT_EQ(second.train(3), std::vector<double>(losses.begin() + 2, losses.end()));
}

}  // namespace
