// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/launch_file.hpp>

#include <layers/decoder_shapes.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "support/error_of.hpp"

namespace hp = hyperparallel;

namespace {

TEST(launch_file, frameworks_are_found_by_their_name) {
  for (const hp::launch_framework& f : hp::launch_frameworks) EXPECT_EQ(hp::find_framework(f.name), &f);
  EXPECT_EQ(hp::find_framework("nobody"), nullptr);
}

TEST(launch_file, a_file_that_is_not_there) {
  try {
    hp::read_launch_file("nowhere.sh", hp::test::llama3_8b, 8);
    FAIL();
  } catch (const hp::io_error& e) {
    EXPECT_NE(std::string(e.what()).find("cannot read 'nowhere.sh'"), std::string::npos) << e.what();
  }
}

/// What a file of that name and text says, or the error.
std::string told(const std::string& name, const std::string& text, hp::extent_t sequence = 0) {
  const std::string path =
      (std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + "." + name)).string();
  std::ofstream(path) << text;
  std::string out;
  const std::string error = tested::error_of<hp::io_error>([&] {
    const hp::launch_plan l = hp::read_launch_file(path, hp::test::llama3_8b, 8, sequence);
    out = std::to_string(l.plan.sequence) + " on " + l.stack;
  });
  std::filesystem::remove(path);
  return out.empty() ? error.substr(error.find("': ") + 3) : out;
}

TEST(launch_file, names_and_contents_say_whose_it_is) {
  const std::string trainer = "per_device_train_batch_size: 1\nmax_length: 64\nfsdp: full_shard\nbf16: true\n";
  EXPECT_EQ(told("a.yaml", trainer), "64 on fsdp2");
  EXPECT_EQ(told("a.yml", trainer), "64 on fsdp2");
  EXPECT_EQ(told("a.json", "{\"per_device_train_batch_size\": 1, \"max_length\": 64}"), "64 on library");
  EXPECT_EQ(told("a.sh", "x.py --per_device_train_batch_size 1 --max_length 64"), "64 on library");
  EXPECT_EQ(told("a.sh", "x.py --deepspeed --deepspeed_config '{\"bf16\": {\"enabled\": true}}' --max_length 64"),
            "64 on library");
  EXPECT_EQ(told("a.sh", "x.py --deepspeed --tensor-model-parallel-size 2 --seq-length 64"), "64 on megatron");
  EXPECT_EQ(told("a.sh", "x.py --seq-length 64"), "64 on megatron");
}

TEST(launch_file, a_sequence_that_is_asked_for_is_that_of_a_file_that_says_none) {
  EXPECT_EQ(told("b.sh", "x.py --seq-length 64", 128), "64 on megatron");
  EXPECT_EQ(told("b.sh", "x.py --bf16", 128), "128 on megatron");
  EXPECT_EQ(told("b.sh", "x.py --bf16"), "--seq-length is missing");
  EXPECT_EQ(told("b.json", "{\"train_batch_size\": 8}", 128), "128 on library");
  EXPECT_EQ(told("b.yaml", "max_length: 64\nbf16: true\ngradient_checkpointing: true", 128), "64 on transformers_amp");
}

}  // namespace
