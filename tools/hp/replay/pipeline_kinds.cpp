// SPDX-License-Identifier: Apache-2.0
// The bodies of pipeline_kinds.hpp: a unit of its own, for no other kind knows pipelines.

#include "pipeline_kinds.hpp"

#include <hyperparallel/pipeline/replay.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "pipeline_reading.hpp"

namespace replay {
namespace {

/// F, I and W of `cost`, of which B, where it is stated, is I and W.
hp::pipeline_costs pipeline_costs_of(const json& cost) {
  const auto time = [&](const char* name) { return whole_number_of(member(cost, name)); };
  const hp::stage_times t{time("F"), time("I"), time("W")};
  if (cost.contains("B") && time("B") != t.backward()) throw malformed_vector("B is not I + W");
  return hp::equal_stages(t);
}

std::vector<int> peaks_of(const hp::pipeline_account& a, int hp::rank_account::* peak) {
  std::vector<int> all;
  for (const hp::rank_account& r : a.rank) all.push_back(r.*peak);
  return all;
}

/// Figures of ours held against fields of a vector; the first that differs is the reason.
class held_figures {
 public:
  explicit held_figures(const json& v) : v_(v) {}
  template <class Value>
  void hold(const char* field, const Value& ours) {
    const json& theirs = member(v_, field);
    if (why_.empty() && theirs != json(ours)) why_ = std::string(field) + " is " + json(ours).dump() + " here";
  }
  void hold_peaks(const hp::pipeline_account& a) {
    hold("peak_activations_until_W", peaks_of(a, &hp::rank_account::peak_until_weight_gradient));
    hold("peak_activations_until_I", peaks_of(a, &hp::rank_account::peak_until_input_gradient));
  }
  verdict result() const { return pass_if(why_.empty(), why_); }

