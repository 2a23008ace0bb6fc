// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which error line a step has that cannot be: its refusal (refusal.hpp) as a type, or `accepted`.

#include <hyperparallel/step/refusal.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

template <bool IsTensor, class Names>
struct refused_place {
  using type = typename Names::op;
};
template <class Names>
struct refused_place<true, Names> {
  using type = typename Names::tensor;
};

template <bool HasPattern, class Names, class... Strategies>
struct unmatched_rule {
  using type =
      diag::rule_matches_no_operator<typename Names::axis, typename Names::dim,
                                     quoted<dims_there_are, typename Names::template list<&step_refusal::dims>>,
                                     Strategies...>;
};
template <class Names, class... Strategies>
struct unmatched_rule<true, Names, Strategies...> {
  using type =
      diag::pattern_matches_no_operator<typename Names::pattern, typename Names::nearest,
                                        operators_there_are<static_cast<int>(Names::why.extent)>, Strategies...>;
};
template <bool HasStrategies, bool HasPattern, class Names>
struct unmatched_strategy : unmatched_rule<HasPattern, Names> {};
template <bool HasPattern, class Names>
struct unmatched_strategy<true, HasPattern, Names>
    : unmatched_rule<HasPattern, Names,
                     quoted<strategies_that_match, typename Names::template list<&step_refusal::strategies>>> {};

template <bool HasNearest, class Names>
struct unmatched_pin {
  using type = diag::pin_does_not_fit<strategy_code::pattern_matches_nothing, typename Names::tensor>;
};
template <class Names>
struct unmatched_pin<true, Names> {
  using type =
      diag::pin_does_not_fit<strategy_code::pattern_matches_nothing, typename Names::tensor, typename Names::nearest>;
};

template <class Evaluated>
struct refused_names {
  static constexpr step_refusal why = Evaluated::result.refusal;
  template <refusal_text step_refusal::* Member>
  struct part {
    static constexpr const auto& text = (why.*Member).text;
    static constexpr int length = (why.*Member).length;
  };
  template <refusal_list step_refusal::* Member>
  struct list {
    static constexpr const auto& text = (why.*Member).joined.text;
    static constexpr int length = (why.*Member).joined.length;
  };
  using axis = spelled<axes_named, part<&step_refusal::axis>>;
  using dim = spelled<named_dim, part<&step_refusal::dim>>;
  using op = spelled<named_operator, part<&step_refusal::op>>;
  using tensor = spelled<named_tensor, part<&step_refusal::tensor>>;
  using type_name = spelled<operator_type_named, part<&step_refusal::tensor>>;
  using name = spelled<strategy_named, part<&step_refusal::name>>;
  using pattern = spelled<pattern_named, part<&step_refusal::pattern>>;
  using nearest = spelled<nearest_name, part<&step_refusal::nearest>>;
};

