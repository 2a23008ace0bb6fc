// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sharding plan applied to named tensors and functions.
//
//   using plan = hp::sharding_plan<hp::plan_parameter<"up.*", columns>, hp::plan_parameter<"down.*", rows>,
//                                  hp::plan_activations<"ffn.input", whole>, hp::plan_activations<"ffn.output",
//                                  whole>>;
//   auto sharded = hp::shard<plan>(mlp);             // parameters redistributed
//   auto y = sharded.call<"ffn">(x);                 // x redistributed on the way in, the result on the way out
//
// What graph/sharding_plan.hpp refuses is one error line that names the key; the run-time twin, `shard(map, plan)`,
// throws the same words.

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/named_set.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace diag {
template <sharding_plan_code, class Key>
struct sharding_plan_does_not_fit;
}  // namespace diag

namespace detail {

template <class Plan, int Entry>
struct key_spelling {
  static constexpr const char* text = Plan::entry[Entry].key;
  static constexpr int length = text_length(text);
};

template <class Plan, class Names>
struct plan_check {
  static constexpr sharding_plan_status status = check_plan(Plan::entry, Plan::count, Names::all);
  template <sharding_plan_code Code, class = void>
  struct choose {
    using type = diag::sharding_plan_does_not_fit<Code, spelled<alias, key_spelling<Plan, status.entry>>>;
  };
  template <class Unused>
  struct choose<sharding_plan_code::ok, Unused> {
    using type = accepted;
  };
  using type = typename choose<status.code>::type;
};

}  // namespace detail

/// Whether the plan fits a set of members of these types; silent when not.
template <class Plan, class... Members>
concept plans =
    check_plan(Plan::entry, Plan::count, detail::member_names<Members...>::all).code == sharding_plan_code::ok;

namespace detail {

template <class Plan, class Member>
auto planned_member(const Member& m) {
  if constexpr (Member::is_parameter) {
    constexpr int entry = entry_of_parameter(Plan::entry, Plan::count, Member::name.text);
    if constexpr (entry < 0)
      return m;
    else
      return parameter<Member::name>(m.value.template redistribute<typename Plan::template at<entry>::layout>());
  } else {
    return m;
  }
}

}  // namespace detail

/// The set with its parameters in the plan's layouts, and the plan for its functions.
template <class Plan, class Former, class... Members>
auto shard(const basic_named_set<Former, Members...>& set) {
  using check = detail::plan_check<Plan, detail::member_names<Members...>>;
  static_assert(insist<typename check::type>::met);
  if constexpr (check::status.code != sharding_plan_code::ok)
    return set;
  else
    return std::apply(
        [](const auto&... member) {
          return basic_named_set<Plan, decltype(detail::planned_member<Plan>(member))...>(
              detail::planned_member<Plan>(member)...);
        },
        set.members());
}

/// A plan entry does not fit the names.
struct sharding_plan_error : dtensor_error {
  sharding_plan_status status;
  sharding_plan_error(const sharding_plan_status& s, const std::string& key);
};

/// Layouts by pattern, in order, for tensors whose names and layouts are known at run time.
using dynamic_sharding_plan = std::vector<std::pair<std::string, layout_value>>;

/// The tensors in the plan's layouts. Throws sharding_plan_error, and move_error where a layout does not fit a tensor.
std::map<std::string, dynamic_dtensor> shard(const std::map<std::string, dynamic_dtensor>& tensors,
                                             const dynamic_sharding_plan& plan);

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/dtensor/sharded_set.ipp>
#endif
