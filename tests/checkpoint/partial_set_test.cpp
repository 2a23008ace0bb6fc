// SPDX-License-Identifier: Apache-2.0
// A set is there in full or not at all.

#include <hyperparallel/checkpoint/partial_set.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <hyperparallel/io/checksum.hpp>

#include "checkpoint/model_files.hpp"

namespace rs = hyperparallel::reshard;
namespace fs = std::filesystem;

namespace {

using checkpoint_test::hp::io_error;

template <class Work>
std::string complaint(const Work& work) {
  try {
    work();
  } catch (const io_error& e) {
    return e.what();
  }
  return "";
}

TEST(PartialSet, AppearsAtTheEndAndRemembers) {
  const io_test::workplace at;
  {
    rs::partial_set p(at.path("set"), "plan", false);
    EXPECT_TRUE(p.done().empty());
    p.keep("item 1");
    p.keep("item 2");
    at.put(".set.reshard/set/file", "text");
  }
  EXPECT_FALSE(fs::exists(at.path("set")));
  {
    std::ofstream(at.path(".set.reshard/journal"), std::ios::app)
        << "item 3 without its check";  // a writer that was killed
    rs::partial_set p(at.path("set"), "plan", false);
    EXPECT_EQ(p.done(), (std::vector<std::string>{"item 1", "item 2"}));
    p.keep("item 4");
  }
  rs::partial_set p(at.path("set/"), "plan", false);
  EXPECT_EQ(p.done(), (std::vector<std::string>{"item 1", "item 2", "item 4"}));
  p.finish();
  EXPECT_EQ(at.get("set/file"), "text");
  EXPECT_EQ(at.names(), (std::set<std::string>{"set"}));
}

TEST(PartialSet, RefusesInOneLine) {
  const io_test::workplace at;
  {
    rs::partial_set p(at.path("set"), "plan", false);
    EXPECT_NE(complaint([&] { rs::partial_set(at.path("set"), "plan", false); }).find("another process writes it"),
              std::string::npos);
  }
  EXPECT_NE(complaint([&] {
              rs::partial_set(at.path("set"), "other", false);
            }).find("holds the beginning of another conversion"),
            std::string::npos);
  at.put("file", "kept");
  EXPECT_NE(complaint([&] { rs::partial_set(at.path("file"), "plan", true); }).find("nothing is overwritten"),
            std::string::npos);
  EXPECT_EQ(at.get("file"), "kept");
  EXPECT_NE(complaint([&] { rs::partial_set(at.path("none/set"), "plan", false); }).find("No such file"),
            std::string::npos);
  EXPECT_NE(complaint([&] { rs::partial_set(at.path("file/set"), "plan", false); }).find("Not a directory"),
            std::string::npos);
  EXPECT_NE(complaint([&] { rs::partial_set("..", "plan", false); }), "");
}

TEST(PartialSet, ATargetThatAppearsMeanwhileIsNotOverwritten) {
  const io_test::workplace at;
  rs::partial_set p(at.path("set"), "plan", false);
  at.put("set", "kept");
  EXPECT_NE(complaint([&] { p.finish(); }), "");
  EXPECT_EQ(at.get("set"), "kept");
}

TEST(PartialSet, AnotherBootBeginsAnew) {
  const io_test::workplace at;
  {
    rs::partial_set(at.path("set"), "plan", false).keep("item 1");
  }
  const std::string first = at.get(".set.reshard/journal").substr(0, at.get(".set.reshard/journal").find('\n') + 1);
  const std::string boot = "boot another", item = "item 1";
  at.put(".set.reshard/journal",
         first + boot + " " + hyperparallel::detail::checksum_text(hyperparallel::detail::checksum_of(boot)) + "\n" +
             item + " " + hyperparallel::detail::checksum_text(hyperparallel::detail::checksum_of(item)) + "\n");
  at.put(".set.reshard/set/file", "perhaps not on the disk");
  EXPECT_TRUE(rs::partial_set(at.path("set"), "plan", false).done().empty());
  EXPECT_FALSE(fs::exists(at.path(".set.reshard/set/file")));
}

}  // namespace
