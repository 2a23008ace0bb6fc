// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/checkpoint/run_checkpoints.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <hyperparallel/io/checkpoint.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

#include <io/workplace.hpp>
#include <models/piped_model.hpp>
#include <support/error_of.hpp>
#include <support/tries.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include "checkpoint/kept_runs.hpp"

namespace hp = hyperparallel;
namespace fs = std::filesystem;

namespace {

using namespace checkpoint_test;

/// The bits of a training that was not interrupted, of every type.
template <class T>
void expect_to_go_on(hp::data_type type, const char* strategy, int ranks) {
  SCOPED_TRACE(strategy);
  const io_test::workplace here;
  const hp::graph g = small_models::decoder({.type = type});
  run_of<T> whole(g, called(strategy, ranks)), first(g, called(strategy, ranks)), second(g, called(strategy, ranks));
  const std::vector<T> losses = train(whole, 5);
  train(first, 2);
  hp::run_checkpoints saves(here.path("runs"), first), loads(here.path("runs"), second);
  EXPECT_FALSE(loads.load().has_value());
  saves.save({{"seed", "7"}});
  train(second, 3);  // what is loaded replaces what it has learnt
  const auto loaded = loads.load();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->steps, 2);
  EXPECT_EQ(loaded->texts, (hp::run_texts{{"seed", "7"}}));
  EXPECT_EQ(second.steps(), 2);
  EXPECT_EQ(train(second, 3), std::vector<T>(losses.begin() + 2, losses.end()));
  EXPECT_EQ(values_of(second), values_of(whole));
}
TEST(RunCheckpoints, GoOnWithTheSameBits) {
  for (const char* strategy : {"dp", "zero3", "tp"}) expect_to_go_on<float>(hp::f32, strategy, 2);
  expect_to_go_on<double>(hp::f64, "zero1", 4);
  expect_to_go_on<float>(hp::bf16, "zero3", 4);
}

/// Kept under each strategy, loaded under each: whole values are the same bits, and so is what trains on from there.
TEST(RunCheckpoints, LoadUnderAnyOtherStrategyAndCut) {
  const hp::graph g = programs::piped_graph(4, 4, nullptr, hp::f64);
  hp::pipeline_value folded{.schedule = hp::schedule_called("ZB-V"), .ranks = 2, .chunks = 2};
  for (const hp::strategy_value& s : {called("dp", 4), called("tp", 2)}) folded.strategy.push(s);
  const hp::pipeline_value straight{.schedule = hp::schedule_called("1F1B"), .ranks = 4};
  std::vector<std::unique_ptr<run_of<double>>> runs;
  for (const auto& [name, ranks] : std::vector<std::pair<const char*, int>>{
           {"single", 1}, {"dp", 4}, {"tp", 2}, {"zero3", 4}, {"ep", 4}, {"dp-tp", 4}})
    runs.push_back(std::make_unique<run_of<double>>(g, called(name, ranks)));
  runs.push_back(std::make_unique<run_of<double>>(g, hp::strategy_value{}, folded));
  runs.push_back(std::make_unique<run_of<double>>(g, called("zero2", 2), straight));
  for (std::size_t a = 0; a < runs.size(); ++a) {
    const io_test::workplace here;
    runs[a]->set_first_values();
    train(*runs[a], 1);
    hp::run_checkpoints saves(here.path("runs"), *runs[a]);
    saves.save();
    const auto expected = values_of(*runs[a]);
    for (std::size_t b = 0; b < runs.size(); ++b) {
      SCOPED_TRACE(std::to_string(a) + " to " + std::to_string(b));
      if (a == b) continue;
      runs[b]->set_first_values();
      hp::load_run(here.path("runs/step_000000000001"), *runs[b]);
      ASSERT_TRUE(values_of(*runs[b]) == expected);
      EXPECT_EQ(runs[b]->steps(), 1);
    }
    run_of<double> twice(programs::piped_graph(4, 2, nullptr, hp::f64), called("zero1", 4));  // other micro-batches
    hp::load_run(here.path("runs/step_000000000001"), twice);
    EXPECT_TRUE(values_of(twice) == expected);
    EXPECT_GT(train(twice, 1).front(), 0);
    // One that goes on from the set, and one whose values are set whole.
    run_of<double>&next = *runs[(a + 1) % runs.size()], &other = *runs[(a + 2) % runs.size()];
    const std::vector<double> losses = train(next, 2);
    const auto after = values_of(next);
    next.set_first_values();
    for (const auto& [name, values] : expected) next.world().set(name, values);
    next.set_steps(1);
    EXPECT_EQ(train(next, 2), losses);
    EXPECT_TRUE(values_of(next) == after);
    hp::run_checkpoints again(here.path("again"), next);
    again.save();
    hp::load_run(here.path("again/step_000000000003"), other);
    EXPECT_TRUE(values_of(other) == after);
  }
}

