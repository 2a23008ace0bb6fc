// SPDX-License-Identifier: Apache-2.0
// The same step of training, planned when the program starts.
#include <cstdio>

#include "planned_step.hpp"

int main() {
  namespace hp = hyperparallel;
  hp::step_settings settings;
  settings.build.unrolled = true;
  hp::model_run<float> run(hp::training_graph<planned::model>(hp::adamw::value, settings), planned::strategy::value,
                           {.program = {.topology = hp::interconnect_of(hp::matrix384::topology)}});
  run.world().set("tokens", planned::numbers());
  run.world().set("labels", planned::numbers());
  for (int i = 0; i < 2; ++i) std::printf("%.9g\n", static_cast<double>(run.train_step([](int) {})));
}
