// SPDX-License-Identifier: Apache-2.0
// Every built-in operator on distributed tensors and in a model, under the same layouts: the same bits, and those of one
// device where no sharded factor is reduced.
#include <hyperparallel/check/operator_sample.hpp>
#include <hyperparallel/dtensor.hpp>
#include <hyperparallel/dtensor/conversion.hpp>
#include <hyperparallel/dtensor/move.hpp>
#include <hyperparallel/graph/in_floats.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/program_world.hpp>

#include "check/builtin_cases.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

using namespace builtin;
using hp::extent_t;
using hp::detail::operator_sample;

constexpr extent_t sizes[] = {4, 8, 12};

/// Extents that a mesh of 2 x 2 x 2 divides.
extent_t divisible_extent(char letter, extent_t drawn) {
  if (fixed_extent(letter) > 0) return fixed_extent(letter);
  return letter == 'K' ? 2 : sizes[drawn % 3];
}

/// Which of the operator's loops each axis of the mesh shards.
hp::operator_placement random_placement(const operator_sample& sample, const hp::mesh_shape& m,
                                        hp::detail::keyed_sequence& random) {
  hp::operator_placement p;
  for (int a = 0; a < m.axis_count; ++a) {
    if (sample.rule().factor_count == 0) return p;
    const int f = static_cast<int>(random() % static_cast<unsigned>(sample.rule().factor_count));
    const extent_t pieces = hp::detail::pieces_of_loop(p, m, f) * m.size[a];
    if (!hyperparallel::detail::is_whole(sample.rule(), f) && sample.op().loop[f].extent % pieces == 0 &&
        random() % 4 != 0)
      p.add(a, f);
  }
  return p;
}

const hp::rank_group& group_of(int ranks, int threads) {
  static std::map<std::pair<int, int>, hp::rank_group> groups;
  const auto found = groups.find({ranks, threads});
  if (found != groups.end()) return found->second;
  return groups.emplace(std::pair{ranks, threads}, hp::rank_group(ranks, {.threads = threads})).first->second;
}

using results = std::vector<std::vector<double>>;

/// Whole results of the operator on distributed tensors. What waits for a reduction is reduced.
results on_tensors(const builtin_case& c, const operator_sample& sample, const hp::operator_placement& p,
                   const hp::mesh_shape& m, int threads) {
  const hp::rank_group& group = group_of(hp::position_count(m), threads);
  tensors x;
  for (int i = 0; i < sample.op().operand_count; ++i) {
    const hp::layout_value l = hp::layout_of(sample.rule().operand[i], p, m);
    const hp::shape& s = sample.model().tensor[sample.op().operand[i]].shape;
    const hp::detail::sampled_block& b = sample.operand[static_cast<std::size_t>(i)];
    if (sample.holds_numbers(i))
      x.push_back(hp::distribute<std::int32_t>(group, s, l, b.number));
    else
      x.push_back(hp::distribute<double>(group, s, l, b.value));
  }
  hp::created_extents created;
  for (int f = 0, n = 0; f < sample.rule().factor_count; ++f) {
    bool read = false;
    for (int i = 0; i < sample.rule().operand_count; ++i) read = read || has_factor(sample.rule().operand[i], f);
    if (read) continue;
    created.letter[n] = sample.rule().factor[f].letter;
    created.extent[n++] = sample.op().loop[f].extent;
  }
  results all;
  for (const hp::dynamic_dtensor& r : c.apply(c.attributes, created, x)) {
    if (r.type() == hp::data_type::i32) {
      const std::vector<std::int32_t> numbers = hp::full_tensor<std::int32_t>(r);
      all.emplace_back(numbers.begin(), numbers.end());
    } else if (r.type() == hp::data_type::f32) {  // counts: no operand says another type
      const std::vector<float> floats = hp::full_tensor<float>(r);
      all.emplace_back(floats.begin(), floats.end());
    } else {
      all.push_back(hp::full_tensor<double>(r));
    }
  }
  return all;
}

