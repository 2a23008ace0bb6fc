// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one set of parameters behind every anchor, each with where it comes from:
//
//   published  a source states it
//   fitted     found by matching the anchors themselves
//   assumed    no source states it

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/hardware/l2_reuse.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/report/format_hardware.hpp>

namespace tables {

namespace hp = hyperparallel;

enum class origin { published, fitted, assumed };

constexpr const char* to_text(origin o) {
  constexpr const char* names[] = {"published", "fitted", "assumed"};
  return names[static_cast<int>(o)];
}

template <class T>
struct marked {
  T value{};
  origin from = origin::assumed;
  const char* source = "";
};

/// A parameter as it is printed.
struct parameter_row {
  std::string name, value, from, source;
};

struct parameters {
  static constexpr const char* fit = "module table of arXiv 2605.23764";

  marked<std::int64_t> hbm_bandwidth{hp::TiB * 16 / 10, origin::published,
                                     "msmodeling; other notes read 1.6 TB/s: of the two, the one that A5 supports"};
  marked<hp::efficiency> hbm_reached{hp::per_mille(600), origin::published, "msmodeling"};
  marked<std::int64_t> l2_bytes{192 * hp::MiB, origin::published, "platform file Ascend910B2C.ini"};
  marked<hp::efficiency> l2_usable{hp::full_efficiency, origin::assumed, "the whole L2 serves the two operators"};
  marked<std::int64_t> streaming_hits{52'000, origin::published,
                                      "L2 hits of the serial order at M = 32K, arXiv 2605.23764: 5.20 %"};
  marked<std::int64_t> task_overhead{100 * hp::nanosecond, origin::published, "static dispatch, arXiv 2605.23764"};
  marked<int> vector_queues{24, origin::published, "hyper-parallel worker_kernel.h: 24 of 48 AIVs run"};
  marked<int> vector_rows{128, origin::published, "rows of a vector task, hyper-parallel tasks"};
  marked<std::int64_t> all_to_all_bandwidth{192 * hp::gigabyte, origin::fitted, fit};
  marked<std::int64_t> all_to_all_latency{60 * hp::microsecond, origin::fitted, fit};
  marked<hp::efficiency> gmm_serialized{hp::per_mille(696), origin::fitted, fit};
  marked<hp::efficiency> gmm_fused{hp::per_mille(864), origin::fitted, fit};
  marked<std::int64_t> paper_hop{100 * hp::microsecond, origin::fitted,
                                 "fused rows of the same table; 80 to 120 us pass"};
  marked<std::int64_t> prompt_hop{2 * hp::microsecond, origin::assumed,
                                  "a waiter that polls its counter without pause"};
  marked<std::int64_t> all_to_all_share{170'000, origin::published, "share of a step, arXiv 2605.23764"};
  marked<std::int64_t> module_share{225'000, origin::fitted, "end-to-end speed-ups of arXiv 2605.23764"};

  /// The die that all anchors are priced on.
  constexpr hp::device_value device() const {
    hp::device_value d = hp::matrix384::device;
    d.tier[0].bandwidth = hbm_bandwidth.value;
    d.tier[0].reached = hbm_reached.value;
    d.l2_bytes = l2_bytes.value;
    d.gmm_cold = gmm_serialized.value;
    d.gmm_warm = gmm_fused.value;
    d.task_overhead = task_overhead.value;
    return d;
  }
  constexpr hp::l2_cache cache() const { return {l2_bytes.value, l2_usable.value, streaming_hits.value}; }
  constexpr hp::expert_all_to_all_fit all_to_all() const {
    return {all_to_all_bandwidth.value, all_to_all_latency.value};
  }

  std::vector<parameter_row> rows() const {
    std::vector<parameter_row> out;
    const auto add = [&out](const char* name, const auto& p, const std::string& value) {
      out.push_back({name, value, to_text(p.from), p.source});
    };
    const auto share = [](std::int64_t millionths) { return to_text(hp::efficiency{millionths}); };
    const auto time = [](std::int64_t picoseconds) { return to_text(hp::report::duration{picoseconds}); };
    const auto rate = [](std::int64_t bandwidth) { return to_text(hp::report::rate{bandwidth}); };
    add("HBM bandwidth", hbm_bandwidth,
        fmt::format("{:.1f} TiB/s", static_cast<double>(hbm_bandwidth.value) / static_cast<double>(hp::TiB)));
    add("HBM share reached", hbm_reached, to_text(hbm_reached.value));
    add("L2", l2_bytes, to_text(hp::report::byte_count{l2_bytes.value}));
    add("L2 share usable", l2_usable, to_text(l2_usable.value));
    add("L2 hits without reuse", streaming_hits, share(streaming_hits.value));
    add("overhead of a task", task_overhead, time(task_overhead.value));
    add("vector queues", vector_queues, std::to_string(vector_queues.value));
    add("rows of a vector task", vector_rows, std::to_string(vector_rows.value));
    add("all-to-all bandwidth", all_to_all_bandwidth, rate(all_to_all_bandwidth.value));
    add("all-to-all latency of a rank", all_to_all_latency, time(all_to_all_latency.value));
    add("GMM efficiency, serialized", gmm_serialized, to_text(gmm_serialized.value));
    add("GMM efficiency, fused", gmm_fused, to_text(gmm_fused.value));
    add("hop of the paper's executor", paper_hop, time(paper_hop.value));
    add("hop of prompt wake-ups", prompt_hop, time(prompt_hop.value));
    add("all-to-all's share of a step", all_to_all_share, share(all_to_all_share.value));
    add("MoE modules' share of a step", module_share, share(module_share.value));
    return out;
  }
};

}  // namespace tables
