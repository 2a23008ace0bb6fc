// SPDX-License-Identifier: Apache-2.0
// docs/how-to/read-a-trace.md
#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <string>

#include <hyperparallel/lowering/planned_flow.hpp>
#include <hyperparallel/report/timeline.hpp>
#include <hyperparallel/report/trace.hpp>

namespace hp = hyperparallel;

enum operation { fetch, multiply, activate };
constexpr const char* operation_names[] = {"fetch", "multiply", "activate"};

// A link brings a block, four matrix cores multiply it, two vector cores activate the product.
struct blocks {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    for (int block = 0; block < 24; ++block) {
      const int arrived = hp::add_event(f, /*rank=*/0), multiplied = hp::add_event(f, 0);
      hp::add_task(f, hp::resource::link, 0, 30 * hp::microsecond, fetch, block);
      hp::add_signal(f, arrived);
      for (int tile = 0; tile < 4; ++tile) {
        hp::add_task(f, hp::resource::aic, 0, 40 * hp::microsecond, multiply, 4 * block + tile);
        hp::add_wait(f, arrived);
        hp::add_signal(f, multiplied);
      }
      for (int half = 0; half < 2; ++half) {
        hp::add_task(f, hp::resource::aiv, 0, 20 * hp::microsecond, activate, 2 * block + half);
        hp::add_wait(f, multiplied);
      }
    }
  }
};

int main() {
  hp::planned_flow planned(blocks{}, hp::machine_shape{1, {4, 2, 1, 0, 0}}, {});
  const hp::simulated_figures figures = planned.simulate();

  hp::report::string_sink text;  // or an hp::atomic_file
  const hp::program_names names{operation_names, 3, nullptr, 0};
  hp::report::write_trace(text, planned.flow(), planned.schedule(), planned.timeline(), names, {.process = "die"});
  assert(text.text.find(R"("name":"multiply 0")") != std::string::npos);

  const std::string picture = hp::report::timeline_text(planned.flow(), planned.schedule(), planned.timeline(),
                                                        figures.result.makespan, {.columns = 60, .ascii = true});
  assert(picture.find("AIC  x4") == 0);
  std::puts(picture.c_str());
}
