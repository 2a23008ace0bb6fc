// SPDX-License-Identifier: Apache-2.0
// What is read is what was written: never less, never changed, never a mixture of two versions.

#include <hyperparallel/io/safetensors.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "io/workplace.hpp"

namespace hp = hyperparallel;

namespace {

using texts = std::map<std::string, std::string>;
using extents = std::vector<std::int64_t>;

/// A whole file in memory.
struct safetensors_contents {
  hp::detail::safetensors_header header;
  std::vector<std::byte> data;

  std::span<const std::byte> data_of(const hp::tensor_entry& t) const {
    return std::span(data).subspan(static_cast<std::size_t>(t.begin), static_cast<std::size_t>(t.end - t.begin));
  }
};

/// Reads all tensors of `path`. Throws io_error.
safetensors_contents read_safetensors(const std::string& path) {
  const hp::detail::safetensors_file file(path);
  safetensors_contents contents{file.header(), {}};
  const std::vector<hp::tensor_entry>& all = contents.header.tensors;
  contents.data.resize(all.empty() ? 0 : static_cast<std::size_t>(all.back().end));
  for (const hp::tensor_entry& t : all)
    file.read(
        t.name,
        std::span(contents.data).subspan(static_cast<std::size_t>(t.begin), static_cast<std::size_t>(t.end - t.begin)));
  return contents;
}

/// A tensor whose bytes the test owns.
struct owned {
  std::string name, dtype;
  extents shape;
  std::string bytes;
};

void write(const std::string& path, const std::vector<owned>& all, const texts& metadata = {}) {
  std::vector<hp::detail::tensor_source> sources;
  for (const owned& t : all) sources.push_back({t.name, t.dtype, t.shape, std::as_bytes(std::span(t.bytes))});
  hp::detail::write_safetensors(path, sources, metadata);
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One tensor, or what the io_error says.
std::string read_or_complaint(const hp::detail::safetensors_file& file, const hp::tensor_entry& t) {
  std::string bytes(static_cast<std::size_t>(t.end - t.begin), '?');
  try {
    file.read(t.name, std::as_writable_bytes(std::span(bytes)));
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return bytes;
}

/// "" when the whole file can be read, otherwise what the io_error says. Any other exception is a failure of the test.
std::string complaint(const std::string& path) {
  try {
    read_safetensors(path);
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "";
}

std::string complaint_of_writing(const std::string& path, const std::vector<owned>& all, const texts& metadata = {}) {
  try {
    write(path, all, metadata);
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "written";
}

std::string random_bytes(std::mt19937_64& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>(random() & 0xFFu);
  return bytes;
}

std::vector<owned> small_tensors(std::mt19937_64& random) {
  return {{"layer.0.weight", "F32", {2, 3}, random_bytes(random, 24)},
          {"empty", "F32", {0, 4}, ""},
          {"step", "I64", {}, random_bytes(random, 8)},
          {"bias", "BF16", {5}, random_bytes(random, 10)}};
}

/// A file that is altered in place: to truncate and fill it again would wait for the disk each time.
class altered_file {
 public:
  altered_file(const std::string& path, const std::string& bytes)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT, 0600)) {
    put(0, bytes);
  }
  altered_file(const altered_file&) = delete;
  altered_file& operator=(const altered_file&) = delete;
  ~altered_file() { ::close(file_); }

  void put(std::size_t at, const std::string& bytes) const {
    EXPECT_EQ(::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(at)), static_cast<ssize_t>(bytes.size()));
  }
  void cut(std::size_t length) const { EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(length)), 0); }

 private:
  int file_;
};

std::string from_length(std::uint64_t length) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((length >> (8 * i)) & 0xFFu);
  return bytes;
}

std::string foreign_file(const std::string& header, const std::string& data) {
  return from_length(header.size()) + header + data;
}

