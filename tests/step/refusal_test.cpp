// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/step/refusal.hpp>

#include <string>
#include <type_traits>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/step/step_verdict.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <models/strategy_on.hpp>
#include <models/trained_models.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

hp::strategy_value strategy_on(int dp, int tp) { return programs::strategy_on({{"dp", dp}, {"tp", tp}}); }
hp::detail::step_refusal refusal(const hp::strategy_value& s, const hp::graph& g = programs::one_matrix()) {
  return hp::detail::refusal_of(hp::partition(g, s), s);
}

TEST(step_refusal, keeps_the_end_of_a_long_name) {
  for (int length : {0, 1, hp::most_refusal_text - 1, hp::most_refusal_text, hp::most_refusal_text + 1, 300}) {
    std::string name;
    for (int i = 0; i < length; ++i) name += static_cast<char>('a' + i % 26);
    const hp::refusal_text kept(name.c_str());
    const std::size_t most = static_cast<std::size_t>(hp::most_refusal_text);
    EXPECT_EQ(kept.text, name.size() <= most ? name : name.substr(name.size() - most));
    EXPECT_EQ(static_cast<std::size_t>(kept.length), std::string(kept.text).size());
  }
}

// Names stand whole, in order; behind the first that does not fit there are dots.
TEST(step_refusal, lists_names_while_they_fit) {
  for (int length = 1; length < 40; ++length) {
    hp::detail::refusal_list list;
    std::string whole;
    for (int i = 0; i < 12; ++i) {
      const std::string name(static_cast<std::size_t>(length), static_cast<char>('a' + i));
      list.add(name.c_str());
      whole += (i == 0 ? "" : ", ") + name;
    }
    const std::string text = list.joined.text;
    EXPECT_EQ(text.size(), static_cast<std::size_t>(list.joined.length));
    EXPECT_LE(list.joined.length, hp::most_refusal_text);
    EXPECT_EQ(list.is_cut, text != whole);
    if (!list.is_cut) continue;
    ASSERT_GT(text.size(), 5U);
    EXPECT_EQ(text.substr(text.size() - 5), ", ...");
    EXPECT_EQ(whole.find(text.substr(0, text.size() - 3)), 0U);
    EXPECT_EQ((text.size() - 3) % static_cast<std::size_t>(length + 2), 0U);
  }
}

// Every named strategy on many ranks: what is refused has the names of the program's own status, nothing else has any.
TEST(step_refusal, tells_the_names_of_the_status) {
  const models::small_moe_config sizes{.batch = 6, .sequence = 12, .vocabulary = 90, .layers = 1};
  const hp::graph g = programs::moe_graph({.unrolled = true}, sizes);
  int refused = 0, accepted = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    for (int ranks : {2, 3, 4, 5, 6, 7, 8, 12, 16}) {
      const hp::strategy_value s = hp::strategy_called(hp::named_strategy_at(i).name, ranks).strategy;
      const hp::sharded_program p = hp::partition(g, s);
      const hp::detail::step_refusal r = hp::detail::refusal_of(p, s);
      EXPECT_EQ(r.kind == hp::detail::refusal_kind::nothing, p.status.code == hp::strategy_code::ok);
      EXPECT_EQ(r.strategy, p.status.code);
      if (p.status.code == hp::strategy_code::ok) {
        ++accepted;
        continue;
      }
      ++refused;
      EXPECT_EQ(r.extent, p.status.extent);
      EXPECT_EQ(r.other, p.status.pieces);
      if (p.status.axis >= 0) {
        EXPECT_STREQ(r.axis.text, s.mesh.label[p.status.axis].text);
      }
      if (p.status.op >= 0) {
        EXPECT_STREQ(r.op.text, p.graph.name_of_op(p.status.op));
      }
      if (p.status.tensor >= 0) {
        EXPECT_STREQ(r.tensor.text, p.graph.name_of_tensor(p.status.tensor));
      }
      if (p.status.dim >= 0) {
        EXPECT_STREQ(r.dim.text, p.graph.name_of_dim(p.status.dim));
      }
      EXPECT_GT(r.axis.length, 0) << s.name.text << " " << ranks;
    }
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(accepted, 50);
}

