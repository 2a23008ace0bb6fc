// SPDX-License-Identifier: Apache-2.0
// hp_replay FILE.jsonl … [--verbose] [--table]: replays ground truth, one JSON object a line, through the core at run
// time.
//
// Per file one line `FILE: N passed, N failed`, at the end `N passed, N failed` alone on its line; skipped vectors are
// counted on lines of their own. --verbose lists failures with id and reason, and skipped kinds with count and reason,
// and what vectors were held against where that differs. --table lists what each move receives, ours beside theirs.
// Exit status 0 means that everything could be read and nothing failed.

#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "../../examples/command_line.hpp"
#include "byte_table.hpp"
#include "kinds.hpp"

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
    std::cerr << "hp_replay: cannot read " << path << (in ? " (it is empty)" : "") << '\n';
    return false;
  }
  std::map<std::string, long> skipped, noted;
  std::string line;
  for (long number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const replay::json v = replay::json::parse(line, nullptr, false);
    if (v.is_discarded()) {
      std::cerr << "hp_replay: " << path << ':' << number << ": malformed JSON\n";
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
    std::cerr << "hp_replay: cannot read " << path << '\n';
    return false;
  }
  if (verbose) {
    for (const auto& [what, count] : noted) std::cout << "  passed " << count << ": " << what << '\n';
    for (const auto& [what, count] : skipped) std::cout << "  skipped " << count << " of " << what << '\n';
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Replays ground-truth vectors through the core"};
  app.name("hp_replay");
  std::vector<std::string> files;
  bool verbose = false, with_table = false;
  app.add_option("FILE", files, "JSON Lines files");
  app.add_flag("--verbose,-v", verbose, "List failures with their reasons and skipped kinds");
  app.add_flag("--table,-t", with_table, "List the bytes that each move receives: theirs, the bound, ours");
  return command_line::run(app, argc, argv, [&] {
    if (files.empty()) {
      std::cerr << "hp_replay: no file is named; usage: hp_replay FILE.jsonl ... [--verbose] [--table]\n";
      return 2;
    }
    tally all;
    bool readable = true;
    for (const std::string& path : files) {
      tally t;
      replay::byte_table table;
      const bool read = replay_file(path, verbose, t, table);
      readable = readable && read;
      if (read && with_table) table.print(std::cout);
      if (read) std::cout << path << ": " << t << '\n';
      if (read && with_table) table.summarise(std::cout);
      if (read && t.skipped > 0)
        std::cout << "  " << t.skipped << " skipped" << (verbose ? "" : " (--verbose names the kinds and why)") << '\n';
      all.add(t);
    }
    std::cout << all << '\n';
    return readable && all.failed == 0 ? 0 : 1;
  });
}
