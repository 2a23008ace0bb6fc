// SPDX-License-Identifier: Apache-2.0
#pragma once
// A folder of its own for one test, gone with everything in it at the end.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace io_test {

class workplace {
 public:
  workplace() {
    std::string name = (std::filesystem::temp_directory_path() / "hyperparallel-io-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  workplace(const workplace&) = delete;
  workplace& operator=(const workplace&) = delete;
  ~workplace() { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  std::string get(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Names of everything in the folder, hidden files included.
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      found.insert(entry.path().filename().string());
    return found;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace io_test