TEST(step_refusal, of_a_rule_has_its_axis_and_dim) {
  hp::detail::step_refusal r = refusal(strategy_on(2, 2).add(hp::shard_dim("batch", "fsdp")));
  EXPECT_EQ(r.strategy, hp::strategy_code::axis_is_not_in_the_mesh);
  EXPECT_STREQ(r.axis.text, "fsdp");
  EXPECT_STREQ(r.dim.text, "batch");
  r = refusal(strategy_on(2, 2).add(hp::shard_dim("seq", "tp")));
  EXPECT_EQ(r.strategy, hp::strategy_code::rule_matches_nothing);
  EXPECT_STREQ(r.axis.text, "tp");
  EXPECT_STREQ(r.dim.text, "seq");
  EXPECT_STREQ(r.dims.joined.text, "ffn, batch, hidden");
  EXPECT_EQ(r.strategies.joined.length, 0);  // it has no name
  r = refusal(hp::strategy_called("dp-ep", 4).strategy);
  EXPECT_STREQ(r.dim.text, "experts");
  std::string names;
  hp::detail::visit_matching_strategies(programs::one_matrix(), "dp-ep", [&](const char* name) {
    names += std::string(names.empty() ? "" : ", ") + name;
  });
  EXPECT_EQ(names, r.strategies.joined.text);
}

TEST(step_refusal, of_a_pin_has_its_pattern_or_the_tensor) {
  hp::strategy_value s = strategy_on(2, 2);
  s.pin.push({hp::short_text("*.bias"), 1, {}});
  EXPECT_STREQ(refusal(s).tensor.text, "*.bias");
  s.pin.item[0] = {hp::short_text("wieght"), 2, {}};
  EXPECT_STREQ(refusal(s).nearest.text, "weight");
  s.pin.item[0] = {hp::short_text("*.bias"), 1, {}};
  EXPECT_EQ(refusal(s).nearest.length, 0);  // no name is like it
  s.pin.item[0] = {hp::short_text("weigh?"), 1, {}};
  hp::detail::step_refusal r = refusal(s);
  EXPECT_EQ(r.strategy, hp::strategy_code::pin_has_wrong_rank);
  EXPECT_STREQ(r.tensor.text, "weight");
  EXPECT_EQ(r.extent, 2);
  EXPECT_EQ(r.other, 1);
  s.pin.item[0] = {hp::short_text("weight"), 2, {hp::short_text("tp"), hp::short_text("ep")}};
  r = refusal(s);
  EXPECT_EQ(r.strategy, hp::strategy_code::axis_is_not_in_the_mesh);
  EXPECT_STREQ(r.axis.text, "ep");
  EXPECT_STREQ(r.tensor.text, "weight");
  s = strategy_on(3, 2);
  s.pin.push({hp::short_text("weight"), 2, {hp::short_text("dp"), {}}});
  r = refusal(s);
  EXPECT_EQ(r.strategy, hp::strategy_code::dim_does_not_divide);
  EXPECT_EQ(r.op.length, 0);
  EXPECT_STREQ(r.tensor.text, "weight");
  EXPECT_STREQ(r.dim.text, "hidden");
}

TEST(step_refusal, of_a_graph_has_its_operator) {
  hp::model_builder m;
  const int x = m.input("x", {m.dim("batch", 4), m.dim("hidden", 8)});
  const int w = m.parameter("weight", {m.dim("rows", 6), m.dim("columns", 2)});
  m.contract("product", "*k,kn->*n", x, w);
  const hp::detail::step_refusal r = refusal(strategy_on(2, 2), m.graph);
  EXPECT_EQ(r.kind, hp::detail::refusal_kind::model);
  EXPECT_EQ(r.graph, hp::graph_code::dim_differs_between_operands);
  EXPECT_EQ(r.strategy, hp::strategy_code::ok);
  EXPECT_STREQ(r.op.text, "product");
  EXPECT_EQ(r.extent + r.other, 14);
}

// What the error line spells.

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};

