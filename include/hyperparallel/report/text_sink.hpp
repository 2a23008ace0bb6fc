// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where reports go: anything with `write(std::string_view)`, such as `atomic_file`, or a string.
//
// Law: a report writes its text in order and never asks back, so it can be streamed; whether a broken-off text is kept
// is the sink's affair (`atomic_file` keeps none).

#include <cstddef>
#include <string>
#include <string_view>

namespace hyperparallel { inline namespace v0_2 { namespace report {

template <class Sink>
concept text_sink = requires(Sink& sink, std::string_view text) { sink.write(text); };

/// Collects the text in memory.
struct string_sink {
  std::string text;
  void write(std::string_view more) { text += more; }
};

}}}  // namespace hyperparallel::v0_2::report