/// The same in a model whose strategy shards the operator's dims so. Each result is multiplied by ones, which needs it
/// complete.
results in_a_model(const operator_sample& sample, const hp::operator_placement& p, const hp::mesh_shape& m,
                   int threads) {
  constexpr const char* axes[] = {"a", "b", "c"};
  hp::strategy_value s;
  s.mesh.shape = m;
  for (int a = 0; a < m.axis_count; ++a) s.mesh.label[a] = axes[a];
  for (int i = 0; i < p.count; ++i)
    s.add(hp::shard_dim_if_present(("factor" + std::to_string(p.loop[p.axis[i]])).c_str(), axes[p.axis[i]], "checked"));
  hp::model_builder b = sample.builder;
  std::vector<std::string> names;
  std::vector<int> ones;
  for (int r = 0; r < sample.op().result_count; ++r) {
    const hp::graph_tensor made = b.graph.tensor[sample.first_result + r];
    names.push_back("read" + std::to_string(r));
    ones.push_back(-1);
    if (made.type == hp::data_type::i32) {
      names.back() = b.graph.text_at(made.name);
      continue;
    }
    hp::number_list dims;
    for (int d = 0; d < made.shape.rank; ++d) dims.item[dims.count++] = made.dim[d];
    ones.back() = b.input(("ones" + std::to_string(r)).c_str(), dims);
    b.apply<ops::multiply>(names.back().c_str(), {sample.first_result + r, ones.back()});
  }
  hp::program_options options;
  options.keep = names;
  options.execution.threads = threads;
  hp::program_world<double> world(hp::partition(hp::in_floats(b.graph, hp::f64), s), options);
  for (int i = 0; i < sample.op().operand_count; ++i) {
    const hp::detail::sampled_block& x = sample.operand[static_cast<std::size_t>(i)];
    if (sample.holds_numbers(i))
      world.set(sample.op().operand[i], x.number);
    else
      world.set(sample.op().operand[i], x.value);
  }
  for (const int t : ones)
    if (t >= 0) world.set(t, std::vector<double>(static_cast<std::size_t>(hp::elements_of(b.graph.tensor[t])), 1.0));
  world.run_micro();
  results all;
  for (std::size_t r = 0; r < names.size(); ++r) {
    if (ones[r] >= 0) {
      all.push_back(world.get(names[r]));
      continue;
    }
    const std::vector<std::int32_t> numbers = world.get_index(names[r]);
    all.emplace_back(numbers.begin(), numbers.end());
  }
  return all;
}

bool same_bits(const results& a, const results& b) {
  bool same = a.size() == b.size();
  for (std::size_t r = 0; r < a.size() && same; ++r)
    same = a[r].size() == b[r].size() && std::memcmp(a[r].data(), b[r].data(), a[r].size() * sizeof(double)) == 0;
  return same;
}
double worst_difference(const results& a, const results& b) {
  double worst = a.size() == b.size() ? 0 : 1;
  for (std::size_t r = 0; r < a.size() && worst < 1; ++r)
    for (std::size_t e = 0; e < a[r].size(); ++e) {
      const double d = std::abs(a[r][e] - b[r][e]) / std::max(1.0, std::abs(b[r][e]));
      if (!(d <= worst)) worst = d;
    }
  return worst;
}

std::string described(const builtin_case& c, const operator_sample& sample, const hp::operator_placement& p) {
  std::string s = hp::name_of(c.op);
  s.append(" ").append(c.text).append(sample.shapes()).append("; axes");
  for (int i = 0; i < p.count; ++i)
    s.append(" ").append(std::to_string(p.axis[i])).append(":").append(std::to_string(p.loop[p.axis[i]]));
  return s;
}

TEST(SameBits, OfDistributedTensorsAndModelsForEveryBuiltInOperator) {
  const int rounds = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 300 : 6;
  const hp::mesh_shape meshes[] = {{2, {2, 2}}, {3, {2, 2, 2}}, {1, {4}}};
  hp::detail::keyed_sequence random{5};
  int sharded = 0;
  for (const builtin_case& c : builtin_cases) {
    const hp::detail::checked_operator checked{hp::builtin_list, c.op, &hp::kernel_of<double>, c.operands};
    const hp::operator_options how = c.how();
    const hp::operator_check_options options{.largest = 3, .positive = c.positive, .extent_of = divisible_extent};
    for (int round = 0; round < rounds; ++round) {
      operator_sample sample(checked, how, options, random);
      ASSERT_EQ(sample.complaint, "") << c.text;
      const hp::mesh_shape& m = meshes[random() % 3];
      const hp::operator_placement p = random_placement(sample, m, random);
      sharded += p.count;
      const results tensors_1 = on_tensors(c, sample, p, m, 1), tensors_2 = on_tensors(c, sample, p, m, 2);
      const results model_1 = in_a_model(sample, p, m, 1), model_2 = in_a_model(sample, p, m, 2);
      EXPECT_TRUE(same_bits(tensors_1, model_1)) << described(c, sample, p);
      EXPECT_TRUE(same_bits(tensors_1, tensors_2) && same_bits(model_1, model_2)) << described(c, sample, p);
      hp::operator_call whole = sample.whole();
      whole.step = 1;
      const results alone = sample.run(whole, sample.operand);
      bool reduces = false;
      for (int i = 0; i < p.count; ++i)
        reduces = reduces || sample.rule().factor[p.loop[p.axis[i]]].op != hp::reduce_op::none;
      if (reduces)
        EXPECT_LE(worst_difference(tensors_1, alone), 1e-12) << described(c, sample, p);
      else
        EXPECT_TRUE(same_bits(tensors_1, alone)) << described(c, sample, p);
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(sharded, 2 * rounds * static_cast<int>(std::size(builtin_cases)) / 3);
}

// ---- functions of tensors by name ----

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
constexpr auto none = hp::none;

template <class T, hp::map_entry... Entries>
struct drawn {
  template <extent_t... N>
  static auto of(std::uint64_t seed) {
    using tensor = hp::dtensor<T, hp::extents<N...>, hp::layout<mesh, Entries...>>;
    return hp::generate<tensor>(group_of(4, 1), [seed](extent_t i) {
      hp::detail::keyed_sequence random{seed * 100'003 + static_cast<std::uint64_t>(i)};
      return hp::kernels::store<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
    });
  }
};

template <class X, class Y>
void expect_same(const X& x, const Y& y, const char* name) {
  static_assert(std::is_same_v<X, Y>);
  const auto a = x.full_tensor(), b = y.full_tensor();
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])), 0) << name;
}

