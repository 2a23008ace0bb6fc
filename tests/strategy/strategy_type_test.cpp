// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/strategy_type.hpp>

#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>
#include <models/trained_models.hpp>

namespace {

namespace hp = hyperparallel;

struct line : hp::device_matrix<hp::axis{"a", 4}> {};
struct square : hp::device_matrix<hp::axis{"a", 2}, hp::axis{"b", 2}> {};

template <class Part>
constexpr hp::strategy_value part_of() {
  hp::strategy_value s;
  Part::add(s);
  return s;
}
template <class Add>
constexpr hp::strategy_value rules_of(Add add) {
  hp::strategy_value s;
  add(s);
  return s;
}

// The first argument that is none of its kind is named.
struct no_part {};
template <class... Arguments>
using verdict = typename hp::detail::strategy_verdict<Arguments...>::type;
static_assert(hp::strategy_part<hp::data_parallel<"a">> && !hp::strategy_part<no_part> && !hp::strategy_part<line>);
static_assert(std::is_same_v<verdict<line>, hp::accepted>);
static_assert(std::is_same_v<verdict<line, hp::data_parallel<"a">>, hp::accepted>);
static_assert(std::is_same_v<verdict<hp::data_parallel<"a">, line>,
                             hp::diag::first_argument_of_a_strategy_is_no_mesh<hp::data_parallel<"a">>>);
static_assert(std::is_same_v<verdict<line, hp::data_parallel<"a">, no_part, line>,
                             hp::diag::part_of_a_strategy_is_no_part<no_part>>);

// A type with a mesh's value, and a device matrix that is none of the refused ones, give their own mesh.
struct listed_mesh {
  static constexpr hp::mesh_value value = line::value;
};
static_assert(!hp::detail::is_refused_mesh<line>() && !hp::detail::is_refused_mesh<listed_mesh>());
static_assert(hp::strategy<listed_mesh>::value.mesh == line::value);

// A part adds what its function adds.
static_assert(part_of<hp::data_parallel<"a">>() == rules_of([](auto& s) { hp::add_data_parallel(s, "a"); }));
static_assert(part_of<hp::fully_sharded<"a">>() == rules_of([](auto& s) { hp::add_zero(s, "a", 3); }));
static_assert(part_of<hp::fully_sharded<"a", 1>>() == rules_of([](auto& s) { hp::add_zero(s, "a", 1); }));
static_assert(part_of<hp::hybrid_sharded<"a", "b", 2>>() ==
              rules_of([](auto& s) { hp::detail::add_hybrid_sharded(s, "a", "b", 2); }));
static_assert(part_of<hp::tensor_parallel<"a">>() == rules_of([](auto& s) { hp::add_tensor_parallel(s, "a"); }));
static_assert(part_of<hp::sequence_parallel<"a">>() ==
              rules_of([](auto& s) { hp::detail::add_sequence_parallel(s, "a"); }));
static_assert(part_of<hp::vocabulary_parallel<"a">>() ==
              rules_of([](auto& s) { hp::detail::add_vocabulary_parallel(s, "a"); }));
static_assert(part_of<hp::tensor_parallel_2d<"a", "b">>() ==
              rules_of([](auto& s) { hp::detail::add_tensor_2d(s, "a", "b"); }));
static_assert(part_of<hp::summa_parallel<"a", "b">>() == rules_of([](auto& s) { hp::detail::add_summa(s, "a", "b"); }));
static_assert(part_of<hp::context_parallel<"a">>() ==
              rules_of([](auto& s) { hp::detail::add_gathered_context(s, "a"); }));
static_assert(part_of<hp::context_parallel<"a", hp::context_method::all_to_all>>() ==
              rules_of([](auto& s) { hp::detail::add_ulysses(s, "a"); }));
static_assert(part_of<hp::context_parallel<"a", hp::context_method::ring>>() ==
              rules_of([](auto& s) { hp::detail::add_ring(s, "a"); }));
static_assert(part_of<hp::expert_parallel<"a">>() == rules_of([](auto& s) { hp::add_expert_parallel(s, "a"); }));
static_assert(part_of<hp::replicated_expert_parallel<"a">>() ==
              rules_of([](auto& s) { hp::detail::add_replicated_expert_parallel(s, "a"); }));
static_assert(part_of<hp::column_parallel<"*.up", "a">>() ==
              rules_of([](auto& s) { hp::detail::add_column_parallel(s, "*.up", "a"); }));
static_assert(part_of<hp::row_parallel<"*.down", "a">>() ==
              rules_of([](auto& s) { hp::detail::add_row_parallel(s, "*.down", "a"); }));
static_assert(!part_of<hp::reduce_at_update>().reduce_at_once);
static_assert(part_of<hp::keep_moved_activations>().keep_moved);
static_assert(part_of<hp::pin<"*.norm.weight", hp::none>>().pin[0].rank == 1 &&
              hp::detail::same_text(part_of<hp::pin<"*.norm.weight", hp::none>>().pin[0].axis[0].text, ""));
static_assert(hp::detail::same_text(part_of<hp::pin<"*", hp::none, "a">>().pin[0].axis[1].text, "a"));

using both = hp::strategy<square, hp::data_parallel<"a">, hp::tensor_parallel<"b">, hp::reduce_at_update>;
static_assert(hp::strategy_type<both>);
static_assert(!hp::strategy_type<square>);
static_assert(both::value.mesh == square::value && both::value.rule[0].axis == hp::short_text("a"));
static_assert(!both::value.reduce_at_once && both::value.rule.size == 1 + part_of<hp::tensor_parallel<"b">>().rule.size,
              "parts add in order");

TEST(strategy_type, a_type_and_its_name_make_one_program) {
  struct named : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
  using typed = hp::strategy<named, hp::data_parallel<"dp">, hp::tensor_parallel<"tp">, hp::sequence_parallel<"tp">>;
  const hp::strategy_value s = hp::strategy_called("dp-tp", 4).strategy;
  EXPECT_TRUE(typed::value.rule == s.rule);
  EXPECT_TRUE(typed::value.mesh == s.mesh);
  const hp::sharded_program p = hp::partition(programs::moe_graph({}), typed::value);
  EXPECT_EQ(p.status, hp::strategy_status{});
}

TEST(strategy_type, a_part_may_be_any_type_that_adds) {
  struct norms_whole {
    static constexpr void add(hp::strategy_value& s) { s.pin.push({"*norm.weight", 1, {""}}); }
  };
  using pinned = hp::strategy<line, hp::fully_sharded<"a">, norms_whole>;
  const hp::graph g = programs::moe_graph({});
  const hp::sharded_program p = hp::partition(g, pinned::value);
  ASSERT_EQ(p.status, hp::strategy_status{});
  int norms = 0;
  for (int t = 0; t < p.home.size; ++t)
    if (p.graph.tensor[t].kind == hp::graph_tensor_kind::parameter && p.home[t] >= 0) {
      const bool norm = hp::detail::name_matches("*norm.weight", p.graph.name_of_tensor(t));
      EXPECT_EQ(p.value[p.home[t]].layout.cut_count, norm ? 0 : 1) << p.graph.name_of_tensor(t);
      norms += norm;
    }
  EXPECT_EQ(norms, 3);
}

}  // namespace
