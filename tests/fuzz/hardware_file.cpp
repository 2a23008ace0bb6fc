// SPDX-License-Identifier: Apache-2.0
// parse_hardware_file. Of hardware that is read and that check_hardware takes: a plan of a small decoder has memory, and a
// time unless a price leaves 64 bits.

#include <hyperparallel/io/hardware_file.hpp>
#include <hyperparallel/planner/estimate.hpp>
#include <hyperparallel/report/format_hardware.hpp>

#include "target.hpp"

namespace hp = hyperparallel;

namespace {

constexpr hp::decoder small = [] {
  hp::decoder d;
  d.layers = 2;
  d.hidden = 64;
  d.vocabulary = 256;
  d.attention = {.query_heads = 4, .key_heads = 2, .head_dim = 16};
  d.feed_forward = {.width = 128};
  return d;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::optional<hp::known_hardware> h =
      fuzz::read_or_refuse([&] { return hp::detail::parse_hardware_file(text, fuzz::file); });
  if (!h) return 0;
  for (const int devices : {1, 4, 6}) {
    const hp::hardware_status s = hp::check_hardware(h->device, h->links, devices);
    if (!s.ok()) {
      fuzz::hold_one_line(hp::to_text(s));
      continue;
    }
    const hp::decoder_plan p{
        .tp = devices % 2 == 0 ? 2 : 1, .dp = devices > 1 ? devices / 2 : 1, .batch = devices, .sequence = 32};
    hp::plan_prices prices(h->device, h->links);
    if (!hp::check_plan(small, p, devices).ok()) std::abort();
    const hp::plan_estimate e = hp::estimate_plan(small, p, prices);
    if (!e.ok()) continue;
    fuzz::hold(e.evaluation.memory > 0 && e.bound <= e.evaluation.time, "a plan takes at least its bound on time");
  }
  return 0;
}
