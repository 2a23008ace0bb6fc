// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a refused pipeline says: the template of `diag` that its status selects.

#include <type_traits>

#include <hyperparallel/pipeline/costs.hpp>
#include <hyperparallel/pipeline/schedule.hpp>
#include <hyperparallel/pipeline/transport.hpp>
#include <hyperparallel/support/diagnostic.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <int>
struct stages;
template <int>
struct micro_batches;
template <int>
struct chunks;

namespace diag {

template <int>
struct ranks;
template <int>
struct needed;
template <int>
struct on_rank;
template <char...>
struct action;
template <class Rank, class Action, class Needs>
struct waits;
template <class... Waits>
struct circle;
template <transport_kind>
struct under;

template <class Given>
struct first_argument_of_a_pipeline_is_no_schedule;
template <class Given>
struct option_of_a_pipeline_is_no_option;
template <pipeline_code Code, class Schedule, class... Sizes>
struct pipeline_schedule_does_not_exist;
template <pipeline_code Code, class Schedule, class... Where>
struct pipeline_schedule_is_not_safe;

}  // namespace diag

/// What options of a pipeline fill in. An option is any type with `static constexpr void apply(pipeline_request&)`; one
/// of your own may fill `costs` stage by stage.
struct pipeline_request {
  int stages = 0, micro_batches = 0;
  int chunks = 0;  ///< 0: as many as the schedule insists on, or one
  pipeline_costs costs;
  transport over;
};
template <class Option>
concept pipeline_option = requires(pipeline_request& p) { Option::apply(p); };

namespace detail {

template <class... Options>
struct first_that_is_no_pipeline_option {
  using type = accepted;
};
template <class Option, class... Rest>
struct first_that_is_no_pipeline_option<Option, Rest...> {
  using type = diag::option_of_a_pipeline_is_no_option<Option>;
};
template <pipeline_option Option, class... Rest>
struct first_that_is_no_pipeline_option<Option, Rest...> : first_that_is_no_pipeline_option<Rest...> {};

/// The first argument of a pipeline that is none of its kind.
template <class Schedule, class... Options>
struct pipeline_arguments_verdict {
  using type = diag::first_argument_of_a_pipeline_is_no_schedule<Schedule>;
};
template <schedule_generator Schedule, class... Options>
struct pipeline_arguments_verdict<Schedule, Options...> : first_that_is_no_pipeline_option<Options...> {};

template <class Where>
struct letters_of_action {
  static constexpr action_text spelled = text_of(Where::action);
  static constexpr const char* text = spelled.text;
  static constexpr int length = spelled.length;
};
template <class Where>
using spelled_action = spelled<diag::action, letters_of_action<Where>>;

template <class Evaluated>
struct refused_action {
  static constexpr pipeline_action action = Evaluated::account.status.action;
};
template <class Evaluated, int Link>
struct held_action {
  static constexpr pipeline_action action = Evaluated::account.status.cycle.item[Link].action;
};
template <class Evaluated, int Link>
struct needed_action {
  static constexpr pipeline_action action = Evaluated::account.status.cycle.item[Link].needs;
};

template <class Evaluated, class Links>
struct spelled_circle;
template <class Evaluated, int... Link>
struct spelled_circle<Evaluated, indices<Link...>> {
  using type = diag::circle<
      diag::waits<diag::on_rank<Evaluated::account.status.cycle.item[Link].rank>,
                  spelled_action<held_action<Evaluated, Link>>, spelled_action<needed_action<Evaluated, Link>>>...>;
};

/// `accepted`, or what the status of an evaluated pipeline says of `Schedule`.
template <class Schedule, class Evaluated>
struct pipeline_verdict {
  static constexpr auto choose() {
    constexpr const pipeline_status& status = Evaluated::account.status;
    constexpr pipeline_shape n = Evaluated::requested.shape;
    if constexpr (status.ok())
      return std::type_identity<accepted>{};
    else if constexpr (status.code < pipeline_code::action_is_missing)
      return std::type_identity<diag::pipeline_schedule_does_not_exist<
          status.code, Schedule, diag::ranks<n.ranks>, stages<Evaluated::stages>, chunks<n.chunks>,
          micro_batches<n.micro_batches>, diag::needed<status.needed>>>{};
    else if constexpr (status.code >= pipeline_code::messages_cross)
      return std::type_identity<diag::pipeline_schedule_is_not_safe<
          status.code, Schedule,
          typename spelled_circle<Evaluated, typename make_indices<status.cycle.size>::type>::type,
          diag::under<Evaluated::request().over.kind>>>{};
    else
      return std::type_identity<diag::pipeline_schedule_is_not_safe<status.code, Schedule, diag::on_rank<status.rank>,
                                                                    spelled_action<refused_action<Evaluated>>,
                                                                    diag::needed<status.needed>>>{};
  }
  using type = typename decltype(choose())::type;
};

}  // namespace detail

}}  // namespace hyperparallel::v0_2
