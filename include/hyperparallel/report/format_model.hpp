// SPDX-License-Identifier: Apache-2.0
#pragma once
// Model descriptions and what the lowering says of them, as text.
//
// Law: a verdict that is not "ok" carries the sizes that did not fit.

#include <string>

#include <hyperparallel/mpmd/moe_layer.hpp>
#include <hyperparallel/offload/prefetch_window.hpp>
#include <hyperparallel/report/text_formatter.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline std::string to_text(const moe_layer& l) {
  return fmt::format("MoE layer: hidden {}, intermediate {}, {} experts, top-{}, {} tokens", l.hidden, l.intermediate,
                     l.experts, l.top_k, l.tokens);
}

inline std::string to_text(const moe_status& s) {
  if (s.code == moe_code::ok) return "ok";
  return fmt::format("{} ({} over {} devices)", to_text(s.code), s.extent, s.devices);
}

inline std::string to_text(const window_status& s) {
  switch (s.code) {
    case window_code::ok:
      return "ok";
    case window_code::no_buffer:
      return fmt::format("{} ({} buffers)", to_text(s.code), s.tensor);
    case window_code::uses_are_not_in_order:
    case window_code::more_tensors_in_use_than_buffers:
      break;
  }
  return fmt::format("{} (tensor {})", to_text(s.code), s.tensor);
}

}}  // namespace hyperparallel::v0_2
