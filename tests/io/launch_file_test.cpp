// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/io/launch_file.hpp>

#include <layers/decoder_shapes.hpp>

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
