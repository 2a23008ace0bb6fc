// SPDX-License-Identifier: Apache-2.0
// A target is whole or untouched, and nothing is left beside it.

#include <hyperparallel/io/atomic_file.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "io/workplace.hpp"

namespace hp = hyperparallel;

namespace {

using names = std::set<std::string>;

std::string complaint(const std::string& path) {
  try {
    hp::atomic_file file(path);
  } catch (const hp::io_error& e) {
    return e.what();
  }
  return "opened";
}

TEST(atomic_file, holds_every_byte_after_commit_and_nothing_before) {
  const io_test::workplace place;
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{1000}, std::size_t{65535}, std::size_t{65536}, std::size_t{300000}}) {
    std::string all;
    hp::atomic_file file(place.path("out"));
    for (std::size_t i = 0; i < 5; ++i) {
      const std::string text(piece, static_cast<char>('a' + i));
      file.write(text);
      all += text;
      EXPECT_FALSE(place.names().contains("out"));
    }
    file.commit();
    EXPECT_EQ(place.get("out"), all);
    EXPECT_EQ(place.names(), names{"out"});
    std::filesystem::remove(place.path("out"));
  }
}

TEST(atomic_file, leaves_the_old_content_when_not_committed) {
  const io_test::workplace place;
  place.put("out", "old");
  EXPECT_THROW(
      {
        hp::atomic_file file(place.path("out"));
        file.write(std::string(100000, 'x'));
        throw std::runtime_error("the writer failed");
      },
      std::runtime_error);
  EXPECT_EQ(place.get("out"), "old");
  EXPECT_EQ(place.names(), names{"out"});
}

TEST(atomic_file, replaces_content_and_keeps_the_mode) {
  const io_test::workplace place;
  place.put("out", "a longer old content");
  std::filesystem::permissions(place.path("out"), std::filesystem::perms(0640));
  hp::atomic_file file(place.path("out"));
  file.write("new");
  EXPECT_EQ(place.get("out"), "a longer old content");
  file.commit();
  EXPECT_EQ(place.get("out"), "new");
  EXPECT_EQ(std::filesystem::status(place.path("out")).permissions(), std::filesystem::perms(0640));
}

TEST(atomic_file, two_at_once_on_one_target_do_not_meet) {
  const io_test::workplace place;
  hp::atomic_file first(place.path("out")), second(place.path("out"));
  first.write("first");
  second.write("second");
  first.commit();
  EXPECT_EQ(place.get("out"), "first");
  second.commit();
  EXPECT_EQ(place.get("out"), "second");
  EXPECT_EQ(place.names(), names{"out"});
}

TEST(atomic_file, replaces_what_a_link_leads_to) {
  const io_test::workplace place;
  place.put("real", "old");
  std::filesystem::create_symlink("real", place.path("link"));
  hp::atomic_file file(place.path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(place.path("link")));
  EXPECT_EQ(place.get("real"), "new");
}

TEST(atomic_file, says_when_opened_what_can_never_be_written) {
  const io_test::workplace place;
  place.put("file", "x");
  std::filesystem::create_directory(place.path("folder"));
  const names before = place.names();
  const std::string nowhere = place.path("missing/out"), below = place.path("file/out"), folder = place.path("folder");
  const std::string slash = place.path("new/"), endless = place.path(std::string(300, 'n'));
  EXPECT_EQ(complaint(nowhere), "cannot write '" + nowhere + "': No such file or directory");
  EXPECT_EQ(complaint(below), "cannot write '" + below + "': Not a directory");
  EXPECT_EQ(complaint(folder), "cannot write '" + folder + "': Is a directory");
  EXPECT_EQ(complaint(slash), "cannot write '" + slash + "': Is a directory");
  EXPECT_EQ(complaint(endless), "cannot write '" + endless + "': File name too long");
  EXPECT_EQ(complaint(""), "cannot write '': No such file or directory");
  EXPECT_EQ(place.names(), before);
}

// A link that leads nowhere yet is no file to replace: what it leads to is made, and the link stays.
TEST(atomic_file, makes_what_a_dangling_link_leads_to) {
  const io_test::workplace place;
  std::filesystem::create_directory(place.path("folder"));
  std::filesystem::create_symlink("folder/out", place.path("link"));
  std::filesystem::create_symlink(place.path("link"), place.path("link_of_link"));
  std::filesystem::create_symlink("../folder/second", place.path("folder/inner"));
  std::filesystem::create_symlink("folder/inner", place.path("outer"));
  for (const auto& [link, target] : {std::pair{"link_of_link", "folder/out"}, {"outer", "folder/second"}}) {
    for (const char* text : {"first", "again"}) {
      hp::atomic_file file(place.path(link));
      file.write(text);
      file.commit();
      EXPECT_TRUE(std::filesystem::is_symlink(place.path(link))) << link;
      EXPECT_FALSE(std::filesystem::is_symlink(place.path(target)));
      EXPECT_EQ(place.get(target), text);
    }
  }
  EXPECT_TRUE(std::filesystem::is_symlink(place.path("link")));
  EXPECT_EQ(place.names(), (names{"folder", "link", "link_of_link", "outer"}));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(place.path("folder"));
  std::filesystem::create_symlink("third", "here");
  hp::atomic_file("here").commit();
  std::filesystem::current_path(before);
  EXPECT_EQ(place.get("folder/third"), "");
}

