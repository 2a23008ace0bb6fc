// SPDX-License-Identifier: Apache-2.0
#include "launch/trainer_files.hpp"

#include "launch/yaml_options.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/error_of.hpp"

namespace {

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

/// A folder of its own that goes when it is left.
class own_folder {
 public:
  own_folder() : path_(std::filesystem::temp_directory_path() / ("trainer_files." + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~own_folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return at(name);
  }
  std::string at(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// "name=value@line", behind "file:" where it is another one, of what a launch file says.
std::string told(const std::string& path, const std::vector<launch::launch_option>& given) {
  std::string all;
  for (const launch::launch_option& o : launch::with_named_files(given, path)) {
    all += (all.empty() ? "" : " ") + (o.file.empty() ? "" : o.file.substr(o.file.rfind('/') + 1) + ":") + o.name + "=";
    for (const std::string& v : o.values) all += v;
    all += "@" + std::to_string(o.line);
  }
  return all;
}
std::string told(const std::string& path, const std::string& text) {
  return told(path, launch::yaml_options_of(text, path));
}

TEST(trainer_files, a_path_is_read_from_the_folder_of_the_launch_file) {
  const own_folder f;
  f.write("ds.json", "{\"zero_optimization\":\n{\"stage\": 3, \"overlap_comm\": null}}");
  f.write("fsdp.json", "{\"version\": 2}");
  const std::string run = f.at("run.yaml");
  EXPECT_EQ(told(run, "a: 1\ndeepspeed: ds.json\nb: 2\n"), "a=1@1 ds.json:deepspeed.zero_optimization.stage=3@2 b=2@3");
  EXPECT_EQ(told(run, "deepspeed: " + f.at("ds.json")), "ds.json:deepspeed.zero_optimization.stage=3@2");
  EXPECT_EQ(told(run, "fsdp_config: fsdp.json"), "fsdp.json:fsdp_config.version=2@1");
  EXPECT_EQ(told(run, "deepspeed:\n  a: 1\n"), "deepspeed.a=1@2") << "a map is no file";
  EXPECT_EQ(told(run, "deepspeed: null\na: ~\nb: 1\n"), "b=1@3") << "null is the default";
}

TEST(trainer_files, what_the_launch_file_says_comes_behind_what_it_names) {
  const own_folder f;
  f.write("ds.json", "{\"bf16\": {\"enabled\": true}}");
  f.write("accelerate.yaml",
          "num_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: ds.json\nconfig_file: accelerate.yaml\n");
  EXPECT_EQ(told(f.at("run.sh"), {{"num_processes", {"4"}, 1}, {"config_file", {"accelerate.yaml"}, 2}}),
            "accelerate.yaml:num_processes=8@1 ds.json:deepspeed.bf16.enabled=true@1 num_processes=4@1");
}

TEST(trainer_files, json_in_a_word_is_read_in_its_line) {
  EXPECT_EQ(told("run.sh", {{"fsdp_config", {"{\"version\": 2}"}, 5}}), "fsdp_config.version=2@5");
  EXPECT_EQ(tested::error_of<hp::io_error>([] { told("run.sh", {{"deepspeed", {"{\"a\": ["}, 5}}); }),
            "cannot read 'run.sh': line 5: deepspeed {\"a\": [: it begins as JSON and is none");
}

TEST(trainer_files, a_file_that_is_not_there_is_one_line) {
  EXPECT_EQ(tested::error_of<hp::io_error>([] { told("nowhere/run.yaml", "a: 1\ndeepspeed: ds.json"); }),
            "cannot read 'nowhere/run.yaml': line 2: deepspeed ds.json: cannot read 'nowhere/ds.json': No such file or "
            "directory");
  const own_folder f;
  f.write("ds.json", "{\n\"a\": [}");
  const std::string error = tested::error_of<hp::io_error>([&] { told(f.at("run.yaml"), "deepspeed: ds.json"); });
  EXPECT_NE(error.find("ds.json': line 2: "), std::string::npos) << error;
}

}  // namespace
