// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kinds of pipeline schedules share: shapes, published schedules by name, tables of torch.

#include <hyperparallel/io/torch_schedule.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>
#include <hyperparallel/report/format_pipeline.hpp>

#include <initializer_list>
#include <string>

#include "reading.hpp"

namespace replay {

inline int whole_of(const json& v, const char* name) { return int_of(member(v, name)); }

/// Schedules of more forwards, or on more ranks, are not replayed.
inline hp::pipeline_shape replayable(const hp::pipeline_shape& n) {
  constexpr std::int64_t most = std::int64_t{1} << 15;
  std::int64_t forwards = 1;
  for (const int count : {n.ranks, n.chunks, n.micro_batches}) {
    if (count > most / forwards)
      throw malformed_vector("the pipeline has more micro-batches on stages than can be replayed");
    forwards *= hp::larger(count, 1);
  }
  if (n.ranks > most_ranks) throw malformed_vector("the pipeline has more ranks than can be replayed");
  return n;
}

inline hp::pipeline_shape pipeline_shape_of(const json& v) {
  return replayable({whole_of(v, "ranks"), whole_of(v, "virtual"), whole_of(v, "microbatches")});
}

/// The schedule of this name, or why there is none in this shape.
struct made_schedule {
  std::string why{};
  hp::pipeline_schedule schedule{};
};
inline made_schedule make_schedule(const std::string& name, const hp::pipeline_shape& n, bool idle) {
  const hp::named_schedule* const s = hp::schedule_called(name.c_str());
  if (s == nullptr) return {"no generator of '" + name + "'", {}};
  if (const hp::pipeline_status status = s->check(n); !status.ok()) return {hp::to_text(status, name, n), {}};
  return {"", s->generate(n, idle)};
}

inline hp::stage_placement placement_of(const json& v) {
  const std::string placement = member(v, "placement").get<std::string>();
  if (placement != "loop" && placement != "v") throw malformed_vector("unknown placement '" + placement + "'");
  return placement == "v" ? hp::stage_placement::v : hp::stage_placement::loop;
}

/// The text of a table as torch's files have it, of rows joined by line breaks.
inline std::string torch_file_of(const std::string& rows) {
  std::string text;
  for (const char c : rows) text += c == '\n' ? "\r\n" : std::string(1, c);
  return text + "\r\n";
}

inline void require(const json& v, std::initializer_list<const char*> fields) {
  for (const char* field : fields) member(v, field);
}

}  // namespace replay