TEST(safetensors, is_read_back_as_it_was_written) {
  const io_test::workplace place;
  std::mt19937_64 random(1);
  const texts metadata = {{"step", "7"}, {"model", "größe \"x\"\n"}, {"a\"checksum_header", "b"}, {"", ""}};
  for (const std::size_t large : {std::size_t{0}, std::size_t{1}, std::size_t{65535}, std::size_t{300001}}) {
    std::vector<owned> all = small_tensors(random);
    all.push_back({"large", "U8", {static_cast<std::int64_t>(large)}, random_bytes(random, large)});
    all.push_back({"x,\"checksum_header\":\"0000000000000000\"", "BOOL", {2}, random_bytes(random, 2)});
    write(place.path("out"), all, metadata);
    const hp::detail::safetensors_file file(place.path("out"));
    EXPECT_TRUE(file.has_checksums());
    EXPECT_EQ(file.header().metadata, metadata);
    EXPECT_EQ(file.header().tensors.size(), all.size());
    const safetensors_contents whole = read_safetensors(place.path("out"));
    EXPECT_EQ(whole.header, file.header());
    for (const owned& t : all) {
      const hp::tensor_entry* found = file.find(t.name);
      ASSERT_NE(found, nullptr) << t.name;
      EXPECT_EQ(found->dtype, t.dtype);
      EXPECT_EQ(found->extents, t.shape);
      EXPECT_EQ(read_or_complaint(file, *found), t.bytes);
      EXPECT_EQ(text_of(whole.data_of(*found)), t.bytes);
    }
    EXPECT_EQ(file.find("nothing"), nullptr);
  }
  EXPECT_EQ(place.names(), std::set<std::string>{"out"});
}

TEST(safetensors, aligns_each_tensor_to_its_elements) {
  const io_test::workplace place;
  std::mt19937_64 random(2);
  write(place.path("out"), {{"a", "U8", {3}, random_bytes(random, 3)},
                            {"b", "F64", {1}, random_bytes(random, 8)},
                            {"c", "BF16", {3}, random_bytes(random, 6)},
                            {"d", "F32", {1}, random_bytes(random, 4)},
                            {"e", "F64", {2}, random_bytes(random, 16)}});
  const safetensors_contents whole = read_safetensors(place.path("out"));
  std::string order;
  for (const hp::tensor_entry& t : whole.header.tensors) {
    order += t.name;
    EXPECT_EQ(t.begin % (hp::detail::dtype_bits(t.dtype) / 8), 0) << t.name;
  }
  EXPECT_EQ(order, "bedca");
  EXPECT_EQ((place.get("out").size() - whole.data.size()) % 8, 0u);
}

TEST(safetensors, checksums_are_those_of_the_bytes) {
  const io_test::workplace place;
  write(place.path("out"), {{"digits", "U8", {9}, "123456789"}});
  const std::string file = place.get("out");
  EXPECT_NE(file.find(R"("checksum.digits":"995dc9bbdf1939fa")"), std::string::npos);
  EXPECT_NE(file.find(R"("checksum":"crc-64/xz")"), std::string::npos);
}

TEST(safetensors, without_tensors_and_metadata_is_read_back) {
  const io_test::workplace place;
  write(place.path("out"), {});
  const hp::detail::safetensors_file file(place.path("out"));
  EXPECT_TRUE(file.has_checksums());
  EXPECT_TRUE(file.header().tensors.empty());
  EXPECT_TRUE(file.header().metadata.empty());
}

TEST(safetensors, of_other_tools_is_read) {
  const io_test::workplace place;
  const std::string header =
      R"({"__metadata__":{"format":"pt","checksum":"sha1"},"b":{"dtype":"F32","shape":[1],"data_offsets":[3,7]},)"
      R"("a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}} )";
  place.put("foreign", foreign_file(header, "abcDEFG"));
  const hp::detail::safetensors_file file(place.path("foreign"));
  EXPECT_FALSE(file.has_checksums());
  EXPECT_EQ(file.header().metadata, (texts{{"checksum", "sha1"}, {"format", "pt"}}));
  EXPECT_EQ(read_or_complaint(file, *file.find("a")), "abc");
  EXPECT_EQ(read_or_complaint(file, *file.find("b")), "DEFG");
  place.put("foreign", foreign_file("{}", ""));
  EXPECT_EQ(complaint(place.path("foreign")), "");
}

