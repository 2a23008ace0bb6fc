// SPDX-License-Identifier: Apache-2.0
#pragma once
// The progress of long work on one line: done / total, share, rate, remaining time.
//
//   report::progress_line line("running", "tasks");
//   executor.run({&report::progress_line::report, &line});
//   line.finish();
//
// On a terminal the line is redrawn in place; elsewhere a line is printed when another tenth is done or `period`
// seconds have passed. Laws: what is shown never goes back, `done` stays within [0, total]; after `finish` nothing is
// printed; no function throws, for progress must not end the work it reports on.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <hyperparallel/kernels/steady_time.hpp>
#include <hyperparallel/report/text_formatter.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

/// Where progress goes, and how often.
struct progress_options {
  std::FILE* stream = stderr;
  bool in_place = false;      ///< redraw one line; `for_stream` sets it on terminals
  std::int64_t period = 10;   ///< seconds between lines that are not redrawn
  std::int64_t redraw = 100;  ///< milliseconds between redrawings
  std::int64_t (*clock)() = &hyperparallel::detail::steady_nanoseconds;  ///< monotone nanoseconds

  static progress_options for_stream(std::FILE* stream) {
    progress_options o;
    o.stream = stream;
    o.in_place = ::isatty(::fileno(stream)) == 1;
    return o;
  }
};

namespace detail {

/// "3.5 s", "2 min 05 s", "1 h 02 min". Domain: seconds >= 0.
inline std::string remaining_text(double seconds) {
  const std::int64_t whole = seconds < 1e9 ? static_cast<std::int64_t>(seconds + 0.5) : 1'000'000'000;
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

/// One line of progress after `seconds`: "running 120/480 tasks  25 %  40.0/s  9.0 s left".
inline std::string progress_text(const std::string& label, const std::string& unit, std::int64_t done,
                                 std::int64_t total, double seconds) {
  const double share = total > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(total) : 100.0;
  std::string out =
      fmt::format("{} {}/{}{}{}  {:3} %", label, done, total, unit.empty() ? "" : " ", unit, static_cast<int>(share));
  if (seconds <= 0 || done <= 0) return out;
  const double per_second = static_cast<double>(done) / seconds;
  out += fmt::format("  {:.1f}/s", per_second);
  return out + (done < total ? "  " + remaining_text(static_cast<double>(total - done) / per_second) + " left"
                             : "  in " + remaining_text(seconds));
}

}  // namespace detail

class progress_line {
 public:
  explicit progress_line(std::string label, std::string unit = "",
                         const progress_options& options = progress_options::for_stream(stderr))
      : label_(std::move(label)), unit_(std::move(unit)), options_(options), began_(options_.clock()) {}
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line() { finish(); }

  /// Notes that `done` of `total` are done and shows it when it is time. Any value is taken; steps back are not shown.
  void update(std::int64_t done, std::int64_t total) noexcept {
    if (finished_ || total <= 0) return;
    total_ = total < done_ ? done_ : total;
    if (done > total_) done = total_;
    if (done > done_) done_ = done;
    const std::int64_t now = options_.clock(), tenth = tenth_of(done_, total_);
    const bool due = options_.in_place ? now - shown_at_ >= options_.redraw * 1'000'000
                                       : tenth > shown_tenth_ || now - shown_at_ >= options_.period * 1'000'000'000;
    if (shown_ >= 0 && (done_ == shown_ || (!due && done_ != total_))) return;
    show(now);
    shown_at_ = now;
    shown_ = done_;
    shown_tenth_ = tenth;
  }

  /// Ends the line. Safe to call again.
  void finish() noexcept {
    if (finished_) return;
    finished_ = true;
    if (options_.in_place && shown_ >= 0) {
      std::fputc('\n', options_.stream);
      std::fflush(options_.stream);
    }
  }

  /// Fits the executor's `progress`: user is the progress_line.
  static void report(void* user, std::int64_t done, std::int64_t total) noexcept {
    static_cast<progress_line*>(user)->update(done, total);
  }

 private:
  static std::int64_t tenth_of(std::int64_t done, std::int64_t total) {
    return static_cast<std::int64_t>(10.0 * static_cast<double>(done) / static_cast<double>(total));
  }

  void show(std::int64_t now) noexcept {
    try {
      const std::string text =
          detail::progress_text(label_, unit_, done_, total_, static_cast<double>(now - began_) * 1e-9);
      if (options_.in_place) {
        // Blanks cover what a longer line left behind.
        const std::string blanks(text.size() < width_ ? width_ - text.size() : 0, ' ');
        std::fputs(("\r" + text + blanks).c_str(), options_.stream);
        width_ = text.size();
      } else {
        std::fputs((text + "\n").c_str(), options_.stream);
      }
      std::fflush(options_.stream);
    } catch (...) {
      // Without memory for the text the line is not shown; the work goes on.
    }
  }

  std::string label_, unit_;
  progress_options options_;
  std::int64_t began_;
  std::int64_t done_ = 0, total_ = 0;
  std::int64_t shown_ = -1;  ///< `done` of the last line, -1 before the first
  std::int64_t shown_at_ = 0, shown_tenth_ = 0;
  std::size_t width_ = 0;
  bool finished_ = false;
};

}}}  // namespace hyperparallel::v0_2::report
