// SPDX-License-Identifier: Apache-2.0
// processes: 3 2
// Checkpoints of runs over processes: each process writes and reads what its ranks have, and any other place goes on from them.
#include <hyperparallel/checkpoint/run_checkpoints.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include <hyperparallel/checkpoint/run_slices.hpp>
#include <hyperparallel/mpi/program_world.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "checkpoint/model_files.hpp"
#include "mpi/worlds.hpp"
#include "support/error_of.hpp"
#include "world/small_models.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;
namespace fs = std::filesystem;

namespace {

using namespace mpi_worlds;
using checkpoint_test::files_of;
using spread_run = hp::model_run<double, hp::mpi_program_world<double>>;
using threaded_run = hp::model_run<double>;

/// Four ranks on the processes.
hp::mpi_world four_ranks() {
  return {
      MPI_COMM_WORLD, processes() == 3 ? std::vector<int>{1, 0, 2, 1} : std::vector<int>{1, 0, 0, 1}, {.timeout = 60s}};
}
hp::strategy_value called(const char* name, int ranks) { return hp::strategy_called(name, ranks).strategy; }

template <class Run>
std::vector<double> train(Run& run, int steps) {
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i)
    losses.push_back(run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(run.steps())); }));
  return losses;
}
template <class Run>
std::vector<std::vector<double>> values_of(Run& run) {
  std::vector<std::vector<double>> all;
  for (const int t : hp::reshard::detail::kept_tensors(run.world().program())) all.push_back(run.world().get(t));
  return all;
}

/// A folder that all processes see, gone at the end.
struct shared_folder {
  const hp::mpi_world& world;
  std::string path;

  shared_folder(const hp::mpi_world& w, const std::string& name) : world(w) {
    int number = static_cast<int>(::getpid());
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    path = (fs::temp_directory_path() / ("hyperparallel-" + name + "-" + std::to_string(number))).string();
  }
  ~shared_folder() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.process() == 0) fs::remove_all(path);
  }
};

/// What processes keep, threads go on from, with the same bits, and back; at once and later.
TEST(mpi_run_checkpoints, go_on_over_processes_and_on_threads) {
  const hp::mpi_world world = four_ranks();
  const hp::graph g = small_models::decoder({.type = hp::f64});
  for (const char* name : {"zero3", "dp", "dp-tp"}) {
    SCOPED_TRACE(name);
    const shared_folder folder(world, "go-on");
    spread_run whole(world, g, called(name, 4)), first(world, g, called(name, 4)), other(world, g, called("tp", 4));
    threaded_run alone(g, called(name, 4));
    const std::vector<double> losses = train(whole, 5);
    hp::run_checkpoints saves(folder.path, first, {.keep = 2});
    EXPECT_FALSE(saves.load().has_value());
    train(first, 1);
    saves.save();
    train(first, 1);
    saves.save_later({{"seed", "7"}});
    train(first, 1);  // while it is written
    while (!saves.poll()) train(first, 1);
    EXPECT_EQ(saves.steps(), (std::vector<std::int64_t>{1, 2}));
    const auto loaded = saves.load();
    ASSERT_TRUE(loaded.has_value());
    EXPECT_EQ(loaded->texts.at("seed"), "7");
    EXPECT_EQ(first.steps(), 2);
    EXPECT_EQ(train(first, 3), std::vector<double>(losses.begin() + 2, losses.end()));
    EXPECT_TRUE(values_of(first) == values_of(whole));
    // On threads.
    hp::load_run(folder.path + "/step_000000000002", alone);
    const auto kept = values_of(alone);
    EXPECT_EQ(train(alone, 3), std::vector<double>(losses.begin() + 2, losses.end()));
    // Over the same processes under another strategy.
    hp::run_checkpoints others(folder.path, other, {.keep = 2});
    others.load(2);
    EXPECT_TRUE(values_of(other) == kept);
    world.channel().agree("end of " + std::string(name));
  }
}

/// Three processes keep, two of them go on; and what one process of threads keeps, all go on from.
TEST(mpi_run_checkpoints_on_3_processes, go_on_with_fewer_processes) {
  const hp::mpi_world world = four_ranks();
  const shared_folder folder(world, "fewer");
  const hp::graph g = small_models::decoder({.type = hp::f64});
  spread_run run(world, g, called("zero3", 4));
  hp::run_checkpoints saves(folder.path, run);
  train(run, 2);
  saves.save();
  const auto kept = values_of(run);
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.process() == 2 ? 1 : 0, world.process(), &pair);
  if (world.process() != 2) {
    const hp::mpi_world two(pair, hp::mpi_options{.timeout = 60s});
    spread_run next(two, g, called("tp", 2));
    hp::load_run(folder.path + "/step_000000000002", next);
    EXPECT_TRUE(values_of(next) == kept);
    threaded_run alone(g, called("tp", 2));
    hp::load_run(folder.path + "/step_000000000002", alone);
    EXPECT_EQ(train(next, 2), train(alone, 2));
    two.channel().agree("end of two");
  } else {
    threaded_run alone(g, called("single", 1));
    train(alone, 3);
    hp::run_checkpoints single(folder.path + "-single", alone);
    single.save();
  }
  MPI_Comm_free(&pair);
  MPI_Barrier(MPI_COMM_WORLD);
  hp::load_run(folder.path + "-single/step_000000000003", run);
  threaded_run alone(g, called("single", 1));
  train(alone, 3);
  EXPECT_TRUE(values_of(run) == values_of(alone));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.process() == 0) fs::remove_all(folder.path + "-single");
}

