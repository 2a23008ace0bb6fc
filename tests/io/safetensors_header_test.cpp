// SPDX-License-Identifier: Apache-2.0
// Headers survive writing and parsing; every malformed one is refused on one line that says what is wrong where.

#include <hyperparallel/io/safetensors_header.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

std::string complaint(const std::string& text, std::int64_t data_bytes) {
  try {
    hp::detail::parse_safetensors_header(text, data_bytes, "f");
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "parsed";
}

std::string complaint_of_writing(const hp::detail::safetensors_header& header) {
  try {
    hp::detail::write_safetensors_header(header, "f");
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "written";
}

std::string length_bytes(std::uint64_t length) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((length >> (8 * i)) & 0xFFu);
  return bytes;
}

hp::detail::safetensors_header random_header(std::mt19937_64& random) {
  static const std::vector<std::string> types = {"F64", "F32", "BF16", "I64", "U8", "BOOL", "F8_E4M3"};
  static const std::vector<std::string> names = {
      "", "a", "layer.0/weight", "\"quoted\\\"", "line\nbreak", "größe", "{}", "checksum_header", " ", "\x7f"};
  hp::detail::safetensors_header header;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (random() % 3 == 0) continue;
    hp::tensor_entry t{names[i], types[random() % types.size()], {}, at, at};
    std::int64_t elements = 1;
    for (std::uint64_t dims = random() % 4; dims > 0; --dims) {
      t.extents.push_back(1 + static_cast<std::int64_t>(random() % 5));
      elements *= t.extents.back();
    }
    at += elements * hp::detail::dtype_bits(t.dtype) / 8;
    t.end = at;
    header.tensors.push_back(t);
    if (random() % 2 == 0) header.metadata[names[i]] = names[random() % names.size()];
  }
  return header;
}

TEST(safetensors_header, is_parsed_back_as_it_was_written) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const hp::detail::safetensors_header header = random_header(random);
    const std::string file = hp::detail::write_safetensors_header(header, "f");
    const std::int64_t data = header.tensors.empty() ? 0 : header.tensors.back().end;
    const std::int64_t size = static_cast<std::int64_t>(file.size()) + data;
    ASSERT_EQ(file.size() % 8, 0u);
    ASSERT_EQ(hp::detail::safetensors_header_length(file.substr(0, 8), size, "f"),
              static_cast<std::int64_t>(file.size()) - 8);
    ASSERT_EQ(hp::detail::parse_safetensors_header(file.substr(8), data, "f"), header);
  }
}

TEST(safetensors_header, has_the_bytes_of_the_format) {
  const hp::detail::safetensors_header header{{{"w", "F32", {2, 2}, 0, 16}, {"n", "I64", {}, 16, 24}},
                                              {{"format", "pt"}}};
  const std::string text = R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                           R"("n":{"dtype":"I64","shape":[],"data_offsets":[16,24]}})";
  const std::string padded = text + std::string((8 - text.size() % 8) % 8, ' ');
  EXPECT_EQ(hp::detail::write_safetensors_header(header, "f"), length_bytes(padded.size()) + padded);
  EXPECT_EQ(hp::detail::write_safetensors_header({}, "f"), length_bytes(8) + "{}      ");
}

TEST(safetensors_header, of_other_tools_is_read) {
  // Any order of fields and tensors, white space, no metadata, escapes, several empty tensors.
  const hp::detail::safetensors_header header = hp::detail::parse_safetensors_header(
      "{ \"b\" : {\"shape\":[3 , 1],\"data_offsets\":[4,10],\n\"dtype\":\"BF16\"},"
      R"("\u0061":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
      R"("e":{"dtype":"F64","shape":[0,7],"data_offsets":[4,4]},)"
      R"("d":{"dtype":"F64","shape":[0],"data_offsets":[10,10]}})"
      "   \n",
      10, "f");
  const std::vector<hp::tensor_entry> tensors = {
      {"a", "F32", {}, 0, 4}, {"e", "F64", {0, 7}, 4, 4}, {"b", "BF16", {3, 1}, 4, 10}, {"d", "F64", {0}, 10, 10}};
  EXPECT_EQ(header.tensors, tensors);
  EXPECT_TRUE(header.metadata.empty());
}

TEST(safetensors_header, length_must_fit_the_file) {
  const auto of = [](const std::string& front, std::int64_t size) {
    try {
      return std::to_string(hp::detail::safetensors_header_length(front, size, "f"));
    } catch (const hp::io_error& e) {
      return std::string(e.what());
    }
  };
  EXPECT_EQ(of(length_bytes(2), 10), "2");
  EXPECT_EQ(of(length_bytes(0x0102), 1000), "258");
  EXPECT_EQ(of(length_bytes(3), 10), "cannot read 'f': the header is said to have 3 bytes, the file has 10");
  EXPECT_EQ(of("", 0), "cannot read 'f': the file has 0 bytes, too few for a header");
  EXPECT_EQ(of("1234567", 7), "cannot read 'f': the file has 7 bytes, too few for a header");
  EXPECT_EQ(of(std::string(8, '\xff'), 100),
            "cannot read 'f': the header is said to have 18446744073709551615 bytes, the file has 100");
  EXPECT_EQ(of(length_bytes(100'000'001), std::int64_t{1} << 40),
            "cannot read 'f': the header is longer than 100000000 bytes");
  EXPECT_EQ(of(length_bytes(100'000'000), std::int64_t{1} << 40), "100000000");
}

