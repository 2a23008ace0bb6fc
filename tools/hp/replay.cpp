// SPDX-License-Identifier: Apache-2.0
// hp replay FILE.jsonl … [--verbose] [--table]: replays ground truth, one JSON object a line, through the core at run
// time.
//
// Per file one line `FILE: N passed, N failed`, at the end `N passed, N failed` alone on its line; skipped vectors are
// counted on lines of their own. --verbose lists failures with id and reason, and skipped kinds with count and reason,
// and what vectors were held against where that differs. --table lists what each move receives, ours beside theirs.
// Exit status: 0 where everything could be read and nothing failed, 1 where a vector failed, 2 where a file or a line of it
// is unreadable.

#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "replay/byte_table.hpp"
#include "replay/kinds.hpp"
#include "subcommand.hpp"

namespace {

struct tally {
  long passed = 0, failed = 0, skipped = 0;
  void add(const tally& other) {
    passed += other.passed;
    failed += other.failed;
    skipped += other.skipped;
  }
};

std::ostream& operator<<(std::ostream& out, const tally& t) {
  return out << t.passed << " passed, " << t.failed << " failed";
}

/// Replays `path` into `t` and `table`. False, after one line on the error stream, where the file or a line of it is
/// unreadable.
bool replay_file(const std::string& path, bool verbose, tally& t, replay::byte_table& table) {
  std::ifstream in(path);
  if (!in || in.peek() == std::ifstream::traits_type::eof()) {
    std::cerr << "hp replay: cannot read " << path << (in ? " (it is empty)" : "") << '\n';
    return false;
  }
  std::map<std::string, long> skipped, noted;
  std::string line;
  for (long number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const replay::json v = replay::json::parse(line, nullptr, false);
    if (v.is_discarded()) {
      std::cerr << "hp replay: " << path << ':' << number << ": malformed JSON\n";
      return false;
    }
    const replay::verdict r = replay::replay_vector(v);
    std::string id = v.is_object() ? replay::text_of(v, "id") : std::string();
    if (id.empty()) id = "line " + std::to_string(number);
    switch (r.outcome) {
      case replay::outcome::passed:
        ++t.passed;
        if (!r.note.empty()) ++noted[r.note];
        table.add(id, r.bytes);
        break;
      case replay::outcome::failed:
        ++t.failed;
        if (verbose) std::cout << "  failed " << id << ": " << r.reason << '\n';
        break;
      case replay::outcome::skipped: {
        ++t.skipped;
        const std::string kind = v.is_object() ? replay::text_of(v, "kind") : std::string();
        ++skipped[(kind.empty() ? "no kind" : "kind " + kind) + ": " + r.reason];
        break;
      }
    }
  }
  if (in.bad()) {
    std::cerr << "hp replay: cannot read " << path << '\n';
    return false;
  }
  if (verbose) {
    for (const auto& [what, count] : noted) std::cout << "  passed " << count << ": " << what << '\n';
    for (const auto& [what, count] : skipped) std::cout << "  skipped " << count << " of " << what << '\n';
  }
  return true;
}

}  // namespace

hp_tool::work hp_tool::add_replay(CLI::App& app) {
  struct request {
    std::vector<std::string> files;
    bool verbose = false, with_table = false;
  };
  const auto given = std::make_shared<request>();
  app.add_option("FILE", given->files, "JSON Lines files");
  app.add_flag("--verbose,-v", given->verbose, "list failures with their reasons and skipped kinds");
  app.add_flag("--table,-t", given->with_table, "list the bytes that each move receives: theirs, the bound, ours");
  app.footer("hp replay --verbose tests/vectors/moves.jsonl");
  return [given] {
    if (given->files.empty())
      throw bad_input("no file is named; usage: hp replay FILE.jsonl ... [--verbose] [--table]");
    tally all;
    bool readable = true;
    for (const std::string& path : given->files) {
      tally t;
      replay::byte_table table;
      const bool read = replay_file(path, given->verbose, t, table);
      readable = readable && read;
      if (read && given->with_table) table.print(std::cout);
      if (read) std::cout << path << ": " << t << '\n';
      if (read && given->with_table) table.summarise(std::cout);
      if (read && t.skipped > 0)
        std::cout << "  " << t.skipped << " skipped" << (given->verbose ? "" : " (--verbose names the kinds and why)")
                  << '\n';
      all.add(t);
    }
    std::cout << all << '\n';
    std::cout.flush();
    return !readable ? 2 : all.failed == 0 ? 0 : 1;
  };
}
