// SPDX-License-Identifier: Apache-2.0
// Progress never goes back, comes at most every tenth or period, and is silent after the end.

#include <hyperparallel/report/progress.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace report = hyperparallel::report;

namespace {

std::int64_t now = 0;
std::int64_t test_clock() { return now; }

constexpr std::int64_t second = 1'000'000'000;

/// A stream whose text can be read.
struct memory_stream {
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* file = ::open_memstream(&data, &size);
  ~memory_stream() {
    std::fclose(file);
    std::free(data);
  }
  std::string text() {
    std::fflush(file);
    return {data, size};
  }
};

report::progress_options options(std::FILE* stream, bool in_place) {
  now = 5 * second;
  return {stream, in_place, 10, 100, &test_clock};
}

/// The "done" of every shown line.
std::vector<std::int64_t> shown(const std::string& text) {
  std::vector<std::int64_t> found;
  for (std::size_t slash = text.find('/'); slash != std::string::npos; slash = text.find('/', slash + 1)) {
    std::size_t begin = slash;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    const bool fraction = text[slash + 1] >= '0' && text[slash + 1] <= '9';
    if (fraction && begin < slash) found.push_back(std::stoll(text.substr(begin, slash - begin)));
  }
  return found;
}

TEST(progress, prints_a_line_per_tenth_and_never_goes_back) {
  memory_stream stream;
  {
    report::progress_line line("running", "tasks", options(stream.file, false));
    for (std::int64_t done = 0; done <= 1000; ++done) {
      now += 1'000'000;
      line.update(done, 1000);
      line.update(done / 2, 1000);
    }
  }
  const std::vector<std::int64_t> lines = shown(stream.text());
  EXPECT_EQ(lines, (std::vector<std::int64_t>{0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}));
  EXPECT_EQ(stream.text().find('\r'), std::string::npos);
}

TEST(progress, prints_slow_work_every_period) {
  memory_stream stream;
  report::progress_line line("running", "tasks", options(stream.file, false));
  for (std::int64_t done = 0; done < 90; ++done) {
    line.update(done, 1000);
    now += second;
  }
  EXPECT_EQ(shown(stream.text()), (std::vector<std::int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80}));
}

TEST(progress, redraws_in_place_and_covers_longer_lines) {
  memory_stream stream;
  report::progress_line line("running", "tasks", options(stream.file, true));
  for (std::int64_t done = 0; done <= 1000; ++done) {
    now += 7'000'000;
    line.update(done, 1000);
  }
  line.finish();
  const std::string text = stream.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.back(), '\n');
  const std::vector<std::int64_t> lines = shown(text);
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()));
  EXPECT_EQ(lines.back(), 1000);
  EXPECT_LE(lines.size(), 72u);
  std::size_t width = 0;
  for (std::size_t at = text.find('\r'); at != std::string::npos;) {
    const std::size_t next = text.find_first_of("\r\n", at + 1);
    if (next == std::string::npos) break;
    const std::size_t begin = at + 1, length = text.find_last_not_of(' ', next - 1) + 1 - begin;
    EXPECT_GE(next - begin, width);
    width = length;
    at = text[next] == '\r' ? next : std::string::npos;
  }
}

TEST(progress, is_silent_after_the_end_and_before_any_work) {
  memory_stream stream;
  {
    report::progress_line unused("unused", "", options(stream.file, true));
  }
  EXPECT_EQ(stream.text(), "");
  report::progress_line line("running", "", options(stream.file, true));
  line.update(1, 2);
  line.finish();
  const std::string text = stream.text();
  line.update(2, 2);
  line.finish();
  EXPECT_EQ(stream.text(), text);
}

TEST(progress, takes_any_numbers) {
  memory_stream stream;
  report::progress_line line("running", "", options(stream.file, false));
  line.update(5, 0);
  line.update(-3, -1);
  EXPECT_EQ(stream.text(), "");
  line.update(-3, 10);
  line.update(INT64_MAX, 10);
  line.update(4, 10);
  EXPECT_EQ(shown(stream.text()), (std::vector<std::int64_t>{0, 10}));
  line.update(3, 5);
  EXPECT_EQ(shown(stream.text()).back(), 10);
  line.update(INT64_MAX, INT64_MAX);
  report::progress_line::report(&line, INT64_MAX, INT64_MAX);
}

TEST(progress, does_not_throw_on_a_full_device) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  report::progress_line line("running", "", options(full, true));
  EXPECT_NO_THROW(line.update(1, 2));
  EXPECT_NO_THROW(line.finish());
  std::fclose(full);
}

TEST(progress, says_rate_and_remaining_time) {
  EXPECT_EQ(report::detail::progress_text("running", "tasks", 120, 480, 3.0),
            "running 120/480 tasks   25 %  40.0/s  9.0 s left");
  EXPECT_EQ(report::detail::progress_text("running", "", 480, 480, 125.0),
            "running 480/480  100 %  3.8/s  in 2 min 05 s");
  EXPECT_EQ(report::detail::progress_text("running", "", 0, 480, 1.0), "running 0/480    0 %");
  EXPECT_EQ(report::detail::remaining_text(9.94), "9.9 s");
  EXPECT_EQ(report::detail::remaining_text(9.96), "10 s");
  EXPECT_EQ(report::detail::remaining_text(59.6), "1 min 00 s");
  EXPECT_EQ(report::detail::remaining_text(3720), "1 h 02 min");
}

}  // namespace
