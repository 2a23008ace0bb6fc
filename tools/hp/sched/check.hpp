// SPDX-License-Identifier: Apache-2.0
#pragma once
// hp sched check: a schedule in torch's file, proved and timed.

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/io/io_error.hpp>
#include <hyperparallel/io/torch_schedule.hpp>
#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/replay.hpp>
#include <hyperparallel/report/format_pipeline.hpp>

#include "../refusals.hpp"
#include "../transport_names.hpp"
#include "list.hpp"

namespace sched {

struct check_request {
  std::string file, placement = "inferred";
  int micro_batches = 0;
  std::vector<std::int64_t> times = {1, 1, 1};
  std::int64_t latency = 0, overlapped = -1;
  std::optional<hp::transport> over{};  ///< unless given: ordered queues of a table with transfers, unbounded of others
  bool as_json = false;

  std::string name() const { return file == "-" ? "standard input" : hp::quoted_path(file); }
  std::optional<hp::stage_placement> places() const {
    for (const hp::stage_placement p : placements)
      if (placement == name_of(p)) return p;
    return {};
  }
  hp::pipeline_costs costs() const {
    hp::pipeline_costs c = hp::equal_stages({times[0], times[1], times[2]}, latency);
    c.overlapped_pair = overlapped;
    return c;
  }
};

inline std::string standard_input() {
  std::string text(hp::largest_torch_table + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), stdin));
  if (std::ferror(stdin) != 0) throw hp_tool::bad_input("cannot read standard input");
  return text;
}

