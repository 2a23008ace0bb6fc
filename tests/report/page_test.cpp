// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/report/page.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

std::string page_of(const std::string& title, const std::string& json) {
  hp::report::string_sink sink;
  hp::report::write_page(sink, title, json);
  return sink.text;
}

/// What stands in the script "data".
std::string data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

std::size_t count(const std::string& page, const std::string& text) {
  std::size_t n = 0;
  for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++n;
  return n;
}

TEST(Page, HoldsTheDocumentAsItIs) {
  const std::string json = R"({"a":1.5,"pictures":[]})";
  EXPECT_EQ(data_of(page_of("t", json)), json);
}

// Texts of the document and the title end neither script nor tag.
TEST(Page, IsEndedByNoText) {
  const std::string page = page_of("a <b> & \"c\"", R"({"a":"</script><script>alert(1)</script><!--"})");
  EXPECT_EQ(data_of(page), "{\"a\":\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--\"}");
  EXPECT_EQ(count(page, "<script"), 2u);
  EXPECT_EQ(count(page, "</script>"), 2u);
  EXPECT_EQ(count(page, "<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"), 1u);
}

// Nothing is fetched: no address stands in the page, and its policy allows none.
TEST(Page, NamesNoAddress) {
  const std::string page = page_of("t", "{}");
  for (const char* address : {"http:", "https:", "src=", "href=", "@import", "fetch(", "url(\"h", "url(h"})
    EXPECT_EQ(count(page, address), 0u) << address;
  EXPECT_EQ(count(page, "default-src 'none'"), 1u);
}

// The kinds of pictures that the header names are those that the script draws.
TEST(Page, DrawsItsKinds) {
  const std::string page = page_of("t", "{}");
  for (const char* kind : {"timeline", "areas", "bars", "matrix", "scatter"})
    EXPECT_EQ(count(page, std::string("\ndraw.") + kind + " = picture => {"), 1u) << kind;
  for (const char* id : {"id=\"tip\"", "id=\"pictures\"", "id=\"figures\"", "id=\"hatch\""})
    EXPECT_EQ(count(page, id), 1u) << id;
}

TEST(Page, IsTheSameForTheSameDocument) { EXPECT_EQ(page_of("t", "{\"a\":2}"), page_of("t", "{\"a\":2}")); }

}  // namespace
