// SPDX-License-Identifier: Apache-2.0
// The reader of hp trace: of a trace that is read, what rows do adds up to the run.

#include "../../tools/hp/trace/run.hpp"

#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::optional<run_trace::run> r =
      fuzz::read_or_refuse([&] { return run_trace::reader(fuzz::file).parse(text); });
  if (!r) return 0;
  for (const std::vector<std::int64_t>& row : run_trace::parts_by_row(*r)) {
    std::int64_t sum = 0;
    for (const std::int64_t part : row) {
      fuzz::hold(part >= 0, "no part of a row is negative");
      sum += part;
    }
    fuzz::hold(sum == r->total, "the parts of a row add up to the run");
  }
  return 0;
}
