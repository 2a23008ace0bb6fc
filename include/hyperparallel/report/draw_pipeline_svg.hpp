// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline schedule as an SVG drawing: one lane a rank, a box for each action, and below them, on the same time axis, what
// each rank holds.
//
// A box has its micro-batch's colour, its kind's shade (I darker than F, B darkest, W hatched) and its chunk's border; an
// overlapped pair is one box split in two, the F above; what takes no time is a tick above the lane. The label of a box is
// its action as torch spells it, where it fits, and its tooltip has the times. The drawing needs nothing beside itself.
// Law: equal inputs give equal bytes.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/report/draw_pipeline.hpp>
#include <hyperparallel/report/svg_text.hpp>
#include <hyperparallel/report/text_sink.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

namespace detail {

/// Actions up to which a schedule is drawn: some four megabytes of text.
inline constexpr int most_drawn_actions = 20'000;

}  // namespace detail

struct pipeline_svg_options {
  int width = 1200;  ///< of the lanes, in SVG units
  std::string unit;  ///< of times, behind the axis
};

namespace detail {

template <text_sink Sink>
class pipeline_svg {
 public:
  pipeline_svg(Sink& sink, const pipeline_drawing& d, const pipeline_svg_options& options)
      : sink_(sink), d_(d), options_(options) {}

  void write() {
    const int lanes = top + d_.ranks * lane_pitch, curves = lanes + 40, legend = curves + d_.ranks * curve_pitch + 16;
    begin(legend + 44);
    for (int r = 0; r < d_.ranks; ++r) lane(r);
    axis(lanes);
    text(margin, curves - 4, d_.in_bytes ? "activations" : "activations of a chunk, each held until W or B");
    for (int r = 0; r < d_.ranks; ++r) curve(r, curves + r * curve_pitch);
    explain(legend);
    sink_.write("</svg>\n");
  }

 private:
  static constexpr int margin = 56, right = 64, top = 50, lane_height = 24, lane_pitch = 32;
  static constexpr int curve_height = 22, curve_pitch = 30, colours = 8, borders = 4;

  /// At most two decimals, without zeros at the end.
  static std::string number(double x) {
    std::string out = fmt::format("{:.2f}", x);
    while (out.back() == '0') out.pop_back();
    if (out.back() == '.') out.pop_back();
    return out;
  }
  double at(std::int64_t time) const {
    const double whole = static_cast<double>(d_.account.makespan);
    return whole > 0 ? static_cast<double>(time) / whole * options_.width : 0.0;
  }
  void text(double x, int y, const std::string& words, const char* more = "") {
    sink_.write(fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", number(x), y, more, xml_text(words)));
  }

  void begin(int height) {
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" font-family=\"sans-serif\" "
        "font-size=\"9\">\n<title>{}; {}</title>\n<defs>\n",
        margin + options_.width + right, height, xml_text(title_of(d_)), xml_text(figures_of(d_)));
    std::string style = ".b{stroke:#333;stroke-width:.6}.c1{stroke-width:1.8}.c2{stroke-dasharray:3 1.5}";
    style += ".c3{stroke-width:1.8;stroke-dasharray:3 1.5}.F{fill-opacity:.3}.I{fill-opacity:.55}.B{fill-opacity:.8}";
    style +=
        ".R{fill-opacity:.15}.n{fill:none}.t{stroke:#333}.l{text-anchor:middle;pointer-events:none}.h{fill:#dde;stroke:"
        "#446}";
    style += ".p{fill:none;stroke:#b00;stroke-dasharray:2 2}";
    for (int i = 0; i < colours; ++i) {
      out += fmt::format(
          "<pattern id=\"w{0}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 5L5 0\" "
          "stroke=\"{1}\" stroke-opacity=\".5\"/></pattern>\n",
          i, colour_of(i));
      style += fmt::format(".m{0}{{fill:{1}}}.W.m{0}{{fill:url(#w{0})}}", i, colour_of(i));
    }
    sink_.write(out + "</defs>\n<style>" + style + "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    text(margin, 18, title_of(d_), " font-size=\"14\"");
    text(margin, 34, figures_of(d_), " font-size=\"11\"");
  }

  std::string classes(const pipeline_action& a) const {
    return fmt::format("b {} m{} c{}", action_letters(a.kind)[0], a.micro_batch % colours, d_.chunk_of(a) % borders);
  }
  std::string box(const pipeline_action& a, const pipeline_box& b, int y, int height) const {
    const double x = at(b.start), width = at(b.end) - x;
    const std::string label = to_text(a);
    std::string out = fmt::format(
        "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}, {} to {}</title></rect>\n",
        classes(a), number(x), y, number(width), height, label, b.start, b.end);
    if (width > 5.2 * static_cast<double>(label.size()) + 2)
      out += fmt::format("<text class=\"l\" x=\"{}\" y=\"{}\">{}</text>\n", number(x + width / 2), y + height / 2 + 3,
                         label);
    return out;
  }
  std::string tick(const pipeline_action& a, const pipeline_box& b) const {
    return fmt::format("<path class=\"t\" d=\"M{} -4v4\"><title>{}, at {}</title></path>\n", number(at(b.start)),
                       to_text(a), b.start);
  }

  void lane(int r) {
    std::string out = fmt::format(
        "<g transform=\"translate({} {})\">\n<text x=\"-8\" y=\"15\" text-anchor=\"end\">rank {}"
        "</text>\n",
        margin, top + r * lane_pitch, r);
    for (const pipeline_box& b : d_.row[static_cast<std::size_t>(r)]) {
      if (!b.takes_time()) {
        out += tick(b.action, b);
        if (b.is_pair) out += tick(b.beside, b);
      } else {
        out += box(b.action, b, 0, b.is_pair ? lane_height / 2 : lane_height);
        if (b.is_pair) out += box(b.beside, b, lane_height / 2, lane_height / 2);
      }
    }
    sink_.write(out + "</g>\n");
  }