TEST(safetensors, cut_at_any_length_is_refused) {
  const io_test::workplace place;
  std::mt19937_64 random(3);
  write(place.path("out"), small_tensors(random), {{"step", "7"}});
  const std::string file = place.get("out"), path = place.path("cut");
  const safetensors_contents whole = read_safetensors(place.path("out"));
  const std::size_t data_begin = file.size() - whole.data.size();
  const altered_file cutting(path, file + '\0');
  EXPECT_NE(complaint(path).find("the data has 43 bytes"), std::string::npos);
  for (std::size_t length = file.size(); length-- > 0;) {
    cutting.cut(length);
    const std::string said = complaint(path);
    ASSERT_EQ(said.find("cannot read '" + path + "': "), 0u) << length;
    if (length < data_begin) {
      EXPECT_NE(said.find("header"), std::string::npos) << length << said;
      continue;
    }
    const auto cut = std::find_if(whole.header.tensors.begin(), whole.header.tensors.end(), [&](const auto& t) {
      return t.end > static_cast<std::int64_t>(length - data_begin);
    });
    EXPECT_NE(said.find("tensor '" + cut->name + "' lies at"), std::string::npos) << length << said;
  }
}

TEST(safetensors, changed_in_any_byte_is_refused_by_name) {
  const io_test::workplace place;
  std::mt19937_64 random(4);
  write(place.path("out"), small_tensors(random), {{"step", "7"}, {"model", "small"}});
  const std::string file = place.get("out"), path = place.path("changed");
  const safetensors_contents whole = read_safetensors(place.path("out"));
  const std::size_t data_begin = file.size() - whole.data.size();
  const bool exhaustive = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  const altered_file changing(path, file);
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string values = "0 \t\"\\{}[],:aA\xff";
    values += {'\0',
               '\n',
               static_cast<char>(file[at] ^ 1),
               static_cast<char>(file[at] ^ 2),
               static_cast<char>(file[at] ^ 0x20),
               static_cast<char>(file[at] ^ 0x80)};
    if (exhaustive) {
      values.clear();
      for (int v = 0; v < 256; ++v) values += static_cast<char>(v);
    }
    for (const char value : values) {
      if (value == file[at]) continue;
      changing.put(at, std::string(1, value));
      const std::string said = complaint(path);
      ASSERT_NE(said, "") << "byte " << at << " as " << static_cast<int>(value);
      if (at < data_begin) {
        ASSERT_TRUE(said.find("header") != std::string::npos || said.find("tensor '") != std::string::npos ||
                    said.find("metadata") != std::string::npos)
            << said;
        continue;
      }
      // Exactly the tensor that holds the byte is refused.
      const hp::detail::safetensors_file opened(path);
      for (const hp::tensor_entry& t : whole.header.tensors) {
        const auto offset = static_cast<std::int64_t>(at - data_begin);
        const std::string damaged =
            "cannot read '" + path + "': tensor '" + t.name + "' is damaged: its bytes differ from their checksum";
        ASSERT_EQ(read_or_complaint(opened, t),
                  t.begin <= offset && offset < t.end ? damaged : text_of(whole.data_of(t)));
      }
    }
    changing.put(at, file.substr(at, 1));
  }
  EXPECT_EQ(complaint(path), "");
}

TEST(safetensors, damaged_in_larger_pieces_is_refused) {
  const io_test::workplace place;
  std::mt19937_64 random(5);
  write(place.path("out"), small_tensors(random), {{"step", "7"}});
  const std::string file = place.get("out");
  const altered_file damaging(place.path("damaged"), file);
  for (int trial = 0; trial < 5000; ++trial) {
    std::string damaged = file;
    const std::size_t count = 1 + random() % 64, at = random() % (file.size() - count);
    switch (random() % 5) {
      case 0:
        damaged.replace(at, count, std::string(count, '\0'));
        break;
      case 1:
        damaged.replace(at, count, std::string(count, ' '));
        break;
      case 2:
        damaged.replace(at, count, random_bytes(random, count));
        break;
      case 3:
        damaged.replace(at, count, file.substr(random() % (file.size() - count), count));
        break;
      default:
        std::reverse(damaged.begin() + static_cast<std::ptrdiff_t>(at),
                     damaged.begin() + static_cast<std::ptrdiff_t>(at + count));
    }
    damaging.put(0, damaged);
    ASSERT_EQ(complaint(place.path("damaged")) == "", damaged == file) << trial;
  }
}

