// SPDX-License-Identifier: Apache-2.0
#include "launch/torchtitan_keys.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;
namespace keys = launch::torchtitan_keys;

namespace {

TEST(torchtitan_keys, no_key_that_is_read_is_idle) {
  for (const launch::torchtitan_key& key :
       {keys::replicate, keys::shard, keys::tensor, keys::pipeline, keys::context, keys::schedule, keys::async,
        keys::autograd, keys::batch, keys::compile, keys::global, keys::sequence, keys::micro, keys::chunk, keys::first,
        keys::last, keys::expert, keys::expert_tensor})
    for (const char* name : {key.name, key.older, key.oldest}) {
      if (name == nullptr) continue;
      for (const bool narrow : {false, true}) EXPECT_FALSE(launch::is_idle_key(name, narrow)) << name;
    }
}

TEST(torchtitan_keys, what_is_idle) {
  for (const char* name : {"job.description", "optimizer.lr", "training.steps", "quantize.grouped_mm.float8.fqns"})
    EXPECT_TRUE(launch::is_idle_key(name, true)) << name;
  EXPECT_TRUE(launch::is_idle_key("float8.recipe_name", false));
  EXPECT_FALSE(launch::is_idle_key("float8.recipe_name", true)) << "of products in fp8 a recipe changes time";
  EXPECT_FALSE(launch::is_idle_key("training.enable_cpu_offload", false));
  EXPECT_FALSE(launch::is_idle_key("parallelism.something_new", false));
}

TEST(torchtitan_keys, every_schedule_is_here_under_its_name) {
  for (const char* name : launch::torchtitan_schedules) {
    ASSERT_NE(hp::schedule_called(name), nullptr) << name;
    EXPECT_EQ(launch::has_one_stage_a_rank(*hp::schedule_called(name)),
              name == std::string("1F1B") || name == std::string("GPipe"));
  }
}

}  // namespace
