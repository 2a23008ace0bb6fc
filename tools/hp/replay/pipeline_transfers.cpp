// SPDX-License-Identifier: Apache-2.0
// The bodies of pipeline_kinds.hpp that hold transfers: torch's tables with communication, MindSpore's lists.

#include <hyperparallel/pipeline/mindspore_lists.hpp>
#include <hyperparallel/pipeline/parameter_actions.hpp>
#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/replay.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "../transport_names.hpp"
#include "pipeline_kinds.hpp"
#include "pipeline_reading.hpp"

namespace replay {
namespace {

constexpr int most_unsharded = 3;  // torch's

/// The cells of `table` that `kept` holds of.
template <class Kept>
hp::torch_table cells_of(hp::torch_table table, const Kept& kept) {
  for (hp::torch_table::row& row : table.rows)
    row.erase(std::remove_if(row.begin(), row.end(), [&](const auto& cell) { return !cell || !kept(cell->kind); }),
              row.end());
  return table;
}

bool is_sharding(hp::action_kind k) { return k == hp::action_kind::unshard || k == hp::action_kind::reshard; }

/// Why the stages of `table` are not unsharded where they compute, or more than three are at once; empty: they are.
std::string why_not_unsharded(const hp::torch_table& table) {
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    std::set<int> unsharded;
    const std::string rank = "rank " + std::to_string(r);
    for (const auto& cell : table.rows[r]) {
      if (!cell) continue;
      const std::string action = rank + " runs " + hp::to_text(*cell);
      if (cell->kind == hp::action_kind::unshard && !unsharded.insert(cell->stage).second) return action + " twice";
      if (cell->kind == hp::action_kind::reshard && unsharded.erase(cell->stage) == 0) return action + " unasked";
      if (hp::is_compute(cell->kind) && unsharded.count(cell->stage) == 0) return action + " of a sharded stage";
      if (unsharded.size() > most_unsharded) return action + " with too many stages unsharded";
    }
    if (!unsharded.empty()) return rank + " ends with an unsharded stage";
  }
  return "";
}

constexpr struct {
  const char* word;
  hp::action_kind kind;
} words_of_lists[] = {{"F", hp::action_kind::forward},        {"B", hp::action_kind::backward},
                      {"sF", hp::action_kind::send_forward},  {"rF", hp::action_kind::receive_forward},
                      {"sB", hp::action_kind::send_backward}, {"rB", hp::action_kind::receive_backward}};

/// "sF2.0": the send of the forward of stage 2 and micro-batch 0.
hp::pipeline_action action_of_list(const std::string& text, const hp::pipeline_schedule& s) {
  for (const auto& [word, kind] : words_of_lists) {
    hp::pipeline_action a{kind, 0, 0};
    int read = 0;
    if (std::sscanf(text.c_str(), (std::string(word) + "%9d.%9d%n").c_str(), &a.stage, &a.micro_batch, &read) != 2 ||
        read != static_cast<int>(text.size()))
      continue;
    if (a.stage < 0 || a.stage >= s.stages || a.micro_batch < 0 || a.micro_batch >= s.micro_batches) break;
    return a;
  }
  throw malformed_vector("'" + text + "' is no action of a list");
}

/// Lists of ranks by number: {"0": "F0.0 sF0.0 rB0.0 B0.0", …}.
hp::pipeline_schedule lists_of(const json& order, const hp::pipeline_shape& n) {
  hp::pipeline_schedule s = hp::empty_schedule(n, hp::stage_placement::loop);
  if (!order.is_object() || order.size() != static_cast<std::size_t>(n.ranks))
    throw malformed_vector("'order' has no list for each rank");
  for (int r = 0; r < n.ranks; ++r) {
    std::istringstream words(member(order, std::to_string(r).c_str()).get<std::string>());
    for (std::string word; words >> word;) s.action.push(s.coding().code(action_of_list(word, s)));
    s.first.push(s.action.size);
  }
  return s;
}

/// Whether `status` names a backward that stands before its receive on its own rank.
bool names_backward_before_receive(const hp::pipeline_schedule& s, const hp::pipeline_status& status) {
  const hp::pipeline_action a = status.action;
  if (status.code != hp::pipeline_code::waits_in_a_circle || status.cycle.size != 1) return false;
  if (a.kind != hp::action_kind::backward || status.rank != s.rank_of_stage[a.stage]) return false;
  const int* const begin = s.action.begin() + s.first[status.rank];
  const int* const end = s.action.begin() + s.first[status.rank + 1];
  const int receive = s.coding().code({hp::action_kind::receive_backward, a.stage, a.micro_batch});
  return std::find(begin, end, s.coding().code(a)) < std::find(begin, end, receive);
}

}  // namespace

