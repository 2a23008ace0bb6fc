// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pictures of a page (page.hpp has their JSON) as one SVG drawing, below each other: for papers, and for whatever runs no
// script. `Json` is a type of nlohmann-json.
//
//   hp::report::write_pictures_svg(file, "hp plan: llama on 64 devices", document["pictures"]);
//
// Laws: as on the page, a picture has one element of class "mark" for each item, a span or gap of a timeline, a kind of
// areas, a part of each row of bars, a cell of a matrix, whose sizes are in the ratio of its numbers, a dot of a scatter; time axes show the whole
// time; equal inputs give equal bytes; the drawing refers to nothing outside itself. O(items).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <hyperparallel/report/svg_canvas.hpp>
#include <hyperparallel/report/text_sink.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

namespace detail {

template <class Json>
class svg_pictures : public svg_canvas {
 public:
  void add(const Json& picture) {
    const std::string kind = text_of(picture, "kind");
    text(margin, y + 14, text_of(picture, "title"), "font-size=\"14\" font-weight=\"bold\"");
    y += 20;
    about(text_of(picture, "about"));
    if (kind == "timeline") timeline(picture);
    if (kind == "areas") areas(picture);
    if (kind == "bars") bars(picture);
    if (kind == "matrix") matrix(picture);
    if (kind == "scatter") scatter(picture);
    y += 26;
  }

 private:
  static std::string text_of(const Json& j, const char* name) { return j.value(name, std::string()); }
  static std::string word(const Json& j) { return j.template get<std::string>(); }
  static double number(const Json& j) { return j.template get<double>(); }

  using svg_canvas::legend;
  void legend(const Json& names) {
    std::vector<std::pair<std::string, std::size_t>> numbered;
    for (const Json& name : names) numbered.emplace_back(word(name), numbered.size());
    legend(numbered);
  }

  void timeline(const Json& p) {
    constexpr double row_height = 24;
    const Json &rows = p.at("rows"), &names = p.at("names"), &groups = p.at("groups");
    const std::string unit = text_of(p, "unit");
    const double total = number(p.at("total")), scale = total > 0 ? inner / total : 0;
    for (std::size_t r = 0; r < rows.size(); ++r)
      text(margin, y + static_cast<double>(r) * row_height + 16, cut(word(rows[r]), left - 2 * margin));
    if (p.contains("gaps"))
      for (const Json& g : p.at("gaps"))
        rect("mark", left + number(g[1]) * scale, y + number(g[0]) * row_height + 2, number(g[2]) * scale,
             row_height - 4, hatched);
    std::set<std::size_t> used;
    for (const Json& s : p.at("spans")) {
      const auto group = s[1].template get<std::size_t>();
      const double x = left + number(s[3]) * scale, top = y + number(s[0]) * row_height, width = number(s[4]) * scale;
      used.insert(group);
      rect("mark", x, top + 2, width, row_height - 4, fill(group));
      if (width > 46) inside(x + 3, top + 16, cut(word(names[s[2].template get<std::size_t>()]), width - 4), group);
    }
    y += static_cast<double>(rows.size()) * row_height + 4;
    time_axis(total, unit);
    std::vector<std::pair<std::string, std::size_t>> shown;
    for (const std::size_t group : used) shown.emplace_back(word(groups[group]), group);
    legend(shown);
  }
  void areas(const Json& p) {
    constexpr double high = 200;
    const Json &points = p.at("points"), &kinds = p.at("kinds");
    const std::string unit = text_of(p, "unit");
    const double total = number(p.at("total")), limit = p.contains("limit") ? number(p["limit"].at("value")) : 0;
    std::set<std::size_t> evenly;
    if (p.contains("evenly"))
      for (const Json& at : p.at("evenly")) evenly.insert(at.template get<std::size_t>());
    std::vector<std::vector<double>> sum;  // of the first k kinds, by point
    double most = limit;
    for (const Json& point : points) {
      std::vector<double>& s = sum.emplace_back(1, 0.0);
      for (std::size_t k = 0; k < kinds.size(); ++k) s.push_back(s.back() + number(point[k + 1]));
      most = std::max(most, s.back());
    }
    const double top = most > 0 ? most * 1.05 : 1, scale = total > 0 ? inner / total : 0, bottom = y + high;
    const auto height = [&](double value) { return bottom - value / top * high; };
    for (const double value : ticks(top, 6, unit)) {
      line(left, height(value), wide - margin, height(value), faint);
      text(left - 6, height(value) + 4, words(value, unit), to_the_left);
    }
    const auto edge = [&](std::size_t k) {
      std::vector<std::pair<double, double>> out;
      for (std::size_t i = 0; i < points.size(); ++i) {
        const bool last = i + 1 == points.size();
        out.emplace_back(number(points[i][0]), sum[i][k]);
        out.emplace_back(last ? total : number(points[i + 1][0]),
                         !last && evenly.count(i) > 0 ? sum[i + 1][k] : sum[i][k]);
      }
      return out;
    };
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      std::vector<std::pair<double, double>> outline = edge(k + 1), under = edge(k);
      outline.insert(outline.end(), under.rbegin(), under.rend());
      body += "<path class=\"mark\" d=\"";
      for (std::size_t i = 0; i < outline.size(); ++i)
        body += fmt::format("{}{:.2f} {:.2f}", i == 0 ? "M" : "L", left + outline[i].first * scale,
                            height(outline[i].second));
      body += fmt::format("Z\" {}/>\n", fill(k));
    }
    if (p.contains("gaps"))
      for (const Json& g : p.at("gaps")) {
        const double x = left + number(g[0]) * scale, width = number(g[1]) * scale;
        body += fmt::format("<rect x=\"{:.3f}\" y=\"{:.2f}\" width=\"{:.3f}\" height=\"{:.2f}\" {}/>\n", x, y, width,
                            high, hatched);
        if (width > 80) text(x + 6, y + high / 2, cut(word(g[2]), width - 12));
      }
    if (p.contains("limit")) {
      line(left, height(limit), wide - margin, height(limit), dashed);
      text(wide - margin - 4, height(limit) - 4, text_of(p["limit"], "name") + ", " + words(limit, unit), to_the_left);
    }
    y = bottom;
    time_axis(total, text_of(p, "x_unit"));
    legend(kinds);
  }