TEST(safetensors, an_edited_header_is_refused_while_a_mark_of_checksums_is_left) {
  const io_test::workplace place;
  write(place.path("out"), {{"w", "U8", {9}, "123456789"}}, {{"step", "7"}});
  const std::string file = place.get("out");
  const std::string refused =
      "cannot read '" + place.path("edited") + "': the header is damaged: it differs from its checksum";
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = file;
    text.replace(text.find(from), from.size(), to);
    place.put("edited", text);
    return complaint(place.path("edited"));
  };
  EXPECT_EQ(edited("\"step\":\"7\"", "\"step\":\"8\""), refused);
  EXPECT_EQ(edited("checksum_header", "checksum_headee"), refused);
  EXPECT_EQ(edited("\"checksum\"", "\"checksun\""), refused);
  EXPECT_EQ(edited("checksum.w", "checksum.v"), refused);
  EXPECT_EQ(edited("crc-64/xz", "crc-64/xy"), refused);
  EXPECT_NE(edited("\"}", "\" ").find("the header is not JSON (byte "), std::string::npos);
}

TEST(safetensors, no_change_within_eight_bytes_passes_for_a_file_of_another_tool) {
  const io_test::workplace place;
  write(place.path("out"), {}, {{"step", "7"}});
  const std::string file = place.get("out"), path = place.path("edited");
  const std::size_t key = file.find("checksum\""), header = file.find("checksum_header");
  // Both marks at once, each changed where another byte leaves the JSON valid: eleven bytes apart is the closest.
  for (std::size_t first = key; first < header; ++first)
    for (std::size_t second = first + 1; second < first + 8; ++second) {
      std::string text = file;
      for (const std::size_t at : {first, second})
        if (text[at] != '"' && text[at] != ',' && text[at] != ':') text[at] = '~';
      if (text == file) continue;
      place.put("edited", text);
      ASSERT_NE(complaint(path), "") << text;
    }
}

TEST(safetensors, that_cannot_be_written_leaves_the_old_one) {
  const io_test::workplace place;
  write(place.path("out"), {{"w", "U8", {3}, "old"}});
  const std::string before = place.get("out"), path = place.path("out"), deed = "cannot write '" + path + "': ";
  EXPECT_EQ(complaint_of_writing(path, {{"w", "F32", {2}, "1234567"}}),
            deed + "tensor 'w', F32 [2], has 8 bytes, 7 are given");
  EXPECT_EQ(complaint_of_writing(path, {{"w", "F32", {-2}, ""}}), deed + "tensor 'w' has the negative extent -2");
  EXPECT_EQ(complaint_of_writing(path, {{"w", "float", {}, ""}}), deed + "tensor 'w' has the unknown dtype 'float'");
  EXPECT_EQ(complaint_of_writing(path, {{"w", "U8", {}, "1"}, {"w", "U8", {}, "1"}}), deed + "tensor 'w' occurs twice");
  EXPECT_EQ(complaint_of_writing(path, {{"\xff", "U8", {}, "1"}}), deed + "'checksum.\xff' is not UTF-8");
  for (const char* key : {"checksum_header", "checksum", "checksum.", "checksum.w"})
    EXPECT_EQ(complaint_of_writing(path, {}, {{key, "x"}}), deed + "the metadata key '" + key + "' is reserved");
  EXPECT_EQ(place.get("out"), before);
  EXPECT_EQ(place.names(), std::set<std::string>{"out"});
  EXPECT_EQ(complaint_of_writing("/dev/full", {{"w", "U8", {3}, "old"}}),
            "cannot write '/dev/full': No space left on device");
}

