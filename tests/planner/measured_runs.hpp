// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of training that were measured on one H100: tests/vectors/measured_h100_training.jsonl.

#include <hyperparallel/planner/known_hardware.hpp>
#include <hyperparallel/planner/stack_memory.hpp>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace measured_runs {

namespace hp = hyperparallel;

/// A value of a row of JSON: the text behind the key up to the comma or brace.
inline std::string value_of(const std::string& row, const std::string& key) {
  const std::size_t at = row.find("\"" + key + "\": ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size() + 4;
  return row.substr(begin, row.find_first_of(",}", begin) - begin);
}
inline std::int64_t number_of(const std::string& row, const std::string& key) {
  return std::stoll("0" + value_of(row, key));
}

struct measured_run {
  std::string name, group;
  hp::decoder model{};
  hp::decoder_plan plan{};
  const hp::stack_rules* stack = nullptr;
  hp::stack_memory measured{};
  double step_seconds = 0, forward_seconds = 0;  ///< forward 0: not measured
};

/// In the order of the file.
inline std::vector<measured_run> all() {
  std::vector<measured_run> out;
  const char* const own = std::getenv("HYPERPARALLEL_OWN_VECTORS");  // ctest sets it
  std::ifstream file(std::string(own != nullptr ? own : "tests/vectors") + "/measured_h100_training.jsonl");
  for (std::string row; std::getline(file, row);) {
    const bool sharded = value_of(row, "program") == "\"fsdp2\"", autocast = value_of(row, "precision") == "\"amp\"";
    measured_run r;
    hp::decoder& d = r.model;
    d.vocabulary = number_of(row, "vocabulary");
    d.hidden = number_of(row, "hidden");
    d.layers = number_of(row, "layers");
    d.attention = {.query_heads = number_of(row, "heads"),
                   .key_heads = number_of(row, "kv_heads"),
                   .head_dim = number_of(row, "head_dim"),
                   .rope_base = 10000.0};
    d.feed_forward.width = number_of(row, "ffn");
    d.has_experts = !value_of(row, "experts").empty();
    if (d.has_experts)
      d.experts = {.experts = number_of(row, "experts"),
                   .top_k = number_of(row, "top_k"),
                   .width = number_of(row, "expert_ffn")};
    hp::decoder_plan& p = r.plan;
    if (sharded) {
      p.tp = static_cast<int>(number_of(row, "tp"));
      p.ep = static_cast<int>(number_of(row, "ep"));
      p.dp = static_cast<int>(number_of(row, "dp")) / p.ep;
      p.zero = static_cast<int>(number_of(row, "zero"));
      p.micro_batches = static_cast<int>(number_of(row, "micro_batches"));
    } else {
      d.tied = value_of(row, "tied") == "true";
      d.attention.query_key_value_bias = value_of(row, "attention_bias") == "true";
      d.attention.query_key_norm = value_of(row, "qk_norm") == "true";
    }
    p.recomputed = value_of(row, "recompute") == "\"full\"";
    p.batch = number_of(row, "micro_batch") * p.micro_batches * p.dp * p.ep;
    p.sequence = number_of(row, "sequence");
    const bool compiled = value_of(row, "compiled") == "true";
    r.stack = hp::find_stack(!sharded   ? autocast ? "transformers_amp" : "transformers"
                             : compiled ? "fsdp2_compiled"
                                        : "fsdp2");
    r.group = d.has_experts         ? "experts"
              : !sharded            ? r.stack->name
              : compiled            ? "compiled"
              : p.micro_batches > 1 ? "several micro-batches"
              : p.zero == 2         ? "zero=2"
              : p.tp > 1            ? "tp"
              : p.recomputed        ? "recompute=full"
              : p.dp == 1           ? "one device"
                                    : "zero=3";
    r.name = value_of(row, "name").substr(1, value_of(row, "name").size() - 2);
    for (const hp::plan_degree& degree : hp::plan_degrees)
      if (p.*degree.of > 1) r.name += std::string(" ") + degree.name + "=" + std::to_string(p.*degree.of);
    r.measured = {.steady = number_of(row, "steady_bytes"),
                  .after_forward = number_of(row, "after_forward_bytes"),
                  .peak = number_of(row, "peak_bytes"),
                  .reserved = number_of(row, "reserved_bytes")};
    r.step_seconds = std::stod("0" + value_of(row, "step_s"));
    r.forward_seconds = std::stod("0" + value_of(row, "forward_s"));
    out.push_back(r);
  }
  return out;
}

}  // namespace measured_runs
