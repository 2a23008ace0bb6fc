// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text, rectangles, lines, legends and axes of a drawing that grows from the top down.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/svg_text.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report { namespace detail {

/// `y` is where the next picture begins. Sizes in SVG units.
class svg_canvas {
 public:
  static constexpr double wide = 1000, margin = 10;

  std::string body{};
  double y = 30;

 protected:
  static constexpr double left = 130, inner = wide - left - margin, letter = 6.3;

  /// An amount as the page's tables have it.
  static std::string words(double value, const std::string& unit) {
    if (unit == "bytes") return to_text(byte_count{std::llround(value)});
    if (unit == "seconds") return value == 0 ? "0" : to_text(duration{std::llround(value * 1e12)});
    return fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit);
  }
  /// At most so many characters of UTF-8.
  static std::string cut(const std::string& text, double width) {
    const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    auto most = static_cast<std::ptrdiff_t>(std::max(1.0, width / letter));
    if (std::count_if(text.begin(), text.end(), is_first) <= most) return text;
    std::size_t end = 0;
    while (end < text.size() && (!is_first(text[end]) || --most > 0)) ++end;
    return text.substr(0, end) + "\u2026";
  }

  void text(double x, double at, const std::string& words, const std::string& more = "") {
    body += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\"{}{}>{}</text>\n", x, at, more.empty() ? "" : " ", more,
                        xml_text(words));
  }
  void rect(const char* mark, double x, double at, double width, double height, const std::string& fill) {
    body += fmt::format("<rect class=\"{}\" x=\"{:.3f}\" y=\"{:.2f}\" width=\"{:.3f}\" height=\"{:.2f}\" {}/>\n", mark,
                        x, at, width, height, fill);
  }
  void line(double x1, double y1, double x2, double y2, const char* style) {
    body += fmt::format("<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" {}/>\n", x1, y1, x2, y2, style);
  }
  static std::string fill(std::size_t colour) {
    return fmt::format("fill=\"{}\"", colour_of(static_cast<int>(colour % 12)));
  }
  static constexpr const char* hatched = "fill=\"url(#hatch)\" stroke=\"#999\" stroke-width=\"0.5\"";
  static constexpr const char* faint = "stroke=\"#ccc\"";
  static constexpr const char* dashed = "stroke=\"#000\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";
  static constexpr const char* to_the_left = "text-anchor=\"end\"";

  /// Lines of words that are as wide as the drawing at most.
  void about(const std::string& words) {
    std::string shown;
    const auto end_line = [&] {
      if (!shown.empty()) text(margin, y += 14, shown, "fill=\"#555\"");
      shown.clear();
    };
    for (std::size_t at = 0; at < words.size();) {
      const std::size_t end = std::min(words.find_first_of(" \n", at), words.size());
      if (static_cast<double>(shown.size() + end - at) * letter > wide - 2 * margin) end_line();
      if (!shown.empty()) shown += ' ';
      shown.append(words, at, end - at);
      if (end < words.size() && words[end] == '\n') end_line();
      at = end + 1;
    }
    end_line();
    y += 8;
  }

  void legend(const std::vector<std::pair<std::string, std::size_t>>& names) {
    double x = margin;
    y += 8;
    for (const auto& [name, colour] : names) {
      const double width = 24 + letter * static_cast<double>(name.size());
      if (x > margin && x + width > wide) x = margin, y += 16;
      body += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"10\" height=\"10\" {}/>\n", x, y, fill(colour));
      text(x + 14, y + 9, name);
      x += width;
    }
    y += 16;
  }
  /// Multiples of a round step from 0 on, `most` or fewer steps: a power of 2 of bytes, else 1, 2 or 5 times a power of 10.
  static std::vector<double> ticks(double to, int most, const std::string& unit) {
    const double least = to / most;
    if (!(least > 0)) return {0};
    const double ten = std::pow(10.0, std::floor(std::log10(least)));
    double step = std::exp2(std::ceil(std::log2(least)));
    if (unit != "bytes")
      for (const int times : {10, 5, 2, 1})
        if (ten * times >= least * (1 - 1e-9)) step = ten * times;
    std::vector<double> out;
    for (int k = 0; k * step <= to + step * 1e-9; ++k) out.push_back(k * step);
    return out;
  }

  void time_axis(double total, const std::string& unit) {
    for (const double time : ticks(total, 8, unit)) {
      const double x = left + (total > 0 ? time / total : 0) * inner;
      line(x, y, x, y + 5, faint);
      text(x, y + 17, words(time, unit), x > wide - margin - 24 ? to_the_left : "text-anchor=\"middle\"");
    }
    y += 22;
  }

  void inside(double x, double at, const std::string& words, std::size_t colour) {
    const std::size_t c = colour % 12;
    text(x, at, words, c == 0 || c == 8 || c == 10 ? "font-size=\"10\" fill=\"#fff\"" : "font-size=\"10\"");
  }

  /// Between powers of ten: these, where there are few with 2 and 5 times of each; of bytes powers of two, 8 or fewer steps.
  static std::vector<double> round_values(double low, double high, const std::string& unit) {
    std::vector<double> out;
    const double two = std::log10(2.0), step = std::max(1.0, std::ceil((high - low) / two / 8));
    if (unit == "bytes")
      for (double k = std::ceil(low / two / step); k * step * two <= high; ++k) out.push_back(std::exp2(k * step));
    else
      for (double power = std::floor(low); power <= high; ++power)
        for (const int times : {1, 2, 5})
          if (const double at = power + std::log10(times); at >= low && at <= high && (times == 1 || high - low < 2))
            out.push_back(times * std::pow(10.0, power));
    return out;
  }
};

}}}}  // namespace hyperparallel::v0_2::report::detail