template <hp::extent_t Width>
struct product {
  static constexpr void build(hp::model_builder& m) {
    const int hidden = m.dim("hidden", 8);
    const int x = m.input("x", {m.dim("batch", 4), hidden});
    const int y = m.contract("up", "*k,kn->*n", x, m.parameter("w", {hidden, m.dim("ffn", Width)}));
    m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
template <hp::extent_t Width, class... Parts>
using verdict = hp::detail::step_verdict<
    hp::detail::evaluated_step<product<Width>, hp::strategy<mesh, Parts...>, hp::sgd, hp::matrix384>>::type;

struct experts {
  static constexpr hp::strategy_value value = hp::strategy_called("dp-ep", 4).strategy;
};
using named_verdict =
    hp::detail::step_verdict<hp::detail::evaluated_step<product<8>, experts, hp::sgd, hp::matrix384>>::type;

TEST(step_refusal, spells_names_and_sizes) {
  using namespace hp::diag;
  using tp = hp::axes_named<'t', 'p'>;
  using ffn = hp::named_dim<'f', 'f', 'n'>;
  using nearest = hp::nearest_name<'d', 'p'>;
  using there = hp::axes_there_are<hp::alias<'d', 'p'>, hp::alias<'t', 'p'>>;
  static_assert(std::is_same_v<verdict<8, hp::tensor_parallel<"tp">>, hp::accepted>);
  static_assert(std::is_same_v<
                verdict<6, hp::tensor_parallel<"tp">>,
                dim_is_not_divisible_by_its_axis<ffn, hp::extent<6>, tp, hp::shards<4>, hp::named_operator<'u', 'p'>>>);
  static_assert(
      std::is_same_v<verdict<6, hp::pin<"w", hp::none, "tp">>,
                     dim_is_not_divisible_by_its_axis<ffn, hp::extent<6>, tp, hp::shards<4>, hp::named_tensor<'w'>>>);
  static_assert(std::is_same_v<
                verdict<8, hp::context_parallel<"tp">>,
                rule_matches_no_operator<tp, hp::named_dim<'s', 'e', 'q'>, hp::dims_there_are<"ffn, hidden, batch">>>);
  static_assert(
      std::is_same_v<
          named_verdict,
          pattern_matches_no_operator<hp::pattern_named<'*', '.', 'e', 'x', 'p', 'e', 'r', 't', 's', '.', '*'>,
                                      hp::nearest_name<>, hp::operators_there_are<2>,
                                      hp::strategies_that_match<"dp, tp, zero1, zero2, zero3, hsdp1, hsdp2, hsdp3, 2d, "
                                                                "3d, zero3-tp">>>);
  static_assert(std::is_same_v<verdict<8, hp::column_parallel<"upp", "tp">>,
                               pattern_matches_no_operator<hp::pattern_named<'u', 'p', 'p'>, hp::nearest_name<'u', 'p'>,
                                                           hp::operators_there_are<2>>>);
  static_assert(std::is_same_v<verdict<8, hp::data_parallel<"x">>,
                               strategy_names_an_axis_that_the_mesh_lacks<hp::axes_named<'x'>, nearest, there>>);
  static_assert(std::is_same_v<verdict<8, hp::pin<"w", "x", "y">>,
                               strategy_names_an_axis_that_the_mesh_lacks<hp::axes_named<'x'>, nearest, there>>);
  static_assert(std::is_same_v<verdict<8, hp::pin<"w", "tp">>,
                               pin_does_not_fit<hp::strategy_code::pin_has_wrong_rank, hp::named_tensor<'w'>,
                                                hp::map_entries<1>, hp::tensor_dims<2>>>);
  static_assert(std::is_same_v<verdict<8, hp::pin<"upp", "tp">>,
                               pin_does_not_fit<hp::strategy_code::pattern_matches_nothing,
                                                hp::named_tensor<'u', 'p', 'p'>, hp::nearest_name<'u', 'p'>>>);
  static_assert(std::is_same_v<hp::detail::memory_verdict<false, 5, 4>::type,
                               memory_is_exceeded<hp::bytes_needed<5>, hp::bytes_given<4>>>);
  static_assert(std::is_same_v<hp::detail::memory_verdict<true, 4, 4>::type, hp::accepted>);
}

}  // namespace
