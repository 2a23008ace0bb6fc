// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of `train_step`: a model, a strategy, an optimizer, hardware, options. One that is missing, or stands in
// another's place, is one error line that names the place and what was given.

#include <concepts>
#include <type_traits>

#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/graph/optimizer_value.hpp>
#include <hyperparallel/graph/recomputation.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/lowering/run_times.hpp>
#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/step/step_offload.hpp>
#include <hyperparallel/strategy/strategy_type.hpp>
#include <hyperparallel/support/diagnostic.hpp>
#include <hyperparallel/support/proof.hpp>
#include <hyperparallel/support/withheld.hpp>
#include <hyperparallel/tiles/tile_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr int max_recomputed_patterns = 8;
inline constexpr int max_kept_values = 8;
inline constexpr int max_tiled_patterns = 8;

enum class pipeline_code : unsigned char;
enum class stage_cut_code : unsigned char;
enum class unroll_code : unsigned char;

/// Why the stages of a step do not fit: the one of the codes that is not ok, and what was given and expected.
struct step_stages_status {
  pipeline_code schedule{};
  stage_cut_code cut{};
  unroll_code rows{};
  int given = 0, expected = 0;
  constexpr bool ok() const { return *this == step_stages_status{}; }
  friend constexpr bool operator==(const step_stages_status&, const step_stages_status&) = default;
};

/// The pipeline of a step, which pipelined_step.hpp fills in.
/// Invariant: whether the pointers are set is what `of_parts` and `devices` say, and is asked of these alone: to g++ no
/// comparison of a function's address is constant where null pointers are kept, as with `-fsanitize=undefined`.
struct step_pipeline {
  int ranks = 1;          ///< groups, each with the strategy's mesh, or with that of its own strategy
  int devices = 0;        ///< of groups with strategies of their own, together
  bool of_parts = false;  ///< there is a pipeline: the program is `partition`'s, its account and offload are of parts
  growing_array<strategy_value> (*strategies)() = nullptr;  ///< of the groups, where `devices` is not 0
  static_vector<int, 64> layers{};                          ///< of each stage; none: as many for each, but for one
  sharded_program (*partition)(const graph&, const strategy_value&, const step_pipeline&,
                               step_stages_status&) = nullptr;
  /// The strategy of a group that has its own; of any other, as of -1, that of the step.
  constexpr strategy_value strategy_of(int group, const strategy_value& all) const {
    return group < 0 || devices == 0 ? all : strategies()[group];
  }
  constexpr int devices_with(const strategy_value& all) const {
    return devices > 0 ? devices : position_count(all.mesh.shape) * ranks;
  }
  step_account (*account)(const sharded_program&, const program_moves&, const device_value&) = nullptr;
  step_offload (*offload)(const sharded_program&, const program_moves&, const storage_uses&, const device_value&,
                          const step_offload_settings&) = nullptr;
};

/// Law: the settings that do not name types leave them as they are, bf16: a step written out has the types and bytes of
/// the folded one.
struct step_settings {
  build_options_in<data_type::bf16> build{};
  int micro_batches = 1;
  static_vector<short_text, max_recomputed_patterns> recomputed{};
  spared_patterns spared{};                                ///< of what is recomputed, operators whose results are kept
  static_vector<const char*, max_kept_values> kept{};      ///< tensors that a world can read after a step
  static_vector<const char*, max_tiled_patterns> tiles{};  ///< patterns of operators that are computed in tiles
  int most_tiles = tile_options{}.most;                    ///< of one of them
  int lookahead = 0;                                       ///< steps by which moves may run ahead
  extent_t lookahead_memory = 0;  ///< bytes within which the fastest lookahead is chosen; 0: none is
  bool vector_queue = false;      ///< vector operators on a queue of their own
  step_offload_settings offload{};
  step_pipeline pipeline{};
};

/// A model: any type that builds a graph.
template <class Model>
concept model_type = requires(model_builder& m) { Model::build(m); };

/// An option of a step: `accumulating<2>`, `operators<builtin, mine>`.
template <class Option>
concept step_option = requires(step_settings& s) { Option::apply(s); };

/// What an option sets that no second option may: its member `sets`.
template <fixed_string Name>
struct setting {};

namespace detail {

/// Builds the model; without operators each is a mistake that does not stop the build, which costs next to nothing.
template <bool WithOperators, class Model, class... Options>
constexpr bool builds() {
  build_options how{.operators = {}};
  if constexpr (WithOperators) {
    step_settings s;
    (Options::apply(s), ...);
    how = s.build;
  }
  model_builder m(how);
  Model::build(m);
  return true;
}

}  // namespace detail