verdict replay_torch_transfers(const json& v) {
  const hp::pipeline_shape n = pipeline_shape_of(v);
  const std::string theirs = torch_file_of(member(v, "compute_comms").get<std::string>());
  const hp::stage_placement placement = placement_of(v);
  const made_schedule made = make_schedule(member(v, "schedule").get<std::string>(), n, true);
  if (!made.why.empty()) return fail(made.why);
  const hp::torch_table table = hp::parse_torch_table(theirs);
  if (hp::write_torch_table(table) != theirs) return fail("what was read is written otherwise");

  for (const hp::torch_table::row& row : table.rows)
    if (std::find(row.begin(), row.end(), std::nullopt) != row.end()) return fail("it has an idle slot");
  const hp::torch_table ours =
      hp::torch_table_of(hp::place_transfers(hp::with_parameter_actions(made.schedule, most_unsharded)));
  verdict r = pass();
  if (hp::write_torch_table(ours) != theirs) {
    const auto kept = [](hp::action_kind k) { return !is_sharding(k); };
    if (cells_of(table, kept) != cells_of(ours, kept)) return fail("our table differs");
    r.note = "equal but for the order in which stages are dropped";
  }
  for (const hp::torch_table* one : {&table, &ours})
    if (const std::string why = why_not_unsharded(*one); !why.empty()) return fail(why);
  if (cells_of(table, hp::is_compute) != cells_of(hp::torch_table_of(made.schedule), hp::is_compute))
    return fail("what it computes differs");

  const hp::torch_schedule read = hp::schedule_of(table, placement, n.micro_batches);
  if (!read.status.ok()) return fail(hp::to_text(read.status));
  for (const hp::transport t : {hp::ordered_queues::value, hp::blocking_rows::value})
    if (const hp::pipeline_status status = hp::check_schedule(read.schedule, t); !status.ok())
      return fail(hp::to_text(status));
  return r;
}

verdict replay_mindspore_lists(const json& v) {
  const hp::pipeline_shape n = replayable({whole_of(v, "stages"), whole_of(v, "virtual"), whole_of(v, "micro")});
  const std::string name = member(v, "schedule").get<std::string>();
  const bool interleaved = name == "ScheduleInterleaved1F1B";
  if (!interleaved && name != "Schedule1F1B") return fail("no generator of '" + name + "'");
  if (const hp::pipeline_status status{hp::check_shape(n)}; !status.ok()) return fail(hp::to_text(status, name, n));
  if (!interleaved && n.chunks != 1) return fail("1F1B has one stage on each rank");
  const hp::pipeline_schedule theirs = lists_of(member(v, "order"), n);
  const hp::pipeline_schedule ours =
      interleaved ? hp::mindspore_interleaved_lists(n) : hp::mindspore_1f1b_lists(n.ranks, n.micro_batches);
  if (ours != theirs) return fail("our lists differ");

  const bool ends = member(v, "buffered_sim") == "ok", hangs = member(v, "rendezvous_cycle").get<bool>();
  const hp::pipeline_status blocking = hp::check_schedule(theirs, hp::blocking_rows::value);
  if (v.value("data_order", true)) {
    const hp::pipeline_status queued = hp::check_schedule(theirs, hp::ordered_queues::value);
    if (queued.ok() != ends) return fail("in ordered queues: " + hp::to_text(queued));
    return pass_if(blocking.ok() != hangs, "where ranks block: " + hp::to_text(blocking));
  }
  // The reference ends, but computes with what it has not received.
  const bool named = ends && !hangs && names_backward_before_receive(theirs, blocking);
  verdict r = pass_if(named, "the answer is: " + hp::to_text(blocking));
  if (named) r.note = "refused, a backward before its receive: " + hp::to_text(blocking);
  return r;
}

verdict replay_pipeline_mutant(const json& v) {
  const std::string transport = member(v, "transport").get<std::string>();
  const std::string expected = member(v, "verdict").get<std::string>();
  require(v, {"class"});
  const std::optional<hp::transport> over = hp_tool::transport_called(transport);
  if (!over) return fail("unknown transport '" + transport + "'");
  if (expected != "safe" && expected != "unsafe") return fail("unknown verdict '" + expected + "'");
  const hp::torch_table table = hp::parse_torch_table(torch_file_of(member(v, "table").get<std::string>()));
  const hp::torch_schedule read = hp::schedule_of(table, placement_of(v), whole_of(v, "micro_batches"));
  const hp::pipeline_status status = read.status.ok() ? hp::check_schedule(read.schedule, *over) : read.status;
  verdict r = pass_if(status.ok() == (expected == "safe"), "the answer is: " + hp::to_text(status, "", {}, over));
  if (r.outcome == outcome::passed)
    r.note = expected + (status.ok() ? "" : std::string(": ") + hp::name_of(status.code));
  return r;
}

}  // namespace replay