  void bars(const Json& p) {
    constexpr double row_height = 22, name_width = 330, room = wide - name_width - 90;
    const std::string unit = text_of(p, "unit");
    const double limit = p.contains("limit") ? number(p["limit"].at("value")) : 0, begin = y;
    double most = limit;
    for (const Json& row : p.at("rows")) most = std::max(most, sum_of(row.at("values")));
    const double scale = most > 0 ? room / most : 0;
    for (const Json& row : p.at("rows")) {
      double x = name_width;
      std::size_t part = 0;
      text(x - 8, y + 15, cut(text_of(row, "name"), name_width - 2 * margin), to_the_left);
      for (const Json& value : row.at("values")) {
        rect("mark", x, y + 3, number(value) * scale, row_height - 6, fill(part++));
        x += number(value) * scale;
      }
      text(x + 6, y + 15, words(sum_of(row.at("values")), unit));
      y += row_height;
    }
    if (p.contains("limit")) {
      const double x = name_width + limit * scale;
      line(x, begin, x, y + 4, dashed);
      text(x - 4, y + 14, text_of(p["limit"], "name") + ", " + words(limit, unit), to_the_left);
      y += 16;
    }
    legend(p.at("parts"));
  }
  static double sum_of(const Json& values) {
    double sum = 0;
    for (const Json& value : values) sum += number(value);
    return sum;
  }

