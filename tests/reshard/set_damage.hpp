// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ways to damage the files of a checkpoint: bytes, headers, texts of JSON, names and links. A folder is a map of names
// to bytes, and of names to what stands there instead of a file.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/tensor_entry.hpp>

#include "io/workplace.hpp"

namespace checkpoint_test {

struct damaged_folder {
  std::map<std::string, std::string> files{};
  std::map<std::string, std::string> links{};  ///< name to target; empty: a pipe, ".": a folder
};

class set_damage {
 public:
  /// `outside` is the path of a file that is not in the folder.
  set_damage(std::mt19937_64& random, std::string outside) : random_(random), outside_(std::move(outside)) {}

  /// Damages something. What it was is told by `last`.
  void damage(damaged_folder& f) {
    if (f.files.empty()) return;
    auto at = f.files.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(f.files.size())));
    if (below(2) == 0) {  // rather what all others hang on
      for (auto i = f.files.begin(); i != f.files.end(); ++i)
        if (i->first.ends_with("index.json") || i->first == "hyperparallel_set.json") at = i;
    }
    switch (below(12)) {
      case 0:
        return damage_bytes(at->second);
      case 1:
        return resize(at->second);
      case 2:
        return damage_length(at->second);
      case 3:
        return repeat_text(at->second);
      case 4:
        return damage_names(f, at->first);
      default:
        return damage_values(at->first, at->second);
    }
  }
  const std::string& last() const { return last_; }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }

  void damage_bytes(std::string& bytes) {
    last_ = "bytes";
    if (bytes.empty()) return;
    const std::size_t reach = below(3) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 400);
    for (std::size_t n = 1 + below(8); n > 0; --n) bytes[below(reach)] = static_cast<char>(random_());
  }
  void resize(std::string& bytes) {
    last_ = "size";
    if (below(2) == 0)
      bytes.resize(below(bytes.size() + 1));
    else
      bytes.append(1 + below(64), static_cast<char>(random_()));
  }
  /// The number in front of a header.
  void damage_length(std::string& bytes) {
    last_ = "length";
    if (bytes.size() < 8) return;
    const std::uint64_t lengths[] = {0,
                                     1,
                                     7,
                                     100'000'000,
                                     100'000'001,
                                     0xFFFFFFFF,
                                     0x7FFFFFFFFFFFFFFF,
                                     ~std::uint64_t{0},
                                     static_cast<std::uint64_t>(bytes.size()),
                                     random_()};
    const std::uint64_t length = one_of(lengths);
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
  }
  /// A part between commas twice: names that an object has twice, ranges that overlap.
  void repeat_text(std::string& bytes) {
    last_ = "text";
    std::vector<std::size_t> commas;
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 20000); ++i)
      if (bytes[i] == ',') commas.push_back(i);
    if (commas.size() < 2) return;
    const std::size_t from = below(commas.size() - 1),
                      to = from + 1 + below(std::min<std::size_t>(4, commas.size() - from - 1));
    const std::string part = bytes.substr(commas[from], commas[to] - commas[from]);
    bytes.insert(commas[below(commas.size())], part);
  }
  void damage_names(damaged_folder& f, const std::string name) {
    last_ = "names";
    const std::string bytes = f.files[name];
    auto other = f.files.begin();
    std::advance(other, static_cast<std::ptrdiff_t>(below(f.files.size())));
    const std::string neighbour = other->first;
    switch (below(7)) {
      case 0:
        f.files.erase(name);
        break;
      case 1:
        std::swap(f.files[name], other->second);
        break;
      case 2:
        f.files[name] = other->second;
        break;
      case 3:
        f.files[one_of(names_) + std::string(below(2), 'x')] = bytes;
        break;
      case 4:
        f.files["copy_of.safetensors"] = bytes;
        break;
      default: {
        const std::string targets[] = {outside_,
                                       "../outside/secret.safetensors",
                                       "../outside/config.json",
                                       "/dev/zero",
                                       "/dev/null",
                                       "nothing",
                                       name,
                                       "..",
                                       ".",
                                       "",
                                       neighbour};
        f.files.erase(name);
        f.links[name] = one_of(targets);
      }
    }
  }

  /// Every value of a document.
  static void collect(nlohmann::json& d, std::vector<nlohmann::json*>& all) {
    all.push_back(&d);
    if (d.is_structured())
      for (nlohmann::json& each : d) collect(each, all);
  }
  void damage_values(const std::string& name, std::string& bytes) {
    last_ = "values";
    const bool has_header = name.ends_with(".safetensors") && bytes.size() >= 8;
    std::uint64_t length = 0;
    if (has_header) std::memcpy(&length, bytes.data(), 8);
    const std::string text = has_header ? bytes.substr(8, length) : bytes;
    nlohmann::json d = nlohmann::json::parse(text, nullptr, false);
    if (d.is_discarded()) return damage_bytes(bytes);
    if (has_header && d.is_object() && below(4) != 0)
      d.erase("__metadata__");  // with its checksums, which would tell at once
    for (std::size_t n = has_header ? below(3) : 1 + below(3); n > 0; --n) {
      std::vector<nlohmann::json*> all;
      collect(d, all);
      damage_value(*one_of(all), *one_of(all));
    }
    if (has_header && below(2) == 0) damage_entry(d);
    std::string damaged = d.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (!has_header) {
      bytes = damaged;
      return;
    }
    damaged.append((8 - damaged.size() % 8) % 8, ' ');
    length = damaged.size();
    std::string front(8, '\0');
    std::memcpy(front.data(), &length, 8);
    bytes = front + damaged + bytes.substr(std::min(bytes.size(), 8 + text.size()));
  }
  /// The name with another number in the place of one that it has.
  std::string renumbered(std::string name) {
    static const std::string numbers[] = {
        "1", "2", "7", "00", "4294967295", "1000000", "99999999", "9223372036854775807", "99999999999999999999", "-1"};
    const std::size_t at = name.find_first_of("0123456789");
    if (at != std::string::npos) name.replace(at, 1, one_of(numbers));
    return name;
  }
  /// A tensor of a header as one of as many bytes: another shape, another name.
  void damage_entry(nlohmann::json& d) {
    if (!d.is_object() || d.empty()) return;
    auto at = d.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(d.size())));
    if (!at.value().is_object() || !at.value().contains("shape") || !at.value()["shape"].is_array()) return;
    nlohmann::json entry = at.value();
    nlohmann::json& shape = entry["shape"];
    const std::string name = at.key();
    switch (below(5)) {
      case 0:
        std::reverse(shape.begin(), shape.end());
        break;
      case 1:
        shape.push_back(1);
        break;
      case 2:
        shape.insert(shape.begin(), 1);
        break;
      case 3:
        shape = nlohmann::json::array({std::int64_t{1} << 40, 0, std::int64_t{1} << 40});
        break;
      default:
        d.erase(name);
    }
    d[below(3) == 0 ? name : renumbered(name)] = std::move(entry);
  }
  /// Another value, key or size, or that of another place.
  void damage_value(nlohmann::json& v, const nlohmann::json& other) {
    static const nlohmann::json numbers = nlohmann::json::parse(
        "[-1, 0, 1, 2, 3, 7, 65535, 65536, 2147483648, 1e300, -0.5, 0.5, 70368744177664, 70368744177665, "
        "9007199254740992,"
        " 4611686018427387904, 9223372036854775807, -9223372036854775808, 18446744073709551615]");
    static const nlohmann::json texts = nlohmann::json::parse(
        R"(["", ".", "..", "../outside/secret.safetensors", "a/../../outside/secret.safetensors", "/etc/passwd", "..\\x",
            "C:\\x", "a\u0000b", "\n\r\t", "\u001b[31m", "F32", "F8_E4M3", "F4", "BOOL", "I64", "C64",
            "none.safetensors", "tp", "pp", "*", "{layer}", "(g c) i", "hf", "megatron", "ours", "x.json"])");
    const nlohmann::json kinds[] = {nullptr, true, nlohmann::json::array(), nlohmann::json::object(), "x", 1, outside_};
    const nlohmann::json copy = other;  // it may be a part of `v`
    if (below(8) == 0) {
      v = one_of(kinds);
    } else if (below(8) == 0) {
      v = copy;
    } else if (v.is_number()) {
      if (below(3) == 0 && v.is_number_integer())
        v = v.get<std::int64_t>() % (1 << 30) * static_cast<int>(below(3)) + static_cast<int>(below(3)) - 1;
      else
        v = one_of(numbers);
    } else if (v.is_string()) {
      v = below(5) == 0 ? nlohmann::json(outside_) : one_of(texts);
    } else if (v.is_array()) {
      if (below(2) == 0 && !v.empty())
        v.erase(v.begin() + static_cast<std::ptrdiff_t>(below(v.size())));
      else if (below(3) == 0)
        v = nlohmann::json::array({nlohmann::json::array({nlohmann::json::array({v})})});
      else
        v.push_back(v.empty() || below(4) == 0 ? copy : nlohmann::json(v[below(v.size())]));
    } else if (v.is_object() && !v.empty()) {
      auto at = v.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(below(v.size())));
      const std::string key = at.key();
      const nlohmann::json value = at.value();
      if (below(2) == 0) v.erase(key);
      if (below(2) == 0) v[below(2) == 0 ? renumbered(key + "x") : one_of(texts).get<std::string>()] = value;
      auto into = v.begin();
      if (!v.empty()) std::advance(into, static_cast<std::ptrdiff_t>(below(v.size())));
      if (!v.empty() && below(2) == 0) into.value() = value;
    } else {
      v = one_of(kinds);
    }
  }

  std::mt19937_64& random_;
  std::string outside_;
  std::string last_{};
  static inline const std::string names_[] = {
      "model.safetensors", "z.safetensors", "config.json", "hyperparallel_set.json", "model.safetensors.index.json",
      "tokenizer.json",    "mp_rank_00",    "model.bin"};
};

/// Puts the folder where nothing is.
inline void lay_out(const damaged_folder& f, const std::string& folder) {
  namespace fs = std::filesystem;
  fs::create_directories(folder);
  const auto path_of = [&](const std::string& name) {
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    return path.string();
  };
  for (const auto& [name, bytes] : f.files) {
    std::ofstream file(path_of(name), std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  for (const auto& [name, target] : f.links) {
    std::error_code error;
    const std::string path = path_of(name);
    if (target.empty())
      ::mkfifo(path.c_str(), 0600);
    else if (target == ".")
      fs::create_directories(path, error);
    else
      fs::create_symlink(target, path, error);
  }
}

}  // namespace checkpoint_test