inline hp::torch_table table_of(const check_request& given) {
  try {
    return given.file == "-" ? hp::parse_torch_table(standard_input()) : hp::read_torch_table(given.file);
  } catch (const hp::torch_table_error& e) {
    throw hp_tool::bad_input(given.name() + ": " + e.what());
  } catch (const hp::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
}

/// How the stages lie, also where that was inferred.
inline hp::stage_placement placement_of(const hp::pipeline_schedule& s) {
  for (const hp::stage_placement p : placements) {
    bool same = s.copies == hp::copies_of_stages(p);
    for (int i = 0; same && i < s.rank_of_stage.size; ++i)
      same = s.rank_of_stage[i] == hp::rank_of_stage(p, s.ranks, i / s.copies, i % s.copies);
    if (same) return p;
  }
  return hp::stage_placement::listed;
}

struct action_counts {
  int transfers = 0, untimed = 0;
};
/// Actions of parameters take no time in a replay; nor do transfers with unbounded buffers.
inline action_counts counts_of(const hp::pipeline_schedule& s, const hp::transport& t) {
  action_counts n;
  for (const int code : s.action) {
    if (code == hp::idle_slot) continue;
    const hp::action_kind kind = s.coding().action(code).kind;
    const bool transfer = hp::is_transfer(kind);
    n.transfers += transfer;
    n.untimed += transfer ? t.kind == hp::transport_kind::unbounded : !hp::is_compute(kind);
  }
  return n;
}

/// A table proved and timed, with the transfers that it was held with.
struct checked_schedule {
  hp::pipeline_schedule schedule{};
  hp::transport over{};
  bool placed = false;  ///< the table has no transfers, and its transport needs them
  hp::pipeline_account account{};
};
inline checked_schedule checked(hp::torch_schedule&& read, const check_request& given) {
  checked_schedule c{std::move(read.schedule), given.over.value_or(hp::unbounded::value), false, {}};
  c.account.status = read.status;
  if (!read.status.ok()) return c;
  const bool has_transfers = hp::holds_transfers(c.schedule);
  c.placed = !has_transfers && given.over && given.over->kind != hp::transport_kind::unbounded;
  if (c.placed) {
    c.account.status = hp::check_schedule(c.schedule);
    if (!c.account.ok()) {
      c.over = hp::unbounded::value;  // hangs whatever carries its messages
      return c;
    }
    c.schedule = hp::place_transfers(c.schedule);
  }
  if (has_transfers && !given.over) c.over = hp::ordered_queues::value;
  c.account = hp::replay(c.schedule, given.costs(), c.over);
  return c;
}

inline json document_of(const checked_schedule& c, const std::string& why) {
  const hp::pipeline_schedule& s = c.schedule;
  const hp::pipeline_account& a = c.account;
  json out = {{"safe", a.ok()},
              {"ranks", s.ranks},
              {"stages", s.stages},
              {"micro_batches", s.micro_batches},
              {"transport", hp_tool::name_of(c.over)}};
  if (!a.ok()) {
    out["code"] = hp::name_of(a.status.code);
    out["why"] = why;
    return out;
  }
  json& places = out["rank_of_stage"] = json::array();  // of a stage on two ranks both
  for (const int* rank = s.rank_of_stage.begin(); rank != s.rank_of_stage.end(); rank += s.copies)
    places.push_back(s.copies == 1 ? json(*rank) : json(std::vector<int>(rank, rank + s.copies)));
  const action_counts n = counts_of(s, c.over);
  out["transfers"] = n.transfers;
  out["transfers_were_placed"] = c.placed;
  out["untimed_actions"] = n.untimed;
  out["makespan"] = a.makespan;
  out["longest_rank_span"] = a.longest_rank_span;
  out["ideal"] = a.ideal;
  out["bubble"] = a.bubble();
  out["bubble_of_span"] = a.bubble_of_span();
  json& ranks = out["by_rank"] = json::array();
  for (int r = 0; r < s.ranks; ++r) {
    const hp::rank_account& one = a.rank[r];
    ranks.push_back({{"begins", one.first_start},
                     {"ends", one.last_end},
                     {"busy", one.busy},
                     {"peak_chunks_until_weight_gradient", one.peak_until_weight_gradient},
                     {"peak_chunks_until_input_gradient", one.peak_until_input_gradient}});
  }
  return out;
}

inline int check(const check_request& given) {
  if (given.file.empty()) throw hp_tool::bad_input("no file is named; '-' is standard input");
  const hp::torch_table table = table_of(given);
  const checked_schedule c = checked(hp::schedule_of(table, given.places(), given.micro_batches), given);
  const hp::pipeline_schedule& s = c.schedule;
  const hp::pipeline_account& a = c.account;
  if (a.status.code == hp::pipeline_code::sizes_are_not_positive)
    throw hp_tool::bad_input(given.name() + ": the table holds no action");
  const std::string why = hp::to_text(a.status, "", {}, c.over);
  if (a.status.code == hp::pipeline_code::costs_do_not_fit) throw hp_tool::bad_input(why);
  if (given.as_json) {
    hp_tool::print(document_of(c, why));
    return a.ok() ? 0 : 1;
  }
  if (!a.ok()) throw hp_tool::answer_is_no("the schedule is not safe: " + why);
  std::string out = fmt::format("{} ranks, {} stages {}, {} micro-batches\n", s.ranks, s.stages,
                                words_of(placement_of(s)), s.micro_batches);
  out += fmt::format("safe: each action stands once, on the rank of its stage, and no rank waits for ever under {}\n",
                     hp::to_text(c.over));
  const action_counts n = counts_of(s, c.over);
  if (n.transfers > 0 && c.over.kind != hp::transport_kind::unbounded)
    out +=
        fmt::format("{} sends and receives{}: each message has both, and each pair of ranks lists them in one order\n",
                    n.transfers, c.placed ? ", put where torch puts them" : "");
  if (n.untimed > 0)
    out += fmt::format("{} {}actions of parameters take no time here and are not proved\n", n.untimed,
                       c.over.kind == hp::transport_kind::unbounded && n.transfers > 0 ? "transfers and " : "");
  out += hp::to_text(a);
  out +=
      "chunks until W: activations of a stage and micro-batch that the rank holds at most, each from its F to its W or "
      "B;\n"
      "until I: where each is held to its I or B\n";
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace sched