  void matrix(const Json& p) {
    constexpr double row_height = 22, name_width = 190;
    const Json &rows = p.at("rows"), &columns = p.at("columns"), &values = p.at("values");
    const std::string unit = text_of(p, "unit");
    const double width =
        std::min(150.0, (wide - name_width - margin) / static_cast<double>(std::max<std::size_t>(columns.size(), 1)));
    double most = 0;
    for (const Json& row : values)
      for (const Json& value : row) most = std::max(most, number(value));
    text(name_width, y + 12, text_of(p, "column_name"), "fill=\"#555\"");
    text(name_width - 8, y + 26, text_of(p, "row_name"), "text-anchor=\"end\" fill=\"#555\"");
    for (std::size_t j = 0; j < columns.size(); ++j)
      text(name_width + (static_cast<double>(j) + 0.5) * width, y + 26, cut(word(columns[j]), width),
           "text-anchor=\"middle\"");
    y += 32;
    for (std::size_t i = 0; i < rows.size(); ++i, y += row_height) {
      text(name_width - 8, y + 15, cut(word(rows[i]), name_width - 2 * margin), to_the_left);
      for (std::size_t j = 0; j < columns.size(); ++j) {
        const double value = number(values[i][j]), x = name_width + static_cast<double>(j) * width;
        const bool told = p.contains("texts");
        rect("mark", x + 1, y + 1, width - 2, row_height - 2,
             value == 0 ? "fill=\"none\""
             : told     ? fill(4)
                        : fill(0) + fmt::format(" fill-opacity=\"{:.3f}\"", 0.12 + 0.88 * value / most));
        if (width <= 40) continue;
        const std::string shown = told ? word(p["texts"][i][j]) : value > 0 ? words(value, unit) : "";
        text(x + width / 2, y + 15, cut(shown, width),
             !told && value > most / 2 ? "text-anchor=\"middle\" fill=\"#fff\"" : "text-anchor=\"middle\"");
      }
    }
  }

  /// Two amounts of each dot on logarithmic scales of one range, the diagonal, and lines a share beside it.
  void scatter(const Json& p) {
    constexpr double side = 480;
    const Json &dots = p.at("dots"), &groups = p.at("groups");
    const std::string unit = text_of(p, "unit");
    double low = 300, high = -300;
    for (const Json& dot : dots)
      for (const int axis : {0, 1}) {
        low = std::min(low, std::log10(number(dot[static_cast<std::size_t>(axis)])));
        high = std::max(high, std::log10(number(dot[static_cast<std::size_t>(axis)])));
      }
    if (dots.empty()) return;
    low -= 0.1, high += 0.1;
    const double bottom = y + side, scale = side / (high - low);
    const auto x_of = [&](double logarithm) { return left + (logarithm - low) * scale; };
    const auto y_of = [&](double logarithm) { return bottom - (logarithm - low) * scale; };
    for (const double value : round_values(low, high, unit)) {
      const double at = std::log10(value);
      line(x_of(at), y, x_of(at), bottom, faint);
      line(left, y_of(at), left + side, y_of(at), faint);
      text(x_of(at), bottom + 14, words(value, unit), "text-anchor=\"middle\"");
      text(left - 6, y_of(at) + 4, words(value, unit), to_the_left);
    }
    const double share = p.value("band", 0.0);
    for (const double off : {0.0, share, -share}) {
      const double by = std::log10(1 + off), from = std::max(low, low - by), to = std::min(high, high - by);
      line(x_of(from), y_of(from + by), x_of(to), y_of(to + by), off == 0 ? "stroke=\"#000\"" : dashed);
    }
    text(left + side, bottom + 28, text_of(p, "x_name"), "text-anchor=\"end\" fill=\"#555\"");
    text(margin, y + 10, text_of(p, "y_name"), "fill=\"#555\"");
    std::set<std::size_t> used;
    for (const Json& dot : dots) {
      const auto group = dot[2].template get<std::size_t>();
      used.insert(group);
      body += fmt::format(
          "<circle class=\"mark\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"3.5\" {}><title>{}</title></circle>\n",
          x_of(std::log10(number(dot[0]))), y_of(std::log10(number(dot[1]))), fill(group), xml_text(word(dot[3])));
    }
    y = bottom + 34;
    std::vector<std::pair<std::string, std::size_t>> shown;
    for (const std::size_t group : used) shown.emplace_back(word(groups[group]), group);
    legend(shown);
  }
};

}  // namespace detail

/// Domain: `pictures` is an array of pictures as page.hpp describes them.
template <text_sink Sink, class Json>
void write_pictures_svg(Sink& sink, std::string_view title, const Json& pictures) {
  detail::svg_pictures<Json> drawn;
  for (const Json& picture : pictures) drawn.add(picture);
  sink.write(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" "
      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" "
      "fill=\"#eee\"/><line y2=\"7\" stroke=\"#999\" stroke-width=\"3\"/></pattern></defs>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"{:.0f}\" y=\"20\" font-size=\"16\">{}"
      "</text>\n",
      drawn.wide, drawn.y, drawn.margin, detail::xml_text(title)));
  sink.write(drawn.body);
  sink.write("</svg>\n");
}

}}}  // namespace hyperparallel::v0_2::report