 private:
  const json& v_;
  std::string why_{};
};

}  // namespace

verdict replay_closed_form(const json& v) {
  const std::string name = member(v, "schedule").get<std::string>();
  const bool overlaps = name == "DualPipeV";
  const made_schedule made = make_schedule(name, pipeline_shape_of(v), false);
  hp::pipeline_costs costs = pipeline_costs_of(member(v, "cost"));
  costs.latency = overlaps ? 0 : whole_number_of(member(v, "comm"));
  if (overlaps) costs.overlapped_pair = whole_number_of(member(v, "overlap_FB"));
  if (!made.why.empty()) return fail(made.why);
  const hp::pipeline_account a = hp::replay(made.schedule, costs);
  if (!a.ok()) return fail(hp::to_text(a.status));
  held_figures held(v);
  held.hold("makespan", a.makespan);
  std::int64_t in_formula = a.bubble_of_span();
  if (overlaps) {
    std::int64_t most = 0, least = a.makespan;
    for (const hp::rank_account& r : a.rank) {
      most = std::max(most, a.makespan - r.busy);
      least = std::min(least, a.makespan - r.busy);
    }
    held.hold("max_idle", most);
    held.hold("min_idle", least);
    held.hold("peak_activations_until_W", peaks_of(a, &hp::rank_account::peak_until_weight_gradient));
    in_formula = most;
  } else {
    held.hold("longest_rank_span", a.longest_rank_span);
    held.hold("ideal", a.ideal);
    held.hold("bubble_makespan", a.bubble());
    held.hold("bubble_span", a.bubble_of_span());
    held.hold_peaks(a);
  }
  verdict r = held.result();
  if (!v.contains("closed_value")) return r;
  const bool agrees = v["closed_value"] == in_formula;
  if (r.outcome == outcome::passed) {
    held.hold("closed_matches", agrees);
    r = held.result();
  }
  if (r.outcome == outcome::passed && !agrees)
    r.note = name + ": the published formula " + text_of(v, "closed_form") + " differs from the replay";
  return r;
}

verdict replay_torch_csv(const json& v) {
  const hp::pipeline_shape n = pipeline_shape_of(v);
  const std::string theirs = torch_file_of(member(v, "compute_only").get<std::string>());
  const hp::stage_placement placement = placement_of(v);
  const made_schedule made = make_schedule(member(v, "schedule").get<std::string>(), n, true);
  if (!made.why.empty()) return fail(made.why);
  if (hp::write_torch_table(hp::torch_table_of(made.schedule)) != theirs) return fail("our table differs");
  const hp::torch_table table = hp::parse_torch_table(theirs);
  if (hp::write_torch_table(table) != theirs) return fail("what was read is written otherwise");
  const hp::torch_schedule read = hp::schedule_of(table, placement, n.micro_batches);
  if (!read.status.ok()) return fail(hp::to_text(read.status));
  const hp::pipeline_status status = hp::check_schedule(read.schedule);
  return pass_if(status.ok(), hp::to_text(status));
}

verdict replay_torch_defect(const json& v) {
  const int ranks = whole_of(v, "ranks"), micro_batches = whole_of(v, "microbatches");
  replayable({ranks, 1, micro_batches});
  std::string rows;
  for (int r = 0; r < ranks; ++r) {
    rows += r > 0 ? "\n" : "";
    const char* comma = "";
    for (const json& action : member(member(v, "ir"), std::to_string(r).c_str())) {
      rows += comma + action.get<std::string>();
      comma = ",";
    }
  }
  const hp::pipeline_status status =
      hp::schedule_of(hp::parse_torch_table(rows), hp::stage_placement::loop, micro_batches).status;
  const bool named = status.code == hp::pipeline_code::action_is_missing && status.rank == ranks - 1 &&
                     status.action == hp::pipeline_action{hp::action_kind::forward, ranks - 1, 0};
  verdict r = pass_if(named, "the answer is: " + hp::to_text(status));
  if (named) r.note = "refused: " + hp::to_text(status);
  return r;
}

verdict replay_zero_bubble_table(const json& v) {
  // Milliseconds of three decimals are whole microseconds.
  const auto time = [&](const char* name) {
    return static_cast<std::int64_t>(std::llround(member(v, name).get<double>() * 1000));
  };
  const hp::pipeline_shape n = replayable({whole_of(v, "ranks"), 1, whole_of(v, "microbatches")});
  const hp::pipeline_costs costs = hp::equal_stages({time("T_F"), time("T_B_input"), time("T_W")}, time("T_comm"));
  const json& paper = member(v, "paper");
  for (const char* name : {"1F1B", "ZB-H1", "ZB-H2"}) {
    const made_schedule made = make_schedule(name, n, false);
    if (!made.why.empty()) return fail(made.why);
    const hp::pipeline_account a = hp::replay(made.schedule, costs);
    if (!a.ok()) return fail(hp::to_text(a.status));
    const double rate = static_cast<double>(a.bubble_of_span()) / static_cast<double>(a.longest_rank_span);
    if (std::llround(rate * 1e4) != std::llround(member(paper, name).get<double>() * 1e4))
      return fail(fmt::format("{}: rate {:.4f} here", name, rate));
  }
  require(paper, {"ZB-1p", "ZB-2p"});
  verdict r = pass();
  r.note = "1F1B, ZB-H1, ZB-H2 at four decimals; ZB-1p, ZB-2p not tried: need a search";
  return r;
}

verdict replay_v_schedule(const json& v) {
  const hp::pipeline_shape n = pipeline_shape_of(v);
  const hp::pipeline_costs costs = pipeline_costs_of(member(v, "cost"));
  const std::string mode = member(v, "mode").get<std::string>();
  if (mode != "V-min" && mode != "V-half") return fail("unknown mode '" + mode + "'");
  if (member(v, "placement") != "v") return fail("the stages do not lie there and back");
  require(v, {"longest_rank_span", "peak_activations_until_W", "peak_activations_until_I"});
  const int most = 2 * whole_of(v, "closed_form_peak_microbatches");
  const made_schedule made = make_schedule(mode, n, false);
  if (!made.why.empty()) return fail(made.why);
  const hp::pipeline_account ours = hp::replay(made.schedule, costs);
  if (!ours.ok()) return fail(hp::to_text(ours.status));
  if (ours.peak_until_weight_gradient() > most)
    return fail("the peak is " + std::to_string(ours.peak_until_weight_gradient()) + " here");
  if (ours.longest_rank_span > whole_number_of(member(v, "longest_rank_span")))
    return fail("the longest rank takes " + std::to_string(ours.longest_rank_span) + " here");
  if (member(v, "csv").is_null()) return pass();
  const hp::torch_table table = hp::parse_torch_table(v["csv"].get<std::string>());
  const hp::torch_schedule read = hp::schedule_of(table, hp::stage_placement::v, n.micro_batches);
  if (!read.status.ok()) return fail(hp::to_text(read.status));
  const hp::pipeline_account theirs = hp::replay(read.schedule, costs);
  if (!theirs.ok()) return fail(hp::to_text(theirs.status));
  held_figures held(v);
  held.hold("longest_rank_span", theirs.longest_rank_span);
  held.hold_peaks(theirs);
  return held.result();
}

verdict skip_pipeline_search(const json& v) {
  require(v, {"ranks", "microbatches"});
  if (text_of(v, "kind") == "exhaustive_optimum") {
    require(v, {"cost_F_I_W_per_rank", "comm", "memory_cap_in_microbatches_until_W"});
  } else {
    require(v, {"mem", "memory_limit_in_pMB", "longest_rank_span"});
    pipeline_costs_of(member(v, "cost"));
  }
  return skip("not tried: needs a search");
}

}  // namespace replay
