// SPDX-License-Identifier: Apache-2.0
// Plans with and without offload beside each other: found and printed.

#include <hyperparallel/lowering/named_plans.hpp>
#include <hyperparallel/price/step_account.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../../examples/models/deepseek_v3.hpp"
#include "../../../examples/models/llama3_8b.hpp"
#include "../../../examples/models/qwen3_30b_a3b.hpp"
#include "../../../examples/models/training_graph.hpp"
#include "choice.hpp"
#include "plans.hpp"

namespace offload_plans {
namespace {

using machine = hp::matrix384;

/// The least and the most sequences of a micro-batch that are tried; a step of fewer is one micro-batch.
constexpr int least_batch = 8, most_batch = 4096;

bool is_data_parallel(const candidate& c) {
  const std::string_view name = c.strategy.name.text;
  return name == "dp" || name == "zero1" || name == "zero2" || name == "zero3" || name.starts_with("hsdp");
}

/// Plans of one model on one number of dies.
class comparison {
 public:
  comparison(models::graph_builder build, int devices, const choice& c)
      : devices_(devices), budget_(c.memory * hp::GiB) {
    device_ = hp::with_bandwidth(machine::device, hp::dram, c.bandwidth * hp::gigabyte);
    const int sequences = c.sequences > 0 ? c.sequences : 8 * devices;
    for (const int micro_batches : models::micro_batches_of(sequences, least_batch, most_batch))
      for (const bool recomputed : {false, true})
        enter(build(sequences / micro_batches, micro_batches, recomputed), micro_batches, recomputed);
    std::sort(all_.begin(), all_.end(), [](const entry& a, const entry& b) { return a.plan.time < b.plan.time; });
  }

  /// Why nothing can be planned, with offload or without.
  std::string cause() const {
    if (all_.empty()) return "the partitioner refuses every strategy with a name";
    hp::extent_t least = all_.front().plan.memory;
    for (const entry& e : all_) least = std::min(least, e.plan.memory);
    return fmt::format("no plan fits, with or without offload: the smallest takes {} a die as it is, a die has {}",
                       hp::report::byte_count{least}, hp::report::byte_count{budget_});
  }

  /// The fastest that fits as it is.
  std::optional<candidate> fitting(bool data_parallel) const {
    for (const entry& e : all_)
      if ((!data_parallel || is_data_parallel(e.plan)) && e.plan.memory <= budget_) {
        candidate plain = e.plan;
        plain.offload.reset();
        return plain;
      }
    return {};
  }

  /// The fastest with offload. None is faster than without copies, so those behind the best so far need no plan.
  std::optional<candidate> offloaded(bool data_parallel) {
    std::optional<candidate> best;
    for (entry& e : all_) {
      if (best && e.plan.time >= best->takes()) break;
      if (data_parallel && !is_data_parallel(e.plan)) continue;
      plan(e);
      if (e.plan.offload->ok() && (!best || e.plan.takes() < best->takes())) best = e.plan;
    }
    return best;
  }

 private:
  struct entry {
    candidate plan;
    std::size_t graph = 0;
  };

  /// The same strategy has a shorter name where an axis has one device.
  static bool has_a_shorter_name(const hp::mesh_shape& m) {
    return m.axis_count > 1 && *std::min_element(m.size, m.size + m.axis_count) == 1;
  }

  void enter(hp::graph g, int micro_batches, bool recomputed) {
    graphs_.push_back(std::move(g));
    hp::visit_named_strategies(devices_, [&](const hp::strategy_value& s) {
      if (has_a_shorter_name(s.mesh.shape)) return;
      const hp::sharded_program p = hp::partition(graphs_.back(), s);
      if (p.status.code != hp::strategy_code::ok) return;
      const hp::step_account a = hp::account_of(p, device_, hp::on_topology(machine::topology));
      if (!a.times.total.ok()) return;
      all_.push_back(
          {{s, micro_batches, recomputed, a.memory.peak, a.times.total.picoseconds, {}}, graphs_.size() - 1});
    });
  }

