// SPDX-License-Identifier: Apache-2.0
// Whole files come back byte for byte; everything else is one line.

#include <hyperparallel/io/text_file.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "io/workplace.hpp"

namespace hp = hyperparallel;

namespace {

std::string complaint(const std::string& path, const hp::read_options& options = {}) {
  try {
    hp::read_bytes(path, options);
  } catch (const hp::io_error& e) {
    EXPECT_EQ(e.path, path);
    return e.what();
  }
  return "read";
}

TEST(read_bytes, returns_every_byte_of_any_length) {
  const io_test::workplace place;
  for (const int size : {0, 1, 2, 65535, 65536, 65537, 200000}) {
    std::string text;
    for (int i = 0; i < size; ++i) text += static_cast<char>(i * 7 % 256);
    place.put("file", text);
    const std::vector<unsigned char> bytes = hp::read_bytes(place.path("file"));
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), text) << size;
  }
}

TEST(read_bytes, says_on_one_line_why_not) {
  const io_test::workplace place;
  place.put("file", "x");
  place.put("empty", "");
  const std::string missing = place.path("missing"), below = place.path("file/below"), empty = place.path("empty");
  EXPECT_EQ(complaint(missing), "cannot read '" + missing + "': No such file or directory");
  EXPECT_EQ(complaint(below), "cannot read '" + below + "': Not a directory");
  EXPECT_EQ(complaint(place.path("")), "cannot read '" + place.path("") + "': Is a directory");
  EXPECT_EQ(complaint(""), "cannot read '': No such file or directory");
  EXPECT_EQ(complaint(empty), "read");
  EXPECT_EQ(complaint(empty, {hp::empty_file::refused}), "cannot read '" + empty + "': the file is empty");
}

TEST(read_bytes, takes_the_largest_allowed_and_no_more) {
  const io_test::workplace place;
  place.put("file", "12345678");
  EXPECT_EQ(hp::read_bytes(place.path("file"), {hp::empty_file::refused, 8}).size(), 8u);
  EXPECT_EQ(complaint(place.path("file"), {hp::empty_file::refused, 7}),
            "cannot read '" + place.path("file") + "': the file is larger than 7 bytes");
  EXPECT_EQ(complaint("/dev/zero", {hp::empty_file::refused, 1 << 20}),
            "cannot read '/dev/zero': the file is larger than 1048576 bytes");
}

}  // namespace
