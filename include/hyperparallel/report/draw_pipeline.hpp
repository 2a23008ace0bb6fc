// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline schedule as boxes on a time axis, one row a rank, with the curve of what the rank holds. From it come the text
// (draw_pipeline_text.hpp), the SVG drawing (draw_pipeline_svg.hpp) and the trace (trace_pipeline.hpp).
//
//   std::fputs(hp::report::draw_pipeline_text(hp::report::drawing_of(schedule, costs)).c_str(), stdout);
//
// Laws: the boxes of a rank do not overlap and cover its busy time; each action of the schedule is in one box, an overlapped
// pair in one together; a curve's maximum is the account's peak. A schedule that is refused has no drawing.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/report/format_pipeline.hpp>
#include <hyperparallel/report/format_units.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

/// An action where it runs. Of an overlapped pair the F, and `beside` it the I or B.
struct pipeline_box {
  pipeline_action action{}, beside{};
  bool is_pair = false;
  std::int64_t start = 0, end = 0;
  constexpr bool takes_time() const { return start < end; }
};

/// What a rank holds from `time` on.
struct activation_step {
  std::int64_t time = 0, amount = 0;
};

struct pipeline_drawing {
  std::string name;
  int ranks = 0, stages = 0, micro_batches = 0, chunks = 0, copies = 1;
  bool in_bytes = false;           ///< the curves; otherwise in chunks, each held until W or B
  std::vector<int> chunk_of_copy;  ///< of a stage: its place among those of its rank, see pipeline_schedule
  pipeline_account account;
  std::vector<std::vector<pipeline_box>> row;      ///< by rank, in the order of its list
  std::vector<std::vector<activation_step>> held;  ///< by rank, from (0, 0) on

  int chunk_of(const pipeline_action& a) const {
    return chunk_of_copy[static_cast<std::size_t>(a.stage * copies + a.micro_batch / (micro_batches / copies))];
  }
  std::int64_t peak(int rank) const {
    return in_bytes ? account.rank[rank].peak_bytes : account.rank[rank].peak_until_weight_gradient;
  }
  std::int64_t peak() const { return in_bytes ? account.peak_bytes() : account.peak_until_weight_gradient(); }
  std::string amount_text(std::int64_t amount) const {
    return in_bytes ? to_text(byte_count{amount}) : std::to_string(amount);
  }
};

namespace detail {

/// The boxes of one rank and its curve.
inline void draw_row(pipeline_drawing& d, const pipeline_schedule& s, const pipeline_costs& c,
                     const growing_array<std::int64_t>& starts, int rank) {
  std::vector<pipeline_box>& row = d.row.emplace_back();
  std::vector<activation_step>& held = d.held.emplace_back(1);
  const auto change = [&](std::int64_t time, std::int64_t chunks, std::int64_t bytes) {
    held.push_back({time, held.back().amount + (d.in_bytes ? bytes : chunks)});
  };
  std::int64_t clock = 0;
  bool pair_is_open = false;  // its F was the last action
  for (int at = s.first[rank]; at < s.first[rank + 1]; ++at) {
    if (s.action[at] == idle_slot) continue;
    const pipeline_action a = s.coding().action(s.action[at]);
    const stage_times t = entry_of(c.times, s.stages, s.micro_batches, a.stage, a.micro_batch);
    const stage_bytes b = entry_of(c.bytes, s.stages, s.micro_batches, a.stage, a.micro_batch);
    std::int64_t time = 0;
    if (a.kind == action_kind::forward || a.kind == action_kind::overlapped_forward) time = t.forward;
    if (a.kind == action_kind::input_gradient || a.kind == action_kind::backward) time = t.input_gradient;
    if (a.kind == action_kind::weight_gradient || a.kind == action_kind::backward) time += t.weight_gradient;
    if (a.kind == action_kind::recompute) time = c.recompute;
    if (pair_is_open) {
      row.back().beside = a;
      row.back().end = c.overlapped_pair >= 0 ? row.back().start + c.overlapped_pair : row.back().end + time;
    } else {
      // A transfer stands where its rank reaches it.
      const std::int64_t start = larger(clock, starts[at]);
      row.push_back({a, {}, a.kind == action_kind::overlapped_forward, start, start + time});
    }
    pair_is_open = a.kind == action_kind::overlapped_forward;
    clock = row.back().end;
    switch (a.kind) {
      case action_kind::forward:
      case action_kind::overlapped_forward:
      case action_kind::reload:
        change(row.back().start, 1, b.all());
        break;
      case action_kind::input_gradient:
        if (d.in_bytes) change(clock, 0, -b.until_input_gradient);
        break;
      case action_kind::weight_gradient:
        change(clock, -1, -b.until_weight_gradient);
        break;
      case action_kind::backward:
      case action_kind::offload:
        change(clock, -1, -b.all());
        break;
      default:
        break;
    }
  }
}

}  // namespace detail

/// The drawing of `s` under these costs and this transport, see `replay`. Throws std::invalid_argument with the sentence of
/// the refusal where `s` is not safe. O(entries) beside the replay.
inline pipeline_drawing drawing_of(const pipeline_schedule& s, const pipeline_costs& c = {}, transport t = {},
                                   std::string name = "") {
  growing_array<std::int64_t> starts;
  pipeline_drawing d;
  d.account = replay(s, c, t, &starts);
  if (!d.account.ok()) throw std::invalid_argument(to_text(d.account.status));
  d.name = std::move(name);
  d.ranks = s.ranks;
  d.stages = s.stages;
  d.micro_batches = s.micro_batches;
  d.copies = s.copies;
  d.in_bytes = d.account.peak_bytes() > 0;
  std::vector<int> of_rank(static_cast<std::size_t>(s.ranks), 0);
  for (const int rank : s.rank_of_stage) {
    d.chunk_of_copy.push_back(of_rank[static_cast<std::size_t>(rank)]++);
    if (d.chunk_of_copy.back() >= d.chunks) d.chunks = d.chunk_of_copy.back() + 1;
  }
  for (int r = 0; r < s.ranks; ++r) detail::draw_row(d, s, c, starts, r);
  return d;
}

/// "1F1B: 4 ranks, 4 stages, 8 micro-batches"; "4 stages on two ranks each" of a bidirectional schedule.
inline std::string title_of(const pipeline_drawing& d) {
  const auto count = [](int n, const char* what, const char* ending) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : ending);
  };
  return fmt::format("{}{}{}, {}{}, {}", d.name, d.name.empty() ? "" : ": ", count(d.ranks, "rank", "s"),
                     count(d.stages, "stage", "s"), d.copies == 2 ? " on two ranks each" : "",
                     count(d.micro_batches, "micro-batch", "es"));
}

/// Makespan, both bubbles, and the most that a rank holds.
inline std::string figures_of(const pipeline_drawing& d) {
  const pipeline_account& a = d.account;
  return fmt::format("makespan {}, bubble {} ({}), of the longest rank {} ({}); at most {}{} on a rank", a.makespan,
                     a.bubble(), share_text(a.bubble(), a.makespan), a.bubble_of_span(),
                     share_text(a.bubble_of_span(), a.longest_rank_span), d.amount_text(d.peak()),
                     d.in_bytes      ? " of activations"
                     : d.peak() == 1 ? " chunk activation"
                                     : " chunk activations");
}

}}}  // namespace hyperparallel::v0_2::report