/// Whether the compiler can run the build of a model: it, and what it calls, are constexpr and do nothing undefined. A
/// build that cannot do without the results of its operators is asked with them.
template <class Model, class... Options>
concept constant_build = requires { typename std::bool_constant<detail::builds<false, Model, Options...>()>; } ||
                         requires { typename std::bool_constant<detail::builds<true, Model, Options...>()>; };

/// An optimizer as a type: `sgd`, `adamw`, `muon`, or a struct with a `value` of its own.
template <class Optimizer>
concept optimizer_type = requires { optimizer_value(Optimizer::value); };

/// In an error line: no argument stands there.
struct no_argument {};

namespace diag {
template <class Given>
struct first_argument_of_a_step_is_no_model;
template <class Model>
struct build_of_a_model_is_not_constant;
template <class Given>
struct second_argument_of_a_step_is_no_strategy;
template <class Given>
struct third_argument_of_a_step_is_no_optimizer;
template <class Given>
struct fourth_argument_of_a_step_is_no_hardware;
template <class Given>
struct option_of_a_step_is_no_option;
template <class First, class Second>
struct two_options_of_a_step_set_the_same;
}  // namespace diag

namespace detail {

template <class...>
struct first_that_is_no_option;
template <class Option, class... Rest>
struct first_that_is_no_option<Option, Rest...> {
  using type = diag::option_of_a_step_is_no_option<Option>;
};
template <step_option Option, class... Rest>
struct first_that_is_no_option<Option, Rest...> : first_that_is_no_option<Rest...> {};

template <class One, class Other>
inline constexpr bool sets_the_same = false;
template <class One, class Other>
  requires std::same_as<typename One::sets, typename Other::sets>
inline constexpr bool sets_the_same<One, Other> = true;

/// The first of the others that sets the same as `One`; `accepted` where none does.
template <class One, class... Others>
struct twin_of_option : std::type_identity<accepted> {};
template <class One, class Other, class... Rest>
struct twin_of_option<One, Other, Rest...>
    : std::conditional_t<sets_the_same<One, Other>,
                         std::type_identity<diag::two_options_of_a_step_set_the_same<One, Other>>,
                         twin_of_option<One, Rest...>> {};

/// The first two options that set the same.
template <class...>
struct options_that_set_the_same : std::type_identity<accepted> {};
template <class First, class... Rest>
struct options_that_set_the_same<First, Rest...>
    : std::conditional_t<std::same_as<typename twin_of_option<First, Rest...>::type, accepted>,
                         options_that_set_the_same<Rest...>, twin_of_option<First, Rest...>> {};

}  // namespace detail

/// Whether no two options set the same.
template <class... Options>
concept options_of_one_step = std::same_as<typename detail::options_that_set_the_same<Options...>::type, accepted>;

namespace detail {

/// The first argument that is none of its kind.
template <class Model, class Strategy = no_argument, class Optimizer = no_argument, class Hardware = no_argument,
          class... Options>
struct step_arguments_verdict {
  static constexpr auto choose() {
    if constexpr (!model_type<Model>)
      return std::type_identity<diag::first_argument_of_a_step_is_no_model<Model>>{};
    else if constexpr (!strategy_type<Strategy>)
      return std::type_identity<diag::second_argument_of_a_step_is_no_strategy<Strategy>>{};
    else if constexpr (!optimizer_type<Optimizer>)
      return std::type_identity<diag::third_argument_of_a_step_is_no_optimizer<Optimizer>>{};
    else if constexpr (!hardware_type<Hardware>)
      return std::type_identity<diag::fourth_argument_of_a_step_is_no_hardware<Hardware>>{};
    else if constexpr (!(step_option<Options> && ...))
      return first_that_is_no_option<Options...>{};
    else if constexpr (!options_of_one_step<Options...>)
      return options_that_set_the_same<Options...>{};
    else if constexpr (!constant_build<Model, Options...>)
      return std::type_identity<diag::build_of_a_model_is_not_constant<Model>>{};
    else
      return std::type_identity<accepted>{};
  }
  using type = typename decltype(choose())::type;
};

/// Not asked, and no assertion fails by it: as a `proof` it is none.
struct proof_of_a_refused_step : proof {
  explicit constexpr operator bool() const { return true; }
};

/// What a refused step still has, so that no error follows from the first: it is within every limit. No program holds
/// these values, because no program with a refused step compiles.
struct step_that_is_refused {
  static constexpr step_account account{};
  static constexpr withheld parameters{}, peak{};
  static constexpr proof_of_a_refused_step verified{}, lawful{};
  static constexpr step_offload offload{};
  static constexpr run_times clock{};
};

template <class Step>
inline constexpr bool is_refused_step = std::is_base_of_v<step_that_is_refused, Step>;

}  // namespace detail

}}  // namespace hyperparallel::v0_2