/// A table that two stages have is kept once and given to both.
TEST(RunCheckpoints, OfATiedModelGoOnUnderAnotherCut) {
  const io_test::workplace here;
  const hp::graph g = programs::tied_graph(4, 4);
  const hp::pipeline_value two{.schedule = hp::schedule_called("1F1B"), .ranks = 2},
      four{.schedule = hp::schedule_called("ZB-H1"), .ranks = 4};
  run_of<double> whole(g, called("single", 1), two), first(g, called("single", 1), two),
      other(g, called("single", 1), four);
  const std::vector<double> losses = train(whole, 4);
  train(first, 2);
  hp::run_checkpoints saves(here.path("runs"), first), others(here.path("runs"), other);
  saves.save();
  train(first, 1);
  saves.load();
  EXPECT_EQ(train(first, 2), std::vector<double>(losses.begin() + 2, losses.end()));
  others.load();
  const std::vector<double> rest = train(other, 2);
  for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_NEAR(rest[i], losses[i + 2], 1e-9);
}

std::map<std::string, std::string> files_of(const std::string& folder, const std::string& without = "") {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    for (std::size_t at; !without.empty() && (at = bytes.find(without)) != std::string::npos;)
      bytes.erase(at, without.size());
    all[entry.path().filename().string()] = std::move(bytes);
  }
  return all;
}

