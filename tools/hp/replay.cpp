// SPDX-License-Identifier: Apache-2.0
// hp replay FILE.jsonl … [--verbose] [--table] [--json]: replays ground truth, one JSON object a line, through the core at
// run time.
//
// Per file one line `FILE: N passed, N failed`, at the end `N passed, N failed` alone on its line; skipped vectors are
// counted on lines of their own. --verbose lists failures with id and reason, and skipped kinds with count and reason,
// and what vectors were held against where that differs. --table lists what each move receives, ours beside theirs.
// Where a file is unreadable or a line of it no JSON, nothing is printed but why. A vector that cannot be read (a key that is not
// known or is missing, a number out of range) fails; the first of them is also a line on the error stream, and the exit status 2.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <hyperparallel/io/text_file.hpp>

#include "json_output.hpp"
#include "replay/byte_table.hpp"
#include "replay/kinds.hpp"
#include "subcommand.hpp"

namespace {

using hp_tool::json;

struct request {
  std::vector<std::string> files;
  bool verbose = false, with_table = false, as_json = false;
};

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

struct failure {
  std::string id, reason;
};

/// What came of the vectors of a file.
struct replayed_file {
  std::string path;
  tally count;
  std::vector<failure> failed;
  std::vector<std::string> malformed;  ///< with file and line
  std::map<std::string, long> noted, skipped;
  replay::byte_table table;
};

/// Larger files are refused, so that an endless one ends.
constexpr std::int64_t largest_file = std::int64_t{1} << 28;

std::vector<unsigned char> bytes_of(const std::string& path) {
  try {
    return hyperparallel::read_bytes(path, {hyperparallel::empty_file::refused, largest_file});
  } catch (const hyperparallel::io_error& e) {
    throw hp_tool::bad_input(e.what());
  }
}

replayed_file replay_file(const std::string& path) {
  const std::vector<unsigned char> bytes = bytes_of(path);
  std::string_view left(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  replayed_file f;
  f.path = path;
  for (long number = 1; !left.empty(); ++number) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const replay::json v = replay::json::parse(line, nullptr, false);
    if (v.is_discarded()) throw hp_tool::bad_input(path + ':' + std::to_string(number) + ": malformed JSON");
    const replay::verdict r = replay::replay_vector(v);
    std::string id = v.is_object() ? replay::text_of(v, "id") : std::string();
    if (id.empty()) id = "line " + std::to_string(number);
    switch (r.outcome) {
      case replay::outcome::passed:
        ++f.count.passed;
        if (!r.note.empty()) ++f.noted[r.note];
        f.table.add(id, r.bytes);
        break;
      case replay::outcome::failed:
        ++f.count.failed;
        f.failed.push_back({id, r.reason});
        if (r.malformed) f.malformed.push_back(path + ':' + std::to_string(number) + ": " + r.reason);
        break;
      case replay::outcome::skipped: {
        ++f.count.skipped;
        const std::string kind = v.is_object() ? replay::text_of(v, "kind") : std::string();
        ++f.skipped[(kind.empty() ? "no kind" : "kind " + kind) + ": " + r.reason];
        break;
      }
    }
  }
  return f;
}

void print_text(const replayed_file& f, const request& given) {
  if (given.verbose) {
    for (const failure& one : f.failed) std::cout << "  failed " << one.id << ": " << one.reason << '\n';
    for (const auto& [what, count] : f.noted) std::cout << "  passed " << count << ": " << what << '\n';
    for (const auto& [what, count] : f.skipped) std::cout << "  skipped " << count << " of " << what << '\n';
  }
  if (given.with_table) f.table.print(std::cout);
  std::cout << f.path << ": " << f.count << '\n';
  if (given.with_table) f.table.summarise(std::cout);
  if (f.count.skipped > 0)
    std::cout << "  " << f.count.skipped << " skipped" << (given.verbose ? "" : " (--verbose names the kinds and why)")
              << '\n';
}

json json_of(const tally& t) { return {{"passed", t.passed}, {"failed", t.failed}, {"skipped", t.skipped}}; }

json json_of(const std::map<std::string, long>& counts) {
  json out = json::array();
  for (const auto& [what, count] : counts) out.push_back({{"what", what}, {"count", count}});
  return out;
}

/// --verbose and --table add what they add to the text.
json json_of(const replayed_file& f, const request& given) {
  json out = {{"file", f.path}};
  out.update(json_of(f.count));
  if (given.verbose) {
    json& failures = out["failures"] = json::array();
    for (const failure& one : f.failed) failures.push_back({{"id", one.id}, {"reason", one.reason}});
    out["held_against"] = json_of(f.noted);
    out["skipped_kinds"] = json_of(f.skipped);
  }
  if (given.with_table) out.update(f.table.document());
  return out;
}

}  // namespace

hp_tool::work hp_tool::add_replay(command_line::command app) {
  const auto given = std::make_shared<request>();
  app.add_option("FILE", given->files, "JSON Lines files");
  app.add_flag("--verbose,-v", given->verbose, "list failures with their reasons and skipped kinds");
  app.add_flag("--table,-t", given->with_table, "list the bytes that each move receives: theirs, the bound, ours");
  add_json(app, given->as_json);
  app.footer(
      "Reads files of vectors, each a line with one JSON object: what another planner did, or a value that is known.\n"
      "Prints for each file and for all how many vectors hold in the library.\n\n"
      "hp replay --verbose tests/vectors/moves.jsonl\n\n"
      "Exit status: 0 none fails, 1 one fails, 2 bad input, an unreadable file, line or key among it.");
  return [given] {
    if (given->files.empty())
      throw bad_input("no file is named; usage: hp replay FILE.jsonl ... [--verbose] [--table]");
    tally all;
    std::vector<replayed_file> files;
    for (const std::string& path : given->files) {
      files.push_back(replay_file(path));
      all.add(files.back().count);
    }
    std::vector<std::string> malformed;
    for (const replayed_file& f : files) malformed.insert(malformed.end(), f.malformed.begin(), f.malformed.end());
    if (!malformed.empty())
      std::fprintf(stderr, "hp replay: %s%s\n", malformed[0].c_str(),
                   malformed.size() == 1 ? "" : fmt::format(" (and {} more lines)", malformed.size() - 1).c_str());
    if (given->as_json) {
      json listed = json::array();
      for (const replayed_file& f : files) listed.push_back(json_of(f, *given));
      json document = {{"files", std::move(listed)}};
      document.update(json_of(all));
      print(document);
    } else {
      for (const replayed_file& f : files) print_text(f, *given);
      std::cout << all << std::endl;
    }
    return !malformed.empty() ? 2 : all.failed == 0 ? 0 : 1;
  };
}
