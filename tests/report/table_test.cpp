// SPDX-License-Identifier: Apache-2.0
// Columns align: every cell of a column lies within the same character positions on every line.

#include <hyperparallel/report/table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using hyperparallel::report::table;

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(in, line);) found.push_back(line);
  return found;
}

TEST(table, golden) {
  table t({"operator", "time [ms]", "share"});
  t.row({"GMM1", "1.250", "9.5 %"}).row({"combine", "12.000", "90.50 %"}).row({"wait", "", "-"});
  EXPECT_EQ(t.text(),
            "operator  time [ms]    share\n"
            "--------  ---------  -------\n"
            "GMM1          1.250    9.5 %\n"
            "combine      12.000  90.50 %\n"
            "wait                       -\n");
}

TEST(table, aligns_columns_of_any_width) {
  unsigned state = 1;
  const auto random = [&state](unsigned below) { return (state = state * 1664525 + 1013904223) / 65536 % below; };
  for (int round = 0; round < 200; ++round) {
    const std::size_t columns = 1 + random(5), count = random(6);
    const auto cell = [&](bool number) {
      return number ? std::to_string(random(100000)) : std::string(1 + random(9), static_cast<char>('a' + random(26)));
    };
    std::vector<std::string> header;
    for (std::size_t c = 0; c < columns; ++c) header.push_back(cell(false));
    table t(header);
    std::vector<std::vector<std::string>> rows;
    for (std::size_t r = 0; r < count; ++r) {
      rows.emplace_back();
      for (std::size_t c = 0; c < columns; ++c) rows.back().push_back(cell(c % 2 == 1));
      t.row(rows.back());
    }
    const std::vector<std::string> text = lines(t.text());
    ASSERT_EQ(text.size(), count + 2);
    std::size_t begin = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t end = std::min(text[1].find(' ', begin), text[1].size());
      for (std::size_t r = 0; r < count; ++r) {
        const std::string& line = text[r + 2];
        const std::string found = line.substr(begin, end - begin);
        const std::string padded(end - begin - rows[r][c].size(), ' ');
        EXPECT_EQ(c % 2 == 1 ? padded + rows[r][c] : (rows[r][c] + padded).substr(0, found.size()), found);
        EXPECT_TRUE(end >= line.size() || line.substr(end, 2) == "  ");
      }
      begin = end + 2;
    }
  }
}

TEST(table, counts_characters_and_takes_short_and_long_rows) {
  table t({"é", "x"});
  t.row({"ü"}).row({"ab", "1", "dropped"});
  EXPECT_EQ(t.text(), "é   x\n--  -\nü\nab  1\n");
  EXPECT_EQ(t.rows(), 2u);
  EXPECT_EQ(table({"a"}).text(), "a\n-\n");
}

}  // namespace