/// What is kept is the run at the call, whatever it does while the thread writes; older sets go.
TEST(RunCheckpoints, SavedLaterAreThoseSavedAtOnce) {
  const io_test::workplace here;
  const hp::graph g = small_models::decoder({});
  run_of<float> run(g, called("zero3", 2)), other(g, called("dp", 2));
  hp::run_checkpoints later(here.path("later"), run, {.keep = 2});
  std::vector<std::map<std::string, std::vector<float>>> at(1);
  for (int i = 0; i < 5; ++i) {
    train(run, 1);
    later.save_later();
    at.push_back(values_of(run));
    later.poll();
  }
  train(run, 1);
  later.wait();
  EXPECT_TRUE(later.poll());
  EXPECT_EQ(later.steps(), (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(fs::exists(here.path("later/.step_000000000003.old")), false);
  hp::run_checkpoints loads(here.path("later"), other);
  for (const std::int64_t step : {4, 5}) {
    loads.load(step);
    EXPECT_TRUE(values_of(other) == at[static_cast<std::size_t>(step)]);
  }
  loads.load(4);
  EXPECT_EQ(other.steps(), 4);
  // Step 5 again, from 4 on: the same set takes the place of the old one.
  const auto before = files_of(here.path("later/step_000000000005"));
  later.load(4);
  train(run, 1);
  later.save();
  EXPECT_EQ(later.steps(), (std::vector<std::int64_t>{4, 5}));
  const auto after = files_of(here.path("later/step_000000000005"));
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [name, bytes] : before) EXPECT_EQ(bytes.size(), after.at(name).size()) << name;
  loads.load(5);
  EXPECT_TRUE(values_of(other) == at[5]);
}

// The sanitizer of threads ends a child that starts threads.
#ifdef __SANITIZE_THREAD__
constexpr bool children_may_start_threads = false;
#else
constexpr bool children_may_start_threads = true;
#endif

/// Runs `what` in a process of its own; its exit status.
template <class What>
int in_child(const What& what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Killed at any moment, the folder has the old set or the new one, whole.
TEST(RunCheckpoints, AreWholeWheneverTheWriterIsKilled) {
  if (!children_may_start_threads) GTEST_SKIP() << "the sanitizer of threads does not follow a child's";
  const io_test::workplace here;
  const hp::graph g = small_models::decoder({});
  std::vector<std::map<std::string, std::vector<float>>> at(1);
  {
    run_of<float> run(g, called("zero3", 2));
    for (int i = 0; i < 6; ++i) train(run, 1), at.push_back(values_of(run));
  }
  const std::string folder = here.path("runs");
  const auto saving = [&] {
    run_of<float> run(g, called("zero3", 2));
    hp::run_checkpoints saves(folder, run, {.keep = 2, .threads = 2});
    saves.load();
    for (;;) {
      if (run.steps() == 6) run.set_first_values();  // sets are written again
      train(run, 1);
      run.steps() % 2 == 0 ? saves.save() : saves.save_later();
      saves.poll();
    }
    return 0;
  };
  // What a first life takes until its first set is there.
  run_of<float> reader(g, called("tp", 2));
  int loaded = 0, stopped = 0, times = tested::tries(6, 200);
  for (int i = 0; i < times; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(saving());
    const auto begun = std::chrono::steady_clock::now();
    while (i == 0 && !fs::exists(folder + "/step_000000000001") &&
           std::chrono::steady_clock::now() - begun < std::chrono::seconds(20))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(37 + (i * 7919) % 150'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const auto& entry : fs::directory_iterator(folder))
      stopped += entry.path().filename().string().ends_with(".partial") ? 1 : 0;
    hp::run_checkpoints loads(folder, reader);
    for (const std::int64_t step : loads.steps()) {
      ASSERT_NO_THROW(loads.load(step));
      ASSERT_TRUE(values_of(reader) == at[static_cast<std::size_t>(step)]) << "step " << step << ", time " << i;
      ++loaded;
    }
    ASSERT_FALSE(loads.steps().empty());
  }
  EXPECT_GE(loaded, times);
  EXPECT_GE(stopped, times / 20);  // in the middle of a set
}

/// A full disk, a folder that cannot be written, another writer: one line, and the old set stays.
TEST(RunCheckpoints, ThatCannotBeWrittenLoseNothing) {
  if (!children_may_start_threads) GTEST_SKIP() << "the sanitizer of threads does not follow a child's";
  const io_test::workplace here;
  const hp::graph g = small_models::decoder({});
  run_of<float> run(g, called("dp", 2));
  train(run, 1);
  const std::string folder = here.path("runs");
  {
    hp::run_checkpoints saves(folder, run);
    saves.save();
    run_of<float> second(g, called("dp", 2));
    hp::run_checkpoints others(folder, second);
    EXPECT_EQ(tested::error_of<hp::io_error>([&] { others.save(); }),
              "cannot write '" + folder + "': another process writes its sets");
  }
  const auto before = files_of(folder + "/step_000000000001");
  for (const bool later : {false, true}) {
    EXPECT_EQ(in_child([&] {
                ::signal(SIGXFSZ, SIG_IGN);
                const rlimit most{6000, 6000};
                ::setrlimit(RLIMIT_FSIZE, &most);
                run.set_steps(2);
                hp::run_checkpoints saves(folder, run);
                try {
                  if (later)
                    saves.save_later(), saves.wait();
                  else
                    saves.save();
                } catch (const hp::io_error& e) {
                  const std::string line = e.what();
                  return line.find("File too large") != std::string::npos && line.find('\n') == std::string::npos ? 3
                                                                                                                  : 4;
                }
                return 5;
              }),
              3);
    EXPECT_TRUE(files_of(folder + "/step_000000000001") == before);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
  }
  // A folder below a file.
  here.put("file", "x");
  hp::run_checkpoints nowhere(here.path("file/runs"), run);
  EXPECT_THROW(nowhere.save(), hp::io_error);
  fs::permissions(folder, fs::perms(0555));
  fs::permissions(here.path(""), fs::perms(0755));
  const bool is_root = ::geteuid() == 0;  // who may do everything
  if (is_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  hp::run_checkpoints refused(folder, run);
  EXPECT_EQ(tested::error_of<hp::io_error>([&] { refused.save(); }),
            "cannot write '" + folder + "': Permission denied");
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_TRUE(files_of(folder + "/step_000000000001") == before);
}

TEST(RunCheckpoints, ThatAreDamagedAreNamedAndChangeNothing) {
  const io_test::workplace here;
  const hp::graph g = small_models::decoder({});
  run_of<float> run(g, called("zero3", 2)), other(g, called("tp", 2)),
      larger(small_models::decoder({.layers = 2}), called("dp", 2));
  hp::run_checkpoints saves(here.path("runs"), run);
  train(run, 1);
  saves.save();
  train(run, 1);
  saves.save();
  train(other, 3);
  const auto before = values_of(other);
  const std::string set = here.path("runs/step_000000000001"), file = set + "/rank_00001.safetensors";
  const auto read = [](const std::string& path) {
    std::ifstream f(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(f), {});
  };
  const auto write = [](const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  const auto error = [&] {
    const std::string line = tested::error_of<hp::io_error>([&] { hp::load_run(set, other); });
    EXPECT_TRUE(values_of(other) == before);
    EXPECT_EQ(other.steps(), 3);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    return line;
  };
  const std::string good = read(file), manifest = read(set + "/hyperparallel_set.json");
  for (std::size_t i = 0; i < 20; ++i) {
    std::string bad = good;
    const std::size_t at = i * 7919 % bad.size();
    bad[at] = static_cast<char>(bad[at] ^ (1 << i % 8));
    write(file, bad);
    EXPECT_NE(error().find(file), std::string::npos) << at;
  }
  write(file, good.substr(0, good.size() - 1));
  EXPECT_NE(error().find(file), std::string::npos);
  write(file, read(here.path("runs/step_000000000002/rank_00001.safetensors")));
  EXPECT_NE(error().find("it is not of the set that the manifest is of"), std::string::npos);
  fs::remove(file);
  EXPECT_NE(error().find(file), std::string::npos);
  write(file, good);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"dtype\": \"F32\"", "\"dtype\": \"F16\""},
                                                        {"\"slices\": [", "\"slices\": [[0, 0], "},
                                                        {"rank_00000", "../rank_00000"}}) {
    std::string bad = manifest;
    bad.replace(bad.find(from), from.size(), to);
    write(set + "/hyperparallel_set.json", bad);
    EXPECT_FALSE(error().empty());
  }
  nlohmann::json d = nlohmann::json::parse(manifest);
  for (const int what : {0, 1, 2}) {
    nlohmann::json bad = d;
    nlohmann::json& slices = bad["tensors"].begin().value()["slices"];
    if (what == 0) slices.push_back(slices[0]);
    if (what == 1) slices.erase(slices.begin());
    if (what == 2) bad["tensors"].erase(bad["tensors"].begin());
    write(set + "/hyperparallel_set.json", bad.dump());
    EXPECT_FALSE(error().empty());
  }
  fs::remove(set + "/hyperparallel_set.json");
  EXPECT_EQ(saves.steps(), (std::vector<std::int64_t>{2}));
  write(set + "/hyperparallel_set.json", manifest);
  EXPECT_THROW(hp::load_run(set, larger), hp::checkpoint_error);
  hp::load_run(set, other);
  EXPECT_EQ(other.steps(), 1);
}

}  // namespace
