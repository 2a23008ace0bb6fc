// SPDX-License-Identifier: Apache-2.0
#pragma once
// The published schedules as one list, and a schedule by its name at run time.

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <hyperparallel/pipeline/named_schedule.hpp>
#include <hyperparallel/pipeline/schedules/chimera.hpp>
#include <hyperparallel/pipeline/schedules/dual_pipe.hpp>
#include <hyperparallel/pipeline/schedules/dual_pipe_v.hpp>
#include <hyperparallel/pipeline/schedules/eager_1f1b.hpp>
#include <hyperparallel/pipeline/schedules/gpipe.hpp>
#include <hyperparallel/pipeline/schedules/interleaved_1f1b.hpp>
#include <hyperparallel/pipeline/schedules/interleaved_zero_bubble.hpp>
#include <hyperparallel/pipeline/schedules/looped_breadth_first.hpp>
#include <hyperparallel/pipeline/schedules/one_forward_one_backward.hpp>
#include <hyperparallel/pipeline/schedules/sequence_1f1b.hpp>
#include <hyperparallel/pipeline/schedules/v_controllable_memory.hpp>
#include <hyperparallel/pipeline/schedules/zero_bubble_h1.hpp>
#include <hyperparallel/pipeline/schedules/zero_bubble_h2.hpp>
#include <hyperparallel/pipeline/schedules/zero_bubble_v.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

using published_schedules =
    boost::mp11::mp_list<gpipe, one_forward_one_backward, eager_1f1b, interleaved_1f1b, looped_breadth_first,
                         zero_bubble_h1, zero_bubble_h2, interleaved_zero_bubble, zero_bubble_v, dual_pipe_v, dual_pipe,
                         chimera, v_min, v_half>;
namespace detail {

inline constexpr int published_schedule_count = boost::mp11::mp_size<published_schedules>::value;

}  // namespace detail
/// The place of a schedule in the list, and in `schedule_table`.
template <class Schedule>
inline constexpr int schedule_place = boost::mp11::mp_find<published_schedules, Schedule>::value;

namespace detail {

/// A published schedule as the library makes it.
template <class Schedule>
pipeline_schedule generate_in_library(const pipeline_shape& n, bool keep_idle_slots);
template <class Schedule>
constexpr pipeline_schedule generate_published(const pipeline_shape& n, bool keep_idle_slots) {
  HYPERPARALLEL_TWIN(generate_in_library<Schedule>(n, keep_idle_slots));
  return generate<Schedule>(n, keep_idle_slots);
}

struct listed_schedules {
  named_schedule item[static_cast<unsigned>(published_schedule_count)];
};
constexpr listed_schedules make_schedule_table() {
  listed_schedules t{};
  int i = 0;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, published_schedules>>([&](auto one) {
    using schedule = typename decltype(one)::type;
    t.item[i] = schedule_value<schedule>;
    t.item[i++].generate = generate_published<schedule>;
  });
  return t;
}

/// Letters and digits alone, in small letters: "ZB-V" is "zbv".
constexpr char next_letter(const char*& at) {
  for (; *at != 0; ++at) {
    const char c = *at;
    if (c >= 'A' && c <= 'Z') return ++at, static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return ++at, c;
  }
  return 0;
}
constexpr bool same_schedule_name(const char* a, const char* b) {
  for (;;) {
    const char x = next_letter(a), y = next_letter(b);
    if (x != y) return false;
    if (x == 0) return true;
  }
}

}  // namespace detail

inline constexpr detail::listed_schedules schedule_table = detail::make_schedule_table();

/// The schedule that is called `name` here, or by torch (ZBVZeroBubble); capitals and signs do not matter. Null where there
/// is none.
constexpr const named_schedule* schedule_called(const char* name) {
  if (detail::same_schedule_name(name, "ZBVZeroBubble")) name = zero_bubble_v::name;
  for (const named_schedule& s : schedule_table.item)
    if (detail::same_schedule_name(s.name, name)) return &s;
  return nullptr;
}

}}  // namespace hyperparallel::v0_2