TEST(atomic_file, refuses_links_to_what_cannot_be_written) {
  const io_test::workplace place;
  std::filesystem::create_directory(place.path("folder"));
  std::filesystem::create_symlink("folder", place.path("to_folder"));
  std::filesystem::create_symlink("new/", place.path("to_slash"));
  std::filesystem::create_symlink("nowhere/out", place.path("to_nowhere"));
  std::filesystem::create_symlink("circle", place.path("circle"));
  const names before = place.names();
  EXPECT_EQ(complaint(place.path("to_folder")), "cannot write '" + place.path("to_folder") + "': Is a directory");
  EXPECT_EQ(complaint(place.path("to_slash")), "cannot write '" + place.path("to_slash") + "': Is a directory");
  EXPECT_EQ(complaint(place.path("to_nowhere")),
            "cannot write '" + place.path("nowhere/out") + "': No such file or directory");
  EXPECT_EQ(complaint(place.path("circle")),
            "cannot write '" + place.path("circle") + "': Too many levels of symbolic links");
  EXPECT_EQ(place.names(), before);
}

TEST(atomic_file, keeps_the_file_behind_a_descriptor_and_other_names_of_a_file) {
  const io_test::workplace place;
  place.put("out", "old ");
  std::filesystem::create_hard_link(place.path("out"), place.path("other"));
  const int open = ::open(place.path("out").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(open, 0);
  hp::atomic_file descriptor("/proc/self/fd/" + std::to_string(open));
  descriptor.write("new");
  descriptor.commit();
  ::close(open);
  EXPECT_EQ(place.get("out"), "old new");
  EXPECT_EQ(place.get("other"), "old new");
  hp::atomic_file file(place.path("out"));
  file.commit();
  EXPECT_EQ(place.get("out"), "");
  EXPECT_EQ(place.get("other"), "old new");
}

TEST(atomic_file, writes_a_pipe_and_leaves_it) {
  const io_test::workplace place;
  ASSERT_EQ(::mkfifo(place.path("pipe").c_str(), 0600), 0);
  const int reader = ::open(place.path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  hp::atomic_file file(place.path("pipe"));
  file.write("text");
  file.commit();
  char text[8] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(place.path("pipe")));
}

TEST(atomic_file, ends_without_a_trace_when_the_target_disappears) {
  const io_test::workplace place;
  std::filesystem::create_directory(place.path("folder"));
  hp::atomic_file file(place.path("folder/out"));
  file.write("text");
  std::filesystem::create_directory(place.path("folder/out"));  // a folder of that name cannot be replaced by a file
  EXPECT_THROW(file.commit(), hp::io_error);
  EXPECT_TRUE(std::filesystem::is_directory(place.path("folder/out")));
  std::filesystem::remove(place.path("folder/out"));
  EXPECT_TRUE(std::filesystem::is_empty(place.path("folder")));
  EXPECT_THROW(file.write("more"), hp::io_error);
  EXPECT_THROW(file.commit(), hp::io_error);
}

TEST(atomic_file, reports_a_full_device) {
  ASSERT_TRUE(std::filesystem::is_character_file("/dev/full"));
  hp::atomic_file large("/dev/full");
  EXPECT_THROW(large.write(std::string(100000, 'x')), hp::io_error);
  hp::atomic_file small("/dev/full");
  small.write("x");
  try {
    small.commit();
    FAIL() << "committed";
  } catch (const hp::io_error& e) {
    EXPECT_STREQ(e.what(), "cannot write '/dev/full': No space left on device");
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(atomic_file, writes_devices_directly) {
  hp::atomic_file file("/dev/null");
  file.write("x");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(atomic_file, can_be_committed_once) {
  const io_test::workplace place;
  hp::atomic_file file(place.path("out"));
  file.commit();
  EXPECT_EQ(place.get("out"), "");
  EXPECT_THROW(file.commit(), hp::io_error);
  EXPECT_EQ(place.names(), names{"out"});
}

/// What a process leaves that is killed while it writes `path`: the number of the process, which has ended.
pid_t killed_writer(const std::string& path) {
  int ready[2] = {};
  if (::pipe(ready) != 0) return 0;
  const pid_t child = ::fork();
  if (child == 0) {
    hp::atomic_file file(path);
    file.write(std::string(200000, 'x'));
    if (::write(ready[1], "r", 1) == 1)
      for (;;) ::pause();
    ::_exit(1);
  }
  char c = 0;
  const bool written = child > 0 && ::read(ready[0], &c, 1) == 1;
  ::close(ready[0]);
  ::close(ready[1]);
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return written ? child : 0;
}

TEST(atomic_file, removes_what_a_killed_writer_of_the_same_target_left) {
  const io_test::workplace place;
  place.put("out", "old");
  for (int i = 0; i < 3; ++i) {
    ASSERT_GT(killed_writer(place.path("out")), 0);
    EXPECT_EQ(place.names().size(), 2u) << "each writer removes the one before it";
    EXPECT_EQ(place.get("out"), "old");
  }
  hp::atomic_file file(place.path("out"));
  file.write("new");
  file.commit();
  EXPECT_EQ(place.get("out"), "new");
  EXPECT_EQ(place.names(), names{"out"});
}

TEST(atomic_file, removes_also_beside_what_a_link_leads_to_and_in_the_current_folder) {
  const io_test::workplace place;
  std::filesystem::create_directory(place.path("folder"));
  place.put("folder/out", "old");
  std::filesystem::create_symlink("folder/out", place.path("link"));
  ASSERT_GT(killed_writer(place.path("folder/out")), 0);
  hp::atomic_file(place.path("link")).commit();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path("folder")), {}), 1);

  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(place.path("folder"));
  ASSERT_GT(killed_writer("fresh"), 0);
  hp::atomic_file("fresh").commit();
  std::filesystem::current_path(before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path("folder")), {}), 2);
}

