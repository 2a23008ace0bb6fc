// SPDX-License-Identifier: Apache-2.0
// Run-time twins of pipeline/: the published schedules, and replay.
#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

template <class Schedule>
pipeline_schedule generate_in_library(const pipeline_shape& n, bool keep_idle_slots) {
  return generate<Schedule>(n, keep_idle_slots);
}
template pipeline_schedule generate_in_library<gpipe>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<one_forward_one_backward>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<eager_1f1b>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<interleaved_1f1b>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<looped_breadth_first>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<zero_bubble_h1>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<zero_bubble_h2>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<interleaved_zero_bubble>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<zero_bubble_v>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<dual_pipe_v>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<dual_pipe>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<chimera>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<v_min>(const pipeline_shape&, bool);
template pipeline_schedule generate_in_library<v_half>(const pipeline_shape&, bool);

pipeline_account replay_in_library(const pipeline_schedule& s, const pipeline_costs& c, transport t,
                                   growing_array<std::int64_t>* starts) {
  return replay_here(s, c, t, starts);
}

}}}  // namespace hyperparallel::v0_2::detail