/// Functions of dtensors and the operators of models that they are.
template <class T>
void check_named_functions() {
  const auto x = drawn<T, "dp", none>::template of<4, 300>(1), y = drawn<T, "dp", none>::template of<4, 300>(2);
  const auto weight = drawn<T, none>::template of<300>(3);
  expect_same(hp::softmax(x), hp::apply<ops::softmax>(x), "softmax");
  expect_same(hp::rms_norm(x, weight, 1e-5), hp::apply<ops::rms_norm>({.real = {1e-5}}, x, weight), "rms_norm");
  expect_same(hp::silu(x), hp::apply<ops::silu>(x), "silu");
  expect_same(hp::sigmoid(x), hp::apply<ops::sigmoid>(x), "sigmoid");
  expect_same(hp::swiglu(x, y), hp::apply<ops::swiglu>(x, y), "swiglu");
  expect_same(hp::mul(x, y), hp::apply<ops::multiply>(x, y), "mul");
  expect_same(hp::sub(x, y), hp::apply<ops::subtract>(x, y), "sub");
  expect_same(hp::shift(x, 0.3), hp::apply<ops::shift>({.real = {0.3}}, x), "shift");
  expect_same(hp::neg(x), hp::apply<ops::negate>(x), "neg");
  expect_same(hp::div(x, y), hp::apply<ops::divide>(x, y), "div");
  expect_same(hp::maximum(x, y), hp::apply<ops::maximum>(x, y), "maximum");
  expect_same(hp::relu(x), hp::apply<ops::relu>(x), "relu");
  expect_same(hp::tanh(x), hp::apply<ops::tanh>(x), "tanh");
  const auto positive = hp::exp(x);
  expect_same(positive, hp::apply<ops::exp>(x), "exp");
  expect_same(hp::log(positive), hp::apply<ops::log>(positive), "log");
  expect_same(hp::sqrt(positive), hp::apply<ops::sqrt>(positive), "sqrt");
  expect_same(hp::sum<1>(x), hp::apply<ops::reduce, "ab->a">(x), "reduce_sum");
  expect_same(hp::max<1>(x), hp::apply<hp::listed<ops::reduce, "ab->a">{{.reduction = hp::reduce_op::max}}>(x),
              "reduce_max");

  const auto w = drawn<T, none, "tp">::template of<300, 8>(4);
  expect_same(hp::matmul(x, w), hp::apply<ops::contract, "mk,kn->mn">(x, w), "matmul");
  const auto out_by_in = drawn<T, "tp", none>::template of<8, 300>(5);
  expect_same(hp::linear(x, out_by_in), hp::apply<ops::contract, "mk,nk->mn">(x, out_by_in), "linear");

  // Of one head a key head: [batch, heads, positions, width].
  const auto q = drawn<T, "dp", "tp", none, none>::template of<2, 2, 70, 8>(6);
  const auto k = drawn<T, "dp", "tp", none, none>::template of<2, 2, 90, 8>(7);
  const auto v = drawn<T, "dp", "tp", none, none>::template of<2, 2, 90, 8>(8);
  const hp::operator_attributes causal{.integer = {1}, .real = {1 / std::sqrt(8.0)}};
  expect_same(hp::attention<true>(q, k, v),
              std::get<0>(hp::apply<ops::attention, "bmsD,bmTD,bmTE->bmsE,bms">(causal, q, k, v)), "attention");
  const auto rows = drawn<T, "dp", "tp", none>::template of<2, 6, 8>(9);
  expect_same(hp::rope<1>(rows, 1000.0), hp::apply<ops::rope>({.integer = {1}, .real = {1000.0}}, rows), "rope");
}

TEST(SameBits, NamedFunctionsOfTensorsAreTheOperatorsOfModels) {
  check_named_functions<double>();
  check_named_functions<float>();
  check_named_functions<hp::bf16_bits>();
}

// The loss of a whole row and the pieces that a sharded vocabulary needs.
TEST(SameBits, CrossEntropyIsThatOfModels) {
  const auto x = drawn<float, "dp", none>::of<4, 300>(1);
  using numbers = hp::dtensor<std::int32_t, hp::extents<4>, hp::layout<mesh, "dp">>;
  const auto label =
      hp::generate<numbers>(group_of(4, 1), [](extent_t i) { return static_cast<std::int32_t>(37 * i % 300); });
  const auto most = hp::apply<hp::listed<ops::reduce, "ab->a">{{.reduction = hp::reduce_op::max}}>(x);
  const auto total = hp::apply<ops::exp_sum>(x, most);
  const auto picked = hp::apply<ops::pick>(x, label);
  expect_same(hp::cross_entropy(x, label), hp::apply<ops::token_loss>(most, total, picked, label), "cross_entropy");
}

}  // namespace
