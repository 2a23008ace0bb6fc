// SPDX-License-Identifier: Apache-2.0
// What `hp tables` prints beside published figures of supernodes keeps these relations, which the documentation states.

#include <gtest/gtest.h>

#include <tables/cache_offload.hpp>
#include <tables/tensor_parallel.hpp>

namespace {

namespace hp = hyperparallel;

// Each of the settings has less exposed communication on a supernode than on servers, over HCCS and over RoCE; the
// published share lies between both.
TEST(SupernodeFigures, TheExposedShareOfTensorParallelismFalls) {
  for (const tables::tensor_parallel_setting& s : tables::tensor_parallel_settings) {
    const double hccs = tables::exposed_share(tables::step_on<hp::ascend_910b>(s)),
                 roce = tables::exposed_share(tables::step_over_roce(s)),
                 supernode = tables::exposed_share(tables::step_on<hp::matrix384>(s));
    EXPECT_LT(supernode, hccs) << s.model;
    EXPECT_LT(supernode, roce) << s.model;
    EXPECT_LT(hccs, tables::published::tensor_parallel_share) << s.model;
    EXPECT_GT(roce, tables::published::tensor_parallel_share) << s.model;
  }
}

// The counter-proof: twice the dies of one tensor-parallel group make the step faster, but each die makes fewer tokens,
// on a supernode too; neither fits with states in f32. A supernode loses less than servers do.
TEST(SupernodeFigures, WiderTensorParallelismCostsTokensADie) {
  const auto& [eight, sixteen] = tables::wider_tensor_parallel;
  const hp::plan_estimate narrow = tables::step_on<hp::matrix384>(eight),
                          wide = tables::step_on<hp::matrix384>(sixteen);
  EXPECT_LT(wide.evaluation.time, narrow.evaluation.time);
  EXPECT_LT(hp::tokens_per_device_second(wide), hp::tokens_per_device_second(narrow));
  const auto kept = [](const hp::plan_estimate& w, const hp::plan_estimate& n) {
    return hp::tokens_per_device_second(w) / hp::tokens_per_device_second(n);
  };
  EXPECT_GT(kept(wide, narrow),
            kept(tables::step_on<hp::ascend_910b>(sixteen), tables::step_on<hp::ascend_910b>(eight)));
  for (const hp::plan_estimate* e : {&narrow, &wide})
    EXPECT_EQ(hp::verdict_of(e->evaluation.memory, {}, hp::matrix384::device.tier[0].bytes),
              hp::fit_verdict::does_not_fit);
  EXPECT_GE(hp::parameters_of(eight.decoder).total(), 70'000'000'000);
}

// Decode hides less than the published gain, prefill more, with the die's part of the shared DRAM and nothing fitted.
TEST(SupernodeFigures, ThePublishedContextLiesBetweenDecodeAndPrefill) {
  using namespace tables::published;
  const hp::device_value die = hp::device_in_pool(*hp::find_hardware("matrix384"));
  for (const hp::decoder& d : {tables::llama2_7b, tables::llama3_8b}) {
    const tables::cache_offload c(d, die);
    const double gain = static_cast<double>(sequence_after) / sequence_before;
    EXPECT_GE(c.gain(c.hidden(hp::serving_step::decode)), 1.0);
    EXPECT_LE(c.gain(c.hidden(hp::serving_step::decode)), gain);
    EXPECT_GE(c.gain(c.hidden(hp::serving_step::prefill)), gain);
    EXPECT_GE(c.gain(c.in_dram()), gain);
    EXPECT_LE(c.least_peak(), peak_after / peak_before);
  }
}

}  // namespace
