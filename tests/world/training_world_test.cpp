// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/training_world.hpp>

#include <lowering/broken_tables.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace hp = hyperparallel;

namespace {

/// The program of the strategies' tests, its plan written into an image at run time.
std::unique_ptr<hp::detail::image_buffer> image_for(const char* strategy) {
  return std::make_unique<hp::detail::image_buffer>(hp::lower_training(programs::program_of(strategy, 4, 1)));
}

template <class T>
std::vector<double> losses(hp::model_run<T>& run, int steps) {
  std::vector<double> all;
  for (int s = 0; s < steps; ++s)
    all.push_back(
        static_cast<double>(run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(s)); })));
  return all;
}

TEST(TrainingWorld, OfAnImageThatIsMadeAtRunTimeHasTheBitsOfItsProgram) {
  for (const char* strategy : {"dp", "tp", "zero3"}) {
    SCOPED_TRACE(strategy);
    const auto image = image_for(strategy);
    hp::training_world<float> world(*image, {.seed = 3});
    hp::model_run<float> run(hp::lower_training(programs::program_of(strategy, 4, 1)), {.seed = 3});
    EXPECT_EQ(losses(world.run(), 3), losses(run, 3));
    EXPECT_EQ(world.steps(), 3);
  }
}

hp::operator_kernel no_kernels(hp::operator_id) { return nullptr; }

TEST(TrainingWorld, TakesTheKernelsThatItIsGiven) {
  const auto image = image_for("dp");
  EXPECT_THROW(hp::training_world<float>(*image, hp::builtin_list, &no_kernels, {}), hp::program_error);
}

}  // namespace
