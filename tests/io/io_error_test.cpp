// SPDX-License-Identifier: Apache-2.0
// The message of an io_error is one line, whatever the path.

#include <hyperparallel/io/io_error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hp = hyperparallel;

namespace {

TEST(io_error, names_deed_path_and_reason) {
  const hp::io_error own("read", "x.txt", "the file is empty");
  EXPECT_STREQ(own.what(), "cannot read 'x.txt': the file is empty");
  EXPECT_EQ(own.number, 0);
  const hp::io_error system("write", "y", ENOSPC);
  EXPECT_STREQ(system.what(), "cannot write 'y': No space left on device");
  EXPECT_EQ(system.number, ENOSPC);
  EXPECT_EQ(system.path, "y");
}

TEST(io_error, stays_on_one_line_for_every_byte) {
  for (int c = 1; c < 256; ++c) {
    const std::string path = std::string("a") + static_cast<char>(c) + "b";
    const std::string text = hp::io_error("read", path, ENOENT).what();
    EXPECT_EQ(text.size(), std::string("cannot read 'a?b': No such file or directory").size());
    for (const char t : text) EXPECT_TRUE(static_cast<unsigned char>(t) >= 0x20 && t != '\x7f');
    EXPECT_EQ(text[14], c < 0x20 || c == 0x7f ? '?' : static_cast<char>(c));
  }
}

}  // namespace