TEST(atomic_file, keeps_temporaries_of_other_targets_of_the_living_and_of_holders_of_a_lock) {
  const io_test::workplace place;
  ASSERT_GT(killed_writer(place.path("other")), 0);
  const names of_other = place.names();
  ASSERT_EQ(of_other.size(), 1u);

  hp::atomic_file living(place.path("out"));  // of this process
  living.write("living");
  const pid_t dead = killed_writer(place.path("out"));
  ASSERT_GT(dead, 0);
  names all = place.names();
  ASSERT_EQ(all.size(), 3u);

  // Somebody holds the lock of the dead one's temporary: its number may be that of a process elsewhere.
  std::string of_dead;
  for (const std::string& name : all)
    if (!of_other.contains(name) && name.find("-" + std::to_string(dead) + "-") != std::string::npos) of_dead = name;
  ASSERT_FALSE(of_dead.empty());
  const int locked = ::open(place.path(of_dead).c_str(), O_RDONLY);
  ASSERT_EQ(::flock(locked, LOCK_EX | LOCK_NB), 0);
  hp::atomic_file(place.path("out")).commit();
  all.insert("out");
  EXPECT_EQ(place.names(), all);
  ::close(locked);

  hp::atomic_file(place.path("out")).commit();
  all.erase(of_dead);
  EXPECT_EQ(place.names(), all);
  living.commit();
  EXPECT_EQ(place.get("out"), "living");
}

TEST(atomic_file, keeps_files_that_only_look_like_temporaries) {
  const io_test::workplace place;
  const pid_t dead = killed_writer(place.path("out"));
  ASSERT_GT(dead, 0);
  const std::string stale = *place.names().begin();
  const std::string prefix = stale.substr(0, stale.find('-') + 1), process = std::to_string(dead);
  names kept;
  for (const std::string& name : {prefix + process + ".partial", prefix + "-" + process + "-0.partial",
                                  prefix + "0-0.partial", prefix + ".partial", prefix + "99999999999999-0.partial",
                                  prefix + process + "-0.partial2", "." + process + "-0.partial"}) {
    place.put(name, "x");
    kept.insert(name);
  }
  // Of processes that live, this one and one that may not be signalled, though nobody holds a lock.
  for (const std::string& name : {prefix + std::to_string(::getpid()) + "-9.partial", prefix + "1-0.partial"}) {
    place.put(name, "x");
    kept.insert(name);
  }
  std::filesystem::create_directory(place.path(prefix + process + "-7.partial"));
  kept.insert(prefix + process + "-7.partial");
  std::filesystem::create_symlink("out", place.path(prefix + process + "-8.partial"));
  kept.insert(prefix + process + "-8.partial");
  hp::atomic_file(place.path("out")).commit();
  kept.insert("out");
  EXPECT_EQ(place.names(), kept);
}

}  // namespace
