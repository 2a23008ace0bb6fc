// SPDX-License-Identifier: Apache-2.0
#pragma once
// A page that shows a JSON document with its pictures: one HTML file that fetches nothing and opens without a server.
//
//   hp::report::write_page(file, "hp plan: llama on 64 devices", document);
//
// The document stands in the page as it is given; its member "pictures" is an array of what is drawn, and everything else
// becomes tables. Members of pictures:
//   all        "kind", "title", "about"; "unit" is "seconds", "bytes" or any word
//   timeline   "rows", "groups", "names": texts; "spans": [row, group, name, start, duration, …] with further numbers as
//              "details" calls them; "gaps": [row, start, duration, text]; "total"; "axis": pictures of one axis zoom together
//   areas      "kinds"; "points": [x, amount of each kind …], which hold up to the next; "x_unit", "total", "axis";
//              "limit": {"name", "value"}; "gaps": [x, width, text]; "labels" of the points; "evenly": numbers of points from
//              which it goes evenly to the next
//   bars       "parts"; "rows": [{"name", "values"}]; "limit"
//   matrix     "rows", "columns": names, told by "row_name" and "column_name"; "values" by row and column; "texts" likewise
//              where cells show words
//   scatter    "groups"; "dots": [x, y, group, text] with positive x and y. Both axes are logarithmic and have the same range; "x_name" and
//              "y_name" label them. "band": dashed lines show y = x · (1 ± band)
// Laws: what a parser reads from the page's script "data" is the document; equal inputs give equal bytes; the page names no
// address. O(bytes).

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <hyperparallel/report/page_pictures.hpp>
#include <hyperparallel/report/page_scatter.hpp>
#include <hyperparallel/report/page_script.hpp>
#include <hyperparallel/report/page_style.hpp>
#include <hyperparallel/report/svg_text.hpp>
#include <hyperparallel/report/text_sink.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace report {

namespace detail {

/// JSON that ends no script: '<' stands in strings alone, where \u003c is the same.
inline std::string json_in_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace detail

/// Domain: `json` is a JSON object.
template <text_sink Sink>
void write_page(Sink& sink, std::string_view title, std::string_view json) {
  const std::string name = detail::xml_text(title);
  sink.write(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>" +
      name + "</title>\n<style>\n:root {");
  for (int c = 0; c < 12; ++c) sink.write(fmt::format(" --c{}: {};", c, detail::colour_of(c)));
  sink.write(" }");
  sink.write(detail::page_style);
  sink.write("</style>\n</head>\n<body>\n<h1>" + name +
             "</h1>\n<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>"
             "<pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
             "patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"#8884\"/>"
             "<line y2=\"7\" stroke=\"#8889\" stroke-width=\"3\"/></pattern></defs></svg>\n"
             "<div id=\"pictures\"></div>\n<section id=\"figures\"><h2>Figures</h2></section>\n"
             "<div id=\"tip\" role=\"status\" hidden></div>\n<script type=\"application/json\" id=\"data\">");
  sink.write(detail::json_in_script(json));
  sink.write("</script>\n<script>");
  for (const char* part : {detail::page_script, detail::page_pictures, detail::page_scatter, detail::page_end})
    sink.write(part);
  sink.write("</script>\n</body>\n</html>\n");
}

}}}  // namespace hyperparallel::v0_2::report