TEST(safetensors, that_cannot_be_opened_is_refused) {
  const io_test::workplace place;
  EXPECT_EQ(complaint(place.path("none")), "cannot read '" + place.path("none") + "': No such file or directory");
  EXPECT_EQ(complaint(place.path("")), "cannot read '" + place.path("") + "': Is a directory");
  EXPECT_EQ(complaint("/dev/null"), "cannot read '/dev/null': it is no regular file");
  ASSERT_EQ(::mkfifo(place.path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(complaint(place.path("pipe")), "cannot read '" + place.path("pipe") + "': it is no regular file");
}

TEST(safetensors, read_asks_for_what_is_there) {
  const io_test::workplace place;
  write(place.path("out"), {{"w", "U8", {3}, "abc"}});
  const hp::detail::safetensors_file file(place.path("out"));
  std::vector<std::byte> room(4);
  const auto said = [&](const std::string& name) {
    try {
      file.read(name, room);
    } catch (const hp::io_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(said("v"), "cannot read '" + file.path() + "': there is no tensor 'v'");
  EXPECT_EQ(said("w"), "cannot read '" + file.path() + "': tensor 'w' has 3 bytes, there is room for 4");
}

TEST(safetensors, open_file_stays_at_its_version_and_notices_when_it_is_cut) {
  const io_test::workplace place;
  write(place.path("out"), {{"w", "U8", {3}, "old"}});
  const hp::detail::safetensors_file file(place.path("out"));
  write(place.path("out"), {{"w", "U8", {4}, "new!"}});
  EXPECT_EQ(read_or_complaint(file, *file.find("w")), "old");
  const hp::detail::safetensors_file current(place.path("out"));
  EXPECT_EQ(read_or_complaint(current, *current.find("w")), "new!");
  const std::size_t size = place.get("out").size();
  ASSERT_EQ(::truncate(place.path("out").c_str(), static_cast<off_t>(size - 1)), 0);
  EXPECT_EQ(read_or_complaint(current, *current.find("w")),
            "cannot read '" + current.path() + "': tensor 'w': the file ends at byte " + std::to_string(size - 1));
}

/// What writer and killer both see.
struct progress {
  volatile std::int64_t begun = 0, finished = 0;
};

std::vector<owned> version_tensors(std::int64_t version) {
  const auto letter = static_cast<char>('a' + version % 26);
  return {{"first", "U8", {100000}, std::string(100000, letter)},
          {"second", "F32", {50000}, std::string(200000, letter)},
          {"third", "U8", {version % 7}, std::string(static_cast<std::size_t>(version % 7), letter)}};
}

TEST(safetensors, writer_killed_at_any_moment_leaves_the_previous_or_the_new_version) {
  const io_test::workplace place;
  const std::string path = place.path("out");
  void* shared = ::mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  progress* const seen = ::new (shared) progress;
  write(path, version_tensors(0), {{"version", "0"}});
  std::mt19937_64 random(6);
  const int kills = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 2000 : 120;
  int found_new = 0, found_previous = 0, left_behind = 0;
  // How long a writer lives at most: adapted to the machine, so that about every other one gets through once.
  double longest_microseconds = 2000;
  for (int kill = 0; kill < kills; ++kill) {
    const std::int64_t before = seen->finished;
    seen->begun = before;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::int64_t version = seen->finished + 1;; ++version) {
        const std::vector<owned> all = version_tensors(version);
        seen->begun = version;
        write(path, all, {{"version", std::to_string(version)}});
        seen->finished = version;
      }
    }
    const double share = static_cast<double>(random() % 1000) / 1000;
    ::usleep(static_cast<useconds_t>(share * longest_microseconds));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);

    longest_microseconds *= seen->finished > before ? 0.8 : 1.25;
    longest_microseconds = std::clamp(longest_microseconds, 100.0, 900'000.0);
    const safetensors_contents whole = read_safetensors(path);
    const std::int64_t version = std::stoll(whole.header.metadata.at("version"));
    ASSERT_TRUE(version == seen->finished || version == seen->begun) << version << " " << seen->finished;
    for (const owned& t : version_tensors(version)) {
      const auto& all = whole.header.tensors;
      const auto found = std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.name == t.name; });
      ASSERT_NE(found, all.end());
      ASSERT_EQ(found->extents, t.shape);
      ASSERT_EQ(text_of(whole.data_of(*found)), t.bytes);
    }
    ++(version == seen->begun ? found_new : found_previous);
    left_behind += static_cast<int>(place.names().size()) - 1;
    ASSERT_LE(place.names().size(), 2u) << "at most the temporary of the last one";
    seen->finished = version;
  }
  EXPECT_GT(seen->finished, 0) << "no writer ever got through";
  EXPECT_GT(found_previous, 0) << "no writer was ever killed in the middle";
  EXPECT_GT(left_behind, 0);
  RecordProperty("found_new", found_new);
  RecordProperty("found_previous", found_previous);
  ::munmap(shared, sizeof(progress));
}

}  // namespace