template <class Evaluated, refusal_kind Kind, strategy_code Code>
struct refused_step {
  using names = refused_names<Evaluated>;
  using type = diag::pin_does_not_fit<Code, typename names::tensor>;
};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::nothing, strategy_code::ok> {
  using type = accepted;
};
template <graph_code Code, class Names>
struct refused_model {
  using type = diag::model_cannot_be_built<Code, typename Names::op, typename Names::tensor, extent<Names::why.extent>,
                                           extent<Names::why.other>>;
};
template <class Names>
struct refused_model<graph_code::operator_is_not_in_the_list, Names> {
  using type = diag::operator_is_not_listed<typename Names::op, typename Names::type_name>;
};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::model, strategy_code::ok>
    : refused_model<Evaluated::result.refusal.graph, refused_names<Evaluated>> {};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::dim_does_not_divide> {
  using names = refused_names<Evaluated>;
  using type = diag::dim_is_not_divisible_by_its_axis<typename names::dim, extent<names::why.extent>,
                                                      typename names::axis, shards<names::why.other>,
                                                      typename refused_place<names::why.op.length == 0, names>::type>;
};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::pin_has_wrong_rank> {
  using names = refused_names<Evaluated>;
  using type = diag::pin_does_not_fit<strategy_code::pin_has_wrong_rank, typename names::tensor,
                                      map_entries<static_cast<int>(names::why.other)>,
                                      tensor_dims<static_cast<int>(names::why.extent)>>;
};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::pattern_matches_nothing> {
  using names = refused_names<Evaluated>;
  using type = typename unmatched_pin<names::why.nearest.length != 0, names>::type;
};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::pin_names_an_axis_twice> {
  using names = refused_names<Evaluated>;
  using type =
      diag::pin_does_not_fit<strategy_code::pin_names_an_axis_twice, typename names::tensor, typename names::axis>;
};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::rule_matches_nothing> {
  using names = refused_names<Evaluated>;
  using type = typename unmatched_strategy<names::why.strategies.joined.length != 0, names::why.pattern.length != 0,
                                           names>::type;
};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::axis_is_not_in_the_mesh> {
  using names = refused_names<Evaluated>;
  struct mesh {
    static constexpr const mesh_value& value = names::why.mesh;
  };
  using there = typename axis_names_of<mesh, typename make_indices<mesh::value.shape.axis_count>::type>::there;
  using type = diag::strategy_names_an_axis_that_the_mesh_lacks<typename names::axis, typename names::nearest, there>;
};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::name_is_unknown> {
  using names = refused_names<Evaluated>;
  using type = diag::no_strategy_has_this_name<typename names::name, typename names::nearest>;
};
template <class Evaluated, strategy_code Code>
struct invalid_strategy {
  static constexpr step_refusal why = Evaluated::result.refusal;
  using type = diag::strategy_is_not_valid<Code, extent<why.extent>, extent<why.other>>;
};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::strategies_for_other_groups>
    : invalid_strategy<Evaluated, strategy_code::strategies_for_other_groups> {};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::ranks_do_not_factor>
    : invalid_strategy<Evaluated, strategy_code::ranks_do_not_factor> {};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::mesh_is_not_valid>
    : invalid_strategy<Evaluated, strategy_code::mesh_is_not_valid> {};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::too_many_rules>
    : invalid_strategy<Evaluated, strategy_code::too_many_rules> {};
template <class Evaluated>
struct refused_step<Evaluated, refusal_kind::strategy, strategy_code::ring_axis_does_not_shard_the_sequence> {
  using names = refused_names<Evaluated>;
  using type = diag::ring_axis_does_not_shard_the_sequence<typename names::axis, typename names::op>;
};

template <class Evaluated>
struct step_verdict : refused_step<Evaluated, Evaluated::result.refusal.kind, Evaluated::result.refusal.strategy> {};

/// Of the stages of a pipeline; `Status` is a `step_stages_status`.
template <auto Status>
struct stages_verdict {
  template <auto Code>
  using refused = diag::stages_of_a_step_do_not_fit<Code, stages_given<Status.given>, stages_expected<Status.expected>>;
  static constexpr auto choose() {
    using code_of_schedule = decltype(Status.schedule);
    using code_of_cut = decltype(Status.cut);
    if constexpr (Status.ok())
      return std::type_identity<accepted>{};
    else if constexpr (Status.schedule != code_of_schedule{})
      return std::type_identity<refused<Status.schedule>>{};
    else if constexpr (Status.cut != code_of_cut{})
      return std::type_identity<refused<Status.cut>>{};
    else
      return std::type_identity<refused<Status.rows>>{};
  }
  using type = typename decltype(choose())::type;
};

template <proof_state State, int Devices, int Asked>
struct laws_verdict {
  using type = diag::laws_are_not_proved<State, devices_of_the_mesh<Devices>, devices_asked<Asked>>;
};
template <int Devices, int Asked>
struct laws_verdict<proof_state::proved, Devices, Asked> {
  using type = accepted;
};

template <proof_state State, auto Code, auto Size>
struct step_plan_verdict {
  using type = diag::plan_is_not_proved<State, Code, steps_of_the_plan<Size.steps>, tasks_of_the_plan<Size.tasks>>;
};
template <auto Code, auto Size>
struct step_plan_verdict<proof_state::proved, Code, Size> {
  using type = accepted;
};

template <bool Enough, extent_t Needed, extent_t Given>
struct memory_verdict {
  using type = diag::memory_is_exceeded<bytes_needed<Needed>, bytes_given<Given>>;
};
template <extent_t Needed, extent_t Given>
struct memory_verdict<true, Needed, Given> {
  using type = accepted;
};

}}}  // namespace hyperparallel::v0_2::detail
