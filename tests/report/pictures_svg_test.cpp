// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/pictures_svg.hpp>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace {

namespace hp = hyperparallel;
using json = nlohmann::json;

std::string drawing_of(const std::vector<json>& pictures, const std::string& title = "t") {
  hp::report::string_sink sink;
  hp::report::write_pictures_svg(sink, title, json(pictures));
  return sink.text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

const std::string mark = "class=\"mark\"";

/// The attribute `name` of each mark, in order.
std::vector<double> marks(const std::string& text, const std::string& name) {
  std::vector<double> out;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t from = text.find(" " + name + "=\"", at) + name.size() + 3;
    out.push_back(std::stod(text.substr(from)));
  }
  return out;
}

json bars(const std::vector<std::vector<int>>& values) {
  json rows = json::array(), parts = json::array();
  for (std::size_t k = 0; k < values.at(0).size(); ++k) parts.push_back("part " + std::to_string(k));
  for (const std::vector<int>& row : values)
    rows.push_back({{"name", "row " + std::to_string(rows.size())}, {"values", row}});
  return {{"kind", "bars"}, {"title", "b"}, {"unit", "bytes"}, {"parts", parts}, {"rows", rows}};
}

const json timeline =
    json::parse(R"({"kind": "timeline", "title": "steps", "about": "all", "unit": "seconds", "total": 10,
  "rows": ["computing", "links"], "groups": ["forward", "backward"], "names": ["a", "b"],
  "spans": [[0, 0, 0, 0, 5], [0, 1, 1, 5, 2.5], [1, 1, 0, 1, 1]], "gaps": [[0, 7.5, 2.5, "more"]]})");
const json areas = json::parse(R"({"kind": "areas", "title": "memory", "unit": "bytes", "x_unit": "seconds", "total": 2,
  "kinds": ["parameters", "activations"], "points": [[0, 10, 0], [1, 10, 30]], "evenly": [0],
  "limit": {"name": "what there is", "value": 50}})");
const json matrix = json::parse(R"({"kind": "matrix", "title": "m", "unit": "bytes", "row_name": "rank", "column_name":
  "from", "rows": ["0", "1"], "columns": ["0", "1", "2"], "values": [[0, 1024, 2], [3, 0, 4]]})");

const json scatter =
    json::parse(R"({"kind": "scatter", "title": "s", "unit": "seconds", "x_name": "measured", "y_name": "predicted",
  "band": 0.2, "groups": ["a", "b"], "dots": [[1, 1, 0, "one"], [10, 100, 1, "two"], [0.1, 0.1, 0, "three <"]]})");

TEST(PicturesSvg, HasAMarkForEachItem) {
  EXPECT_EQ(count(drawing_of({timeline}), mark), 4u);
  EXPECT_EQ(count(drawing_of({areas}), mark), 2u);
  EXPECT_EQ(count(drawing_of({bars({{1, 2, 3}, {4, 5, 6}})}), mark), 6u);
  EXPECT_EQ(count(drawing_of({matrix}), mark), 6u);
  EXPECT_EQ(count(drawing_of({timeline, areas, matrix}), mark), 12u);
  EXPECT_EQ(count(drawing_of({scatter}), mark), 3u);
  EXPECT_EQ(count(drawing_of({}), mark), 0u);
}

// Equal amounts lie on the diagonal, a tenth is as far from one as one from ten, and lines at the share lie beside it.
TEST(PicturesSvg, ScatterIsLogarithmic) {
  const std::string drawing = drawing_of({scatter});
  std::vector<std::array<double, 2>> dots;
  for (std::size_t at = drawing.find("cx=\""); at != drawing.npos; at = drawing.find("cx=\"", at + 1))
    dots.push_back({std::stod(drawing.substr(at + 4)), std::stod(drawing.substr(drawing.find("cy=\"", at) + 4))});
  ASSERT_EQ(dots.size(), 3u);
  EXPECT_NEAR(dots[0][0] - dots[2][0], dots[2][1] - dots[0][1], 0.02);
  EXPECT_NEAR(dots[1][0] - dots[0][0], dots[0][0] - dots[2][0], 0.02);
  EXPECT_NEAR(dots[0][1] - dots[1][1], 2 * (dots[2][1] - dots[0][1]), 0.03);
  EXPECT_EQ(count(drawing, "stroke-dasharray"), 2u);
  EXPECT_EQ(count(drawing, "<title>three &lt;</title>"), 1u);
  for (const char* round : {">1.000 s<", ">10.000 s<", ">100.000 s<", ">100.000 ms<"})
    EXPECT_EQ(count(drawing, round), 2u) << round;
  json bytes = scatter;
  bytes["unit"] = "bytes";
  bytes["dots"] = json::parse(R"([[1073741824, 2147483648, 0, "a"]])");
  for (const char* round : {">1.0 GiB<", ">2.0 GiB<"}) EXPECT_EQ(count(drawing_of({bytes}), round), 2u) << round;
}

