// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/checkpoint/step_folders.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <io/workplace.hpp>
#include <support/error_of.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;
namespace rs = hyperparallel::reshard;
namespace fs = std::filesystem;

namespace {

using steps = std::vector<std::int64_t>;

TEST(StepFolders, KeepTheLastAndCountWholeSetsAlone) {
  const io_test::workplace here;
  fs::create_directory(here.path("a"));
  rs::step_folders f(here.path("a/runs//"));
  EXPECT_EQ(f.steps(), steps());
  for (const std::int64_t step : {1, 20, 300, 4000}) {
    f.begin(step);
    EXPECT_TRUE(fs::is_directory(f.partial_path(step)));
    f.commit(step, "{}", 3);
  }
  EXPECT_EQ(f.steps(), (steps{20, 300, 4000}));
  EXPECT_TRUE(fs::exists(here.path("a/runs/step_000000000300/hyperparallel_set.json")));
  // Neither a set without a manifest nor another name counts, and what others left goes.
  for (const char* name : {"step_000000000005", "step_7", "step_", "step_x", "other", ".step_000000000009.partial"})
    fs::create_directories(here.path(std::string("a/runs/") + name));
  EXPECT_EQ(f.steps(), (steps{20, 300, 4000}));
  f.begin(0);
  EXPECT_FALSE(fs::exists(here.path("a/runs/.step_000000000009.partial")));
  f.commit(0, "{}", 9);
  EXPECT_EQ(f.steps(), (steps{0, 20, 300, 4000}));
}

/// Of a run that begins anew, the sets that were there before go first, and the newest is its own.
TEST(StepFolders, ARunThatBeginsAnewTakesOver) {
  const io_test::workplace here;
  rs::step_folders f(here.path("runs"));
  EXPECT_EQ(f.newest(), -1);
  const auto keep = [&](std::int64_t step) {
    f.begin(step);
    f.commit(step, "{}", 3);
    EXPECT_EQ(f.newest(), step);
  };
  for (const std::int64_t step : {100, 200, 300}) keep(step);
  keep(50);
  EXPECT_EQ(f.steps(), (steps{50, 200, 300}));
  keep(60);
  EXPECT_EQ(f.steps(), (steps{50, 60, 300}));
  keep(70);
  keep(80);
  EXPECT_EQ(f.steps(), (steps{60, 70, 80}));
  for (const char* text : {"", "x", "50", "-1", "99999999999999999999"}) {
    here.put("runs/newest", text);
    EXPECT_EQ(f.newest(), 80) << text;
  }
  here.put("runs/newest", "60");
  EXPECT_EQ(f.newest(), 60);
}

TEST(StepFolders, AreNotMadeBelowWhatIsNotThere) {
  const io_test::workplace here;
  rs::step_folders f(here.path("missing/runs"));
  EXPECT_EQ(tested::error_of<hp::io_error>([&] { f.open(); }),
            "cannot write '" + here.path("missing/runs") + "': No such file or directory");
  EXPECT_EQ(f.steps(), steps());
}

TEST(StepFolders, ASetTakesThePlaceOfThatOfItsStep) {
  const io_test::workplace here;
  rs::step_folders f(here.path("runs"));
  for (const char* text : {"{\"a\": 1}", "{\"b\": 2}"}) {
    f.begin(5);
    f.commit(5, text, 1);
    EXPECT_EQ(here.get("runs/step_000000000005/hyperparallel_set.json"), text);
  }
  f.begin(5);
  f.discard(5);
  EXPECT_EQ(here.get("runs/step_000000000005/hyperparallel_set.json"), "{\"b\": 2}");
  EXPECT_EQ(std::distance(fs::directory_iterator(here.path("runs")), fs::directory_iterator()), 2);
}

TEST(StepFolders, HaveOneWriter) {
  const io_test::workplace here;
  rs::step_folders first(here.path("runs")), second(here.path("runs"));
  first.begin(1);
  EXPECT_EQ(tested::error_of<hp::io_error>([&] { second.begin(1); }),
            "cannot write '" + here.path("runs") + "': another process writes its sets");
  EXPECT_TRUE(fs::exists(first.partial_path(1)));
}

}  // namespace
