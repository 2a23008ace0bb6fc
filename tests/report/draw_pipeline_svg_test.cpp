// SPDX-License-Identifier: Apache-2.0
// The drawing is well-formed XML with an element for each action, where its times lie.

#include <hyperparallel/report/draw_pipeline_svg.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <hyperparallel/pipeline/place_transfers.hpp>
#include <hyperparallel/pipeline/schedule_list.hpp>

namespace hp = hyperparallel;
namespace report = hyperparallel::report;

namespace {

/// Elements by name, where every tag is closed in turn and every '&' begins an entity; empty otherwise.
std::map<std::string, int> elements_of(const std::string& xml) {
  std::map<std::string, int> count;
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size();) {
    const std::size_t tag = xml.find('<', at), end = xml.find('>', tag);
    const std::string text = xml.substr(at, tag - at);
    for (std::size_t and_sign = text.find('&'); and_sign != std::string::npos; and_sign = text.find('&', and_sign + 1))
      if (text.find(';', and_sign) == std::string::npos) return {};
    if (tag == std::string::npos) break;
    if (end == std::string::npos || text.find('>') != std::string::npos) return {};
    const std::string inside = xml.substr(tag + 1, end - tag - 1);
    if (std::count(inside.begin(), inside.end(), '"') % 2 != 0 || inside.find('<') != std::string::npos) return {};
    const std::string name = inside.substr(0, inside.find_first_of(" /", 1));
    at = end + 1;
    if (name[0] == '/') {
      if (open.empty() || "/" + open.back() != name) return {};
      open.pop_back();
      continue;
    }
    ++count[name];
    if (inside.back() != '/') open.push_back(name);
  }
  return open.empty() ? count : std::map<std::string, int>{};
}

std::string svg_of(const report::pipeline_drawing& d, const report::pipeline_svg_options& options = {}) {
  report::string_sink sink;
  report::write_pipeline_svg(sink, d, options);
  return sink.text;
}

double number(const std::string& element, const std::string& attribute) {
  return std::stod(element.substr(element.find(" " + attribute + "=\"") + attribute.size() + 3));
}

TEST(draw_pipeline_svg, has_a_box_for_each_action_where_its_times_lie) {
  for (const hp::named_schedule& named : hp::schedule_table.item) {
    const hp::pipeline_shape shape{4, named.fixed_chunks > 0 ? named.fixed_chunks : 2, 8};
    if (!named.check(shape).ok()) continue;
    const report::pipeline_drawing d =
        report::drawing_of(named.generate(shape, false), hp::equal_stages({10, 11, 8}, 1), {}, named.name);
    const std::string svg = svg_of(d, {.width = 1000, .unit = "us"});
    EXPECT_EQ(svg, svg_of(d, {.width = 1000, .unit = "us"}));
    std::map<std::string, int> elements = elements_of(svg);
    ASSERT_FALSE(elements.empty()) << svg;
    EXPECT_EQ(elements["svg"], 1);
    EXPECT_EQ(elements["circle"], d.ranks);
    EXPECT_EQ(elements["script"] + elements["image"] + elements["use"], 0);
    EXPECT_EQ(svg.find("http", svg.find("http") + 1), std::string::npos);  // the name space alone
    const double unit = 1000.0 / static_cast<double>(d.account.makespan);
    std::size_t at = 0;
    for (const std::vector<report::pipeline_box>& row : d.row)
      for (const report::pipeline_box& b : row) {
        for (const hp::pipeline_action* a : {&b.action, &b.beside}) {
          if (a == &b.beside && !b.is_pair) continue;
          at = svg.find("<title>" + hp::to_text(*a) + ", ", at);
          ASSERT_NE(at, std::string::npos) << hp::to_text(*a);
          const std::string element = svg.substr(svg.rfind("<rect ", at), 200);
          EXPECT_NEAR(number(element, "x"), static_cast<double>(b.start) * unit, 0.006);
          EXPECT_NEAR(number(element, "width"), static_cast<double>(b.end - b.start) * unit, 0.011);
          EXPECT_EQ(number(element, "height"), b.is_pair ? 12 : 24);
          EXPECT_EQ(number(element, "y"), b.is_pair && a == &b.beside ? 12 : 0);
        }
      }
    EXPECT_NE(svg.find(report::figures_of(d)), std::string::npos);
  }
}

TEST(draw_pipeline_svg, actions_without_time_are_ticks) {
  const hp::pipeline_schedule s = hp::place_transfers(hp::generate<hp::gpipe>({2, 1, 2}));
  const std::string svg = svg_of(report::drawing_of(s));
  EXPECT_NE(svg.find("<path class=\"t\" d=\"M133.33 -4v4\"><title>0SEND_F0, at 1</title></path>"), std::string::npos)
      << svg;
  EXPECT_FALSE(elements_of(svg).empty());
  EXPECT_FALSE(elements_of(svg_of(report::drawing_of(s, hp::equal_stages({0, 0, 0})))).empty());
}

TEST(draw_pipeline_svg, peaks_and_curves_are_in_bytes_where_costs_have_them) {
  hp::pipeline_costs c;
  c.bytes.push({3 << 20, 1 << 20});
  const std::string svg = svg_of(report::drawing_of(hp::generate<hp::one_forward_one_backward>({2, 1, 3}), c));
  EXPECT_NE(svg.find(">peak 8.0 MiB</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<path class=\"h\" d=\"M0 22H0V22H0V11H100V0"), std::string::npos) << svg;
}

TEST(draw_pipeline_svg, text_is_escaped) {
  const report::pipeline_drawing d = report::drawing_of(hp::generate<hp::gpipe>({2, 1, 2}), {}, {}, "<a & \"b\">");
  const std::string svg = svg_of(d, {.unit = "<s>"});
  EXPECT_FALSE(elements_of(svg).empty());
  EXPECT_NE(svg.find("&lt;a &amp; &quot;b&quot;&gt;"), std::string::npos);
  EXPECT_NE(svg.find("&lt;s&gt;"), std::string::npos);
}

TEST(draw_pipeline_svg, more_actions_than_a_drawing_takes_are_refused) {
  report::string_sink sink;
  EXPECT_THROW(report::write_pipeline_svg(sink, report::drawing_of(hp::generate<hp::gpipe>({11, 1, 1000}))),
               std::length_error);
  EXPECT_EQ(sink.text, "");
  EXPECT_NO_THROW(report::write_pipeline_svg(sink, report::drawing_of(hp::generate<hp::gpipe>({10, 1, 1000}))));
}

}  // namespace