  void plan(entry& e) const {
    if (e.plan.offload) return;
    const hp::sharded_program p = hp::partition(graphs_[e.graph], e.plan.strategy);
    const hp::program_moves moves = hp::kinds_of_moves(p, hp::on_topology(machine::topology));
    hp::growing_array<hp::extent_t> block_duration;
    hp::account_of(p, moves, hp::storage_uses(p), device_, block_duration);
    hp::step_offload_settings how;
    how.budget = budget_;
    how.recomputation = !e.plan.recomputed;
    how.most_operators = 160;
    how.planning.effort = 1'000'000;
    e.plan.offload = hp::offload_step(p, moves, hp::storage_uses(p), block_duration, device_, how);
  }

  int devices_;
  hp::extent_t budget_;
  hp::device_value device_{};
  std::vector<hp::graph> graphs_;
  std::vector<entry> all_;
};

std::vector<plans_on_dies> plans_of(models::graph_builder build, const choice& c) {
  std::vector<plans_on_dies> all;
  for (const int devices : c.devices) {
    comparison found(build, devices, c);
    plans_on_dies& on = all.emplace_back();
    on.devices = devices;
    on.plain = found.fitting(false);
    on.offloaded = found.offloaded(false);
    if (!on.plain && !on.offloaded) {
      on.why = found.cause();
      continue;
    }
    on.data_parallel = found.fitting(true);
    on.data_parallel_offloaded = found.offloaded(true);
  }
  return all;
}

/// Numbers of dies without a plan have no rows.
void print_text(const std::string& model, const std::vector<plans_on_dies>& all, const choice& c) {
  using hp::report::byte_count;
  using hp::report::duration;
  hp::report::table t({"dies", "plan", "strategy", "mesh", "micro-batches", "recomputed", "memory", "step", "waits",
                       "copied", "host memory"});
  const std::optional<candidate>* shown = nullptr;
  bool any = false;
  for (const plans_on_dies& on : all) {
    const auto row = [&](const char* title, const std::optional<candidate>& p) {
      if (!p) {
        t.row({std::to_string(on.devices), title, "none fits", "", "", "", "", "", "", "", ""});
        return;
      }
      const hp::step_offload o = p->offload.value_or(hp::step_offload{});
      t.row({std::to_string(on.devices), title, p->strategy.name.text, hp::report::mesh_text(p->strategy.mesh),
             std::to_string(p->micro_batches), p->recomputed ? "yes" : "no", to_text(byte_count{p->needed()}),
             to_text(duration{p->takes()}), p->offload ? to_text(duration{o.exposed}) : "",
             p->offload ? to_text(byte_count{o.bytes_in + o.bytes_out}) : "",
             p->offload ? to_text(byte_count{o.peak[1]}) : ""});
    };
    if (!on.why.empty()) continue;
    row("as it is", on.plain);
    row("with offload", on.offloaded);
    row("data parallel", on.data_parallel);
    row("data parallel, offload", on.data_parallel_offloaded);
    if (on.offloaded) shown = &on.offloaded;
    any = true;
  }
  if (any)
    fmt::print("=== {}: {} GiB a die, {} GB/s each way to the host's memory\n\n{}\n", model, c.memory, c.bandwidth,
               t.text());
  if (c.account && shown != nullptr) fmt::print("the last plan with offload:\n{}\n", *(*shown)->offload);
}

}  // namespace

bool compare_all(const choice& c) {
  bool planned = true;
  json compared = json::array();
  const auto each = [&](const char* key, const char* model, models::graph_builder build) {
    if (c.model != key && c.model != "all") return;
    const std::vector<plans_on_dies> all = plans_of(build, c);
    if (c.as_json)
      compared.push_back(json_of(model, all, c));
    else
      print_text(model, all, c);
    std::fflush(stdout);
    for (const plans_on_dies& on : all) {
      if (on.why.empty()) continue;
      fmt::print(stderr, "hp offload: {} on {} {}: {}\n", model, on.devices, on.devices == 1 ? "die" : "dies", on.why);
      planned = false;
    }
  };
  each("llama", "Llama-3-8B", models::sized_training_graph<models::llama3_8b>);
  each("qwen", "Qwen3-30B-A3B", models::sized_training_graph<models::qwen3_30b_a3b>);
  each("deepseek", "DeepSeek-V3", models::sized_training_graph<models::deepseek_v3>);
  if (c.as_json)
    hp_tool::print({{"device_bytes", c.memory * hp::GiB},
                    {"host_bytes_per_second", c.bandwidth * hp::gigabyte},
                    {"models", std::move(compared)}});
  return planned;
}

}  // namespace offload_plans