/// What fails on one process is said by all, in the same words, and the old set stays.
TEST(mpi_run_checkpoints, fail_on_all_processes_alike) {
  const hp::mpi_world world = four_ranks();
  const shared_folder folder(world, "fail");
  const hp::graph g = small_models::decoder({.type = hp::f64});
  spread_run run(world, g, called("zero3", 4));
  train(run, 1);
  const auto one_line = [](const std::string& line, const std::string& part) {
    EXPECT_NE(line.find(part), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  };
  {
    hp::run_checkpoints saves(folder.path, run);
    saves.save();
    train(run, 1);
    const auto kept = files_of(folder.path + "/step_000000000001");
    for (const bool later : {false, true})
      for (int full = 0; full < world.processes(); ++full) {
        rlimit before{};
        ::getrlimit(RLIMIT_FSIZE, &before);
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit most{4000, before.rlim_max};
        if (world.process() == full) ::setrlimit(RLIMIT_FSIZE, &most);
        const std::string line = tested::error_of<hp::mpi_error>([&] {
          if (!later) saves.save();
          if (later) saves.save_later(), saves.wait();
        });
        ::setrlimit(RLIMIT_FSIZE, &before);
        one_line(line, "File too large");
        EXPECT_EQ(saves.steps(), (std::vector<std::int64_t>{1}));
        EXPECT_TRUE(files_of(folder.path + "/step_000000000001") == kept);
        world.channel().agree("looked at what is kept");
      }
    // Another run, and one on threads, at the same time.
    spread_run second(world, g, called("tp", 4));
    hp::run_checkpoints others(folder.path, second);
    const std::string locked = "cannot write '" + folder.path + "': another process writes its sets";
    EXPECT_EQ(tested::error_of<hp::mpi_error>([&] { others.save(); }), world.name(0) + ": " + locked);
    threaded_run alone(g, called("single", 1));
    hp::run_checkpoints single(folder.path, alone);
    EXPECT_EQ(tested::error_of<hp::io_error>([&] { single.save(); }), locked);
    EXPECT_TRUE(files_of(folder.path + "/step_000000000001") == kept);
    world.channel().agree("looked at what is kept, once more");
    // The world can go on, and so can saving.
    saves.save();
    EXPECT_EQ(saves.steps(), (std::vector<std::int64_t>{1, 2}));
  }
  {  // A folder that cannot be written, of a user who may not do everything.
    if (world.process() == 0) fs::permissions(folder.path, fs::perms(0555));
    world.channel().agree("it cannot be written");
    const bool is_root = ::geteuid() == 0;
    if (is_root) {
      ASSERT_EQ(::seteuid(65534), 0);
    }
    hp::run_checkpoints refused(folder.path, run);
    one_line(tested::error_of<hp::mpi_error>([&] { refused.save(); }), "Permission denied");
    EXPECT_EQ(refused.steps(), (std::vector<std::int64_t>{1, 2}));
    if (is_root) {
      ASSERT_EQ(::seteuid(0), 0);
    }
    world.channel().agree("it was refused");
    if (world.process() == 0) fs::permissions(folder.path, fs::perms(0755));
    world.channel().agree("it can be written");
  }
  const auto before = values_of(run);
  const std::string file = folder.path + "/step_000000000001/rank_00001.safetensors";
  world.channel().agree("before the damage");
  if (world.process() == 0) {
    std::fstream damaged(file, std::ios::binary | std::ios::in | std::ios::out);
    damaged.seekp(-3, std::ios::end);
    damaged.put('\x55');
  }
  world.channel().agree("the damage");
  one_line(tested::error_of<hp::mpi_error>([&] { hp::load_run(folder.path + "/step_000000000001", run); }),
           "is damaged: its bytes differ from their checksum");
  EXPECT_EQ(run.steps(), 2);
  EXPECT_TRUE(values_of(run) == before);
  one_line(tested::error_of<hp::mpi_error>([&] { hp::load_run(folder.path + "/step_000000000009", run); }),
           "No such file");
  world.channel().agree("end of failures");
}

}  // namespace
