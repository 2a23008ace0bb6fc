// SPDX-License-Identifier: Apache-2.0
// The readers of hp replay: a line of any bytes has a verdict, and one that is not read has a reason in one line.

#include "../../tools/hp/replay/kinds.hpp"

#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const replay::json v = replay::json::parse(fuzz::text_of(data, size), nullptr, false);
  if (v.is_discarded()) return 0;
  const replay::verdict r = replay::replay_vector(v);
  fuzz::hold(r.outcome == replay::outcome::passed || !r.reason.empty(), "what does not pass has a reason");
  return 0;
}