  /// Marks at multiples of 1, 2 or 5 times a power of ten, at most twelve, and at the makespan.
  void axis(int y) {
    const std::int64_t makespan = d_.account.makespan;
    std::int64_t power = 1, step = 1;
    while (makespan / step > 12) {
      if (step == power)
        step = 2 * power;
      else if (step == 2 * power)
        step = 5 * power;
      else
        step = power *= 10;
    }
    sink_.write(fmt::format("<path class=\"t\" d=\"M{0} {1}h{2}\"/>\n", margin, y, options_.width));
    const auto mark = [&](std::int64_t time, const std::string& label) {
      sink_.write(fmt::format("<path class=\"t\" d=\"M{} {}v3\"/>\n", number(margin + at(time)), y));
      text(margin + at(time), y + 12, label, " text-anchor=\"middle\"");
    };
    for (std::int64_t i = 0; i <= makespan / step; ++i)
      if (makespan - i * step >= step / 2 || makespan == i * step) mark(i * step, std::to_string(i * step));
    if (makespan % step != 0) mark(makespan, std::to_string(makespan));
    if (!options_.unit.empty()) text(margin + options_.width + 14, y + 12, options_.unit);
  }

  void curve(int r, int y) {
    const double most = static_cast<double>(d_.peak() > 0 ? d_.peak() : 1);
    const auto height = [&](std::int64_t amount) {
      return number(curve_height - static_cast<double>(amount) / most * curve_height);
    };
    std::string path = fmt::format("M0 {}", curve_height);
    std::int64_t peak_time = -1;
    for (const activation_step& s : d_.held[static_cast<std::size_t>(r)]) {
      path += fmt::format("H{}V{}", number(at(s.time)), height(s.amount));
      if (peak_time < 0 && s.amount == d_.peak(r)) peak_time = s.time;
    }
    const std::string at_peak = height(d_.peak(r));
    sink_.write(fmt::format(
        "<g transform=\"translate({} {})\">\n<text x=\"-8\" y=\"15\" text-anchor=\"end\">rank {}</text>\n"
        "<path class=\"h\" d=\"{}H{}V{}z\"/>\n<path class=\"p\" d=\"M0 {}H{}\"/>\n"
        "<circle cx=\"{}\" cy=\"{}\" r=\"2.5\" fill=\"#b00\"/>\n</g>\n",
        margin, y, r, path, options_.width, curve_height, at_peak, options_.width, number(at(peak_time)), at_peak));
    text(margin + options_.width + 4, y + curve_height / 2 + 3, "peak " + d_.amount_text(d_.peak(r)));
  }

  void explain(int y) {
    bool used[hyperparallel::detail::action_kinds] = {};
    for (const std::vector<pipeline_box>& row : d_.row)
      for (const pipeline_box& b : row) {
        used[static_cast<int>(b.action.kind == action_kind::overlapped_forward ? action_kind::forward
                                                                               : b.action.kind)] = true;
        if (b.is_pair) used[static_cast<int>(b.beside.kind)] = true;
      }
    int x = margin;
    const auto entry = [&](const std::string& of, const std::string& words) {
      sink_.write(fmt::format("<rect class=\"b {}\" x=\"{}\" y=\"{}\" width=\"16\" height=\"12\"/>\n", of, x, y));
      text(x + 20, y + 10, words);
      x += 32 + 5 * static_cast<int>(words.size());
    };
    constexpr std::pair<action_kind, const char*> kinds[] = {
        {action_kind::forward, "F forward"},
        {action_kind::input_gradient, "I gradient of the input"},
        {action_kind::weight_gradient, "W gradient of the weights"},
        {action_kind::backward, "B backward"},
        {action_kind::recompute, "RECOMPUTE"}};
    for (const auto& [kind, words] : kinds)
      if (used[static_cast<int>(kind)]) entry(fmt::format("{} m0 c0", action_letters(kind)[0]), words);
    for (int c = 0; d_.chunks > 1 && c < d_.chunks && c < borders; ++c)
      entry(fmt::format("n c{}", c),
            fmt::format("chunk {} of its rank{}", c, d_.chunks > borders && c == 0 ? " (modulo 4)" : ""));
    x = margin;
    y += 18;
    for (int k = 0; k < d_.micro_batches && k < colours; ++k)
      entry(fmt::format("F m{}", k),
            fmt::format("micro-batch {}{}", k, d_.micro_batches > colours && k == 0 ? " (modulo 8)" : ""));
  }

  Sink& sink_;
  const pipeline_drawing& d_;
  const pipeline_svg_options& options_;
};

}  // namespace detail

/// The drawing. Throws std::length_error of more than `most_drawn_actions`, before anything is written. O(entries).
template <text_sink Sink>
void write_pipeline_svg(Sink& sink, const pipeline_drawing& d, const pipeline_svg_options& options = {}) {
  std::size_t actions = 0;
  for (const std::vector<pipeline_box>& row : d.row)
    for (const pipeline_box& b : row) actions += b.is_pair ? 2 : 1;
  if (actions > static_cast<std::size_t>(detail::most_drawn_actions))
    throw std::length_error(
        fmt::format("the schedule has {} actions, and a drawing takes {} at most; its text and its "
                    "trace take any number",
                    actions, detail::most_drawn_actions));
  detail::pipeline_svg<Sink>(sink, d, options).write();
}

}}}  // namespace hyperparallel::v0_2::report