struct malformed {
  std::string text;
  std::int64_t data_bytes;
  std::string reason;
};

std::string w(const std::string& fields) { return R"({"w":{)" + fields + "}}"; }

TEST(safetensors_header, malformed_is_refused_with_the_reason) {
  const std::string undescribed = "tensor 'w' is not described by 'dtype', 'shape' and 'data_offsets'";
  const std::vector<malformed> all = {
      {"", 0, "the header does not begin with '{'"},
      {" {}", 0, "the header does not begin with '{'"},
      {"\xef\xbb\xbf{}", 0, "the header does not begin with '{'"},
      {"[]", 0, "the header does not begin with '{'"},
      {"{", 0, "the header is not JSON (byte 2)"},
      {"{}}", 0, "the header is not JSON (byte 3 '}')"},
      {std::string("{}\0{}", 5), 0, "the header is not JSON (byte 2)"},
      {"{\"a\xff\":1}", 0, "the header is not JSON (byte 4 'a?')"},
      {R"({"w":1e999})", 0, "the header has a number that no double holds: '1e999' behind 'w'"},
      {R"({"w":1})", 0, undescribed},
      {R"({"w":null})", 0, undescribed},
      {R"({"w":[]})", 0, undescribed},
      {w(""), 0, undescribed},
      {w(R"("dtype":"F32","shape":[])"), 4, undescribed},
      {w(R"("dtype":"F32","shape":[],"data_offsetz":[0,4])"), 4, undescribed},
      {w(R"("dtype":"F32","shape":[],"data_offsets":[0,4],"more":1)"), 4, undescribed},
      {w(R"("dtype":7,"shape":[],"data_offsets":[0,4])"), 4, undescribed},
      {w(R"("dtype":"F32","shape":4,"data_offsets":[0,4])"), 4, "tensor 'w': 'shape' is no list of counts"},
      {w(R"("dtype":"F32","shape":{"0":1},"data_offsets":[0,4])"), 4, "tensor 'w': 'shape' is no list of counts"},
      {w(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4, "tensor 'w': 'shape' is no list of counts"},
      {w(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), 4, "tensor 'w': 'shape' is no list of counts"},
      {w(R"("dtype":"F32","shape":["1"],"data_offsets":[0,4])"), 4, "tensor 'w': 'shape' is no list of counts"},
      {w(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])"), 4, "tensor 'w': 'shape' is no list of counts"},
      {w(R"("dtype":"F32","shape":[true],"data_offsets":[0,4])"), 4, "tensor 'w': 'shape' is no list of counts"},
      {w(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4])"), 4,
       "tensor 'w': 'shape' is no list of counts"},
      {w(R"("dtype":"F32","shape":[99999999999999999999999],"data_offsets":[0,4])"), 4,
       "tensor 'w': 'shape' is no list of counts"},
      {w(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0,
       "tensor 'w', F32 [4294967296, 4294967296], has more bits than can be counted"},
      {w(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"), 0,
       "tensor 'w', F32 [4611686018427387904], has more bits than can be counted"},
      {w(R"("dtype":"F32","shape":[],"data_offsets":[4])"), 4, "tensor 'w': 'data_offsets' is no begin and end"},
      {w(R"("dtype":"F32","shape":[],"data_offsets":[0,4,4])"), 4, "tensor 'w': 'data_offsets' is no begin and end"},
      {w(R"("dtype":"F32","shape":[],"data_offsets":[4,0])"), 4, "tensor 'w': 'data_offsets' is no begin and end"},
      {w(R"("dtype":"F32","shape":[],"data_offsets":[-4,0])"), 4, "tensor 'w': 'data_offsets' is no list of counts"},
      {w(R"("dtype":"F33","shape":[],"data_offsets":[0,4])"), 4, "tensor 'w' has the unknown dtype 'F33'"},
      {w(R"("dtype":"f32","shape":[],"data_offsets":[0,4])"), 4, "tensor 'w' has the unknown dtype 'f32'"},
      {w(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])"), 1, "tensor 'w', F4 [3], does not fill whole bytes"},
      {w(R"("dtype":"F32","shape":[2,3],"data_offsets":[0,20])"), 20,
       "tensor 'w' lies at [0, 20), but F32 [2, 3] has 24 bytes"},
      {w(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), 3, "tensor 'w' lies at [0, 4) of 3 bytes"},
      {w(R"("dtype":"F32","shape":[1],"data_offsets":[9223372036854775803,9223372036854775807])"), 4,
       "tensor 'w' lies at [9223372036854775803, 9223372036854775807) of 4 bytes"},
      {w(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), 8,
       "tensor 'w' lies at [4, 8) behind a hole after what ends at 0"},
      {w(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), 5,
       "the header's tensors end at 4, the data has 5 bytes"},
      {"{}", 1, "the header's tensors end at 0, the data has 1 bytes"},
      {R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8, "tensor 'w' lies at [4, 8) and overlaps what ends at 8"},
      {R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
       2, "tensor 'w' lies at [0, 2) and overlaps what ends at 2"},
      {R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})",
       2, "tensor 'w' lies at [1, 1) and overlaps what ends at 2"},
      {R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("\u0077":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       2, "the header names 'w' twice"},
      {w(R"("dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1])"), 1, "the header names 'shape' twice"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", 0, "the header names 'k' twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "the header names '__metadata__' twice"},
      {R"({"__metadata__":[]})", 0, "'__metadata__' of the header is no object"},
      {R"({"__metadata__":null})", 0, "'__metadata__' of the header is no object"},
      {R"({"__metadata__":{"k":1}})", 0, "the metadata 'k' is no text"},
      {R"({"__metadata__":{"a\nb":null}})", 0, "the metadata 'a?b' is no text"},
      {R"({"w":)" + std::string(1000000, '['), 0, "the header is nested deeper than 8 levels"},
  };
  for (const malformed& m : all) {
    EXPECT_EQ(complaint(m.text, m.data_bytes), "cannot read 'f': " + m.reason) << m.text.substr(0, 200);
  }
}

TEST(safetensors_header, no_text_crashes_the_parser_and_what_is_accepted_covers_the_data) {
  std::mt19937_64 random(2);
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const hp::detail::safetensors_header header = random_header(random);
    const std::int64_t data = header.tensors.empty() ? 0 : header.tensors.back().end;
    std::string text = hp::detail::write_safetensors_header(header, "f").substr(8);
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      static const std::string likely = "0123456789-.eE[]{},:\" \\ntf";
      switch (random() % 4) {
        case 0:
          text[at] = likely[random() % likely.size()];
          break;
        case 1:
          text.erase(at, 1);
          break;
        case 2:
          text.insert(at, 1, likely[random() % likely.size()]);
          break;
        default:
          text[at] = static_cast<char>(random() & 0xFFu);
      }
      if (text.empty()) text = " ";
    }
    try {
      const hp::detail::safetensors_header parsed = hp::detail::parse_safetensors_header(text, data, "f");
      std::int64_t end = 0;
      for (const hp::tensor_entry& t : parsed.tensors) {
        ASSERT_EQ(t.begin, end);
        ASSERT_EQ(t.end - t.begin, hp::detail::entry_bytes("read", "f", t));
        end = t.end;
      }
      ASSERT_EQ(end, data);
      ++accepted;
    } catch (const hp::io_error& e) {
      for (const char c : std::string(e.what())) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20) << text;
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(safetensors_header, that_could_not_be_read_is_not_written) {
  EXPECT_EQ(complaint_of_writing({{{"w", "F32", {1}, 0, 4}, {"w", "F32", {1}, 4, 8}}, {}}),
            "cannot write 'f': tensor 'w' occurs twice");
  EXPECT_EQ(complaint_of_writing({{{"__metadata__", "F32", {1}, 0, 4}}, {}}),
            "cannot write 'f': tensor '__metadata__' has a reserved name");
  EXPECT_EQ(complaint_of_writing({{{"w", "F33", {1}, 0, 4}}, {}}),
            "cannot write 'f': tensor 'w' has the unknown dtype 'F33'");
  EXPECT_EQ(complaint_of_writing({{{"w", "F32", {1}, 4, 8}}, {}}),
            "cannot write 'f': tensor 'w', F32 [1], cannot lie at [4, 8)");
  EXPECT_EQ(complaint_of_writing({{{"w", "F32", {2}, 0, 4}}, {}}),
            "cannot write 'f': tensor 'w', F32 [2], cannot lie at [0, 4)");
  EXPECT_EQ(complaint_of_writing({{{"w", "F32", {2}, 0, std::numeric_limits<std::int64_t>::min()}}, {}}),
            "cannot write 'f': tensor 'w', F32 [2], cannot lie at [0, -9223372036854775808)");
  EXPECT_EQ(complaint_of_writing({{{"w", "F32", {-2}, 0, 8}}, {}}),
            "cannot write 'f': tensor 'w' has the negative extent -2");
  EXPECT_EQ(complaint_of_writing({{{"w\xff", "U8", {}, 0, 1}}, {}}), "cannot write 'f': 'w\xff' is not UTF-8");
  EXPECT_EQ(complaint_of_writing({{}, {{"k", "\xc0\x80"}}}), "cannot write 'f': '\xc0\x80' is not UTF-8");
  EXPECT_EQ(complaint_of_writing({{}, {{"k", std::string(100'000'000, 'x')}}}),
            "cannot write 'f': the header is longer than 100000000 bytes");
}

}  // namespace