// Scales have round numbers: seconds and plain ones 1, 2 or 5 times a power of ten, bytes a power of two.
TEST(PicturesSvg, ScalesHaveRoundNumbers) {
  const auto has = [](const std::string& drawing, const std::vector<std::string>& labels) {
    for (const std::string& label : labels) EXPECT_EQ(count(drawing, ">" + label + "</text>"), 1u) << label;
  };
  json plain = timeline;
  plain["unit"] = "";
  for (const auto& [total, labels, beyond] : std::vector<std::tuple<double, std::vector<std::string>, std::string>>{
           {10, {"0", "2", "4", "6", "8", "10"}, "12"},
           {110, {"0", "20", "40", "60", "80", "100"}, "120"},
           {8, {"0", "1", "2", "3", "4", "5", "6", "7", "8"}, "9"},
           {0.03, {"0", "0.005", "0.01", "0.015", "0.02", "0.025", "0.03"}, "0.035"}}) {
    plain["total"] = total;
    has(drawing_of({plain}), labels);
    EXPECT_EQ(count(drawing_of({plain}), ">" + beyond + "</text>"), 0u);
  }
  has(drawing_of({areas}), {"0 B", "16 B", "32 B", "48 B", "500.000 ms", "1.500 s"});
  plain["total"] = 0;
  plain["spans"] = plain["gaps"] = json::array();
  has(drawing_of({plain}), {"0"});
}

// A span is as wide, in shares of the whole time, as it lasts, and begins where it does.
TEST(PicturesSvg, SpansLieInTheirTime) {
  const std::string text = drawing_of({timeline});
  const std::vector<double> x = marks(text, "x"), width = marks(text, "width");
  // The gap comes first.
  ASSERT_EQ(x.size(), 4u);
  const double second = width[1] / 5;
  EXPECT_NEAR(width[0], 2.5 * second, 0.01);
  EXPECT_NEAR(width[2], 2.5 * second, 0.01);
  EXPECT_NEAR(width[3], second, 0.01);
  EXPECT_NEAR(x[2] - x[1], 5 * second, 0.01);
  EXPECT_NEAR(x[3] - x[1], second, 0.01);
  EXPECT_NEAR(x[0] + width[0] - x[1], 10 * second, 0.01);
}

// Random bars: widths are in the ratio of the numbers, and each part begins where the one before it ends.
TEST(PicturesSvg, BarsAreInRatio) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::vector<int>> values(1 + random() % 4, std::vector<int>(1 + random() % 5));
    int most = 1;
    for (std::vector<int>& row : values) {
      int sum = 0;
      for (int& v : row) sum += v = 1 + static_cast<int>(random() % 1000);
      most = std::max(most, sum);
    }
    const std::string text = drawing_of({bars(values)});
    const std::vector<double> x = marks(text, "x"), width = marks(text, "width");
    std::size_t at = 0;
    for (const std::vector<int>& row : values)
      for (std::size_t k = 0; k < row.size(); ++k, ++at) {
        EXPECT_NEAR(width[at] / width[0], static_cast<double>(row[k]) / values[0][0],
                    0.01 * width[at] / width[0] + 0.01);
        if (k > 0) {
          EXPECT_NEAR(x[at], x[at - 1] + width[at - 1], 0.002);
        }
      }
    EXPECT_EQ(at, x.size());
  }
}

// One kind upon the other; between points that go evenly the edge is a slope, else a step.
TEST(PicturesSvg, AreasHoldOrGoEvenly) {
  const std::string even = drawing_of({areas});
  EXPECT_EQ(count(even, "what there is, 50 B"), 1u);
  // The second kind: from 10 rises to 40 at half of the time, and stays.
  const double bottom = 30 + 20 + 8 + 200, unit = 200 / (50 * 1.05);
  const auto at = [&](double x, double bytes) { return fmt::format("{:.2f} {:.2f}", x, bottom - bytes * unit); };
  const std::string slope = "M" + at(130, 10) + "L" + at(560, 40) + "L" + at(560, 40) + "L" + at(990, 40);
  EXPECT_EQ(count(even, slope), 1u) << even;
  json held = areas;
  held.erase("evenly");
  const std::string step = "M" + at(130, 10) + "L" + at(560, 10) + "L" + at(560, 40) + "L" + at(990, 40);
  EXPECT_EQ(count(drawing_of({held}), step), 1u);
}

// Texts end nothing, long ones are cut between characters, and nothing is referred to but the drawing's own pattern.
TEST(PicturesSvg, StandsByItself) {
  json odd = bars({{1}});
  odd["title"] = "<script>&\"";
  for (int i = 0; i < 100; ++i) odd["rows"][0]["name"] = odd["rows"][0]["name"].get<std::string>() + "\u00e9";
  const std::string text = drawing_of({odd, timeline}, "a < b");
  EXPECT_EQ(count(text, "<script"), 0u);
  EXPECT_EQ(count(text, "a &lt; b"), 1u);
  EXPECT_EQ(count(text, "\u00e9\u2026</text>"), 1u);
  EXPECT_EQ(count(text, "href"), 0u);
  EXPECT_EQ(count(text, "url(") - count(text, "url(#hatch)"), 0u);
  EXPECT_EQ(text.find("<svg "), 0u);
  EXPECT_EQ(text.rfind("</svg>\n"), text.size() - 7);
}

TEST(PicturesSvg, CanBeEmptyOrZero) {
  json none = timeline;
  none["total"] = 0;
  none["spans"] = json::array({json::array({0, 0, 0, 0, 0})});
  none["gaps"] = json::array();
  for (const json& picture : {none, bars({{0, 0}})}) {
    const std::string text = drawing_of({picture});
    EXPECT_EQ(count(text, "nan"), 0u);
    EXPECT_EQ(count(text, "inf"), 0u);
  }
}

}  // namespace
