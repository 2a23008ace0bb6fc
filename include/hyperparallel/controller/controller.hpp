// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs programs beside each other: one controller starts the rows of a program graph, on as many threads as there are
// rows or fewer, and honours turns, waits and rooms.
//
//   hp::controller c(graph, table);
//   hp::channel<batch> samples(c, "samples");
//   c.set_program("rollout", {[&](const hp::firing& f) { samples.write(f) = sample(f.number()); }});
//   c.set_program("train", {[&](const hp::firing& f) { learn(samples.read(f)); }});
//   c.run(100);   // each program has then fired 100 times
//
// The controller passes numbers alone: a version is there when its writer has done its firing, so the state of a graph is
// the count of firings of each program. What edges carry lies in their slots (channel.hpp, tensor_edge.hpp).
// Laws: edges whose reader takes every version give the same values with any number of threads. Which version a reader of
// the newest took is recorded (`versions_read`), and a run that replays the record reads the same.
// Where a firing throws or is cancelled, the other programs end theirs and stop; `run` throws controller_error, which
// names program, ranks, firing and the versions that it had read. The versions stay as they are, so after `restart`, or
// `set_program` with another one, `run` goes on with the same firing: nothing else is lost.
// Errors: program_error for what is refused, controller_error. A firing costs O(its waits), without a lock but for edges
// of the newest version.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <hyperparallel/controller/firing.hpp>
#include <hyperparallel/controller/newest_slots.hpp>
#include <hyperparallel/exec/run_options.hpp>
#include <hyperparallel/groups/program_waits.hpp>
#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/world/program_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct controller_options {
  int threads = 0;               ///< that fire; 0: one for each row
  bool keeps_times = false;      ///< of each firing
  program_link* link = nullptr;  ///< to the other processes of the graph; one thread fires on each
};

class controller {
 public:
  /// The table, if there is one, says which ranks the programs' groups have. Throws program_error where check_programs
  /// refuses.
  explicit controller(const program_graph& graph, const group_table& table = {}, const controller_options& o = {});
  ~controller();
  controller(const controller&) = delete;
  controller& operator=(const controller&) = delete;

  const program_graph& graph() const { return graph_; }
  /// Ranks of a program's group, by position; none where no table was given.
  growing_array<int> ranks_of_program(int program) const;

  /// The program of that name from here on. One that had failed is replaced, and tries its firing again.
  void set_program(const std::string& name, running_program p);
  /// Has a program that failed try its firing again, from what it kept last.
  void restart(const std::string& name);

  /// Runs until each program has done `firings` firings in all. `cancelled`: after `stop`.
  run_result run(std::int64_t firings);
  /// From any thread: programs end the firing that is under way.
  void stop();
  /// From any thread: the program's firing, under way or the next, counts as failed.
  void cancel(const std::string& name);

  std::int64_t firings(const std::string& name) const;
  /// Of the last `run`.
  program_use use(const std::string& name) const;
  /// Firings of the last `run` where the options keep their times, program by program.
  std::vector<firing_time> times() const;

  /// Versions that the firings of an edge's reader have read, of an edge that reads the newest.
  std::vector<std::int64_t> versions_read(const std::string& edge) const;
  /// Has its reader read these again, firing by firing, and the newest after them. Throws program_error for versions that
  /// no run reads, or after the first firing.
  void replay(const std::string& edge, std::span<const std::int64_t> versions);

  /// A program of another process has done so many firings.
  void hear(int program, std::int64_t done);

  // ---- what edges ask ----

  int edge_called(const std::string& name) const;
  std::string text_of_edge(int edge) const;
  /// Versions that have a place of their own.
  int slots(int edge) const;
  /// The version that a firing reads or writes, and its slot. Throw program_error where the edge is not the program's.
  std::int64_t version_to_read(int edge, const firing& f) const;
  std::int64_t version_to_write(int edge, const firing& f) const;
  int slot_to_read(int edge, const firing& f) const;
  int slot_to_write(int edge, const firing& f) const;

 private:
  struct program_state;
  struct running;

  int program_called(const std::string& name) const;
  std::string text_of_program(int program) const;
  std::string text_of_firing(int program, std::int64_t number) const;
  std::string why_waiting() const;
  std::int64_t done(int program) const;
  bool is_met(const program_wait& w, std::int64_t k) const;
  bool can_fire(int program) const;
  bool versions_allow(int program) const;
  std::int64_t newest_of(int edge) const;
  newest_slots& recorded(const std::string& edge) const;
  bool is_here(int program) const { return options_.link == nullptr || options_.link->is_here(program); }
  void begin_firing(int program);
  void join_others();
  void end_firing(int program);
  bool fire(int program);
  bool any_can_fire(std::span<const int> programs) const;
  void work(std::span<const int> programs, std::span<const int> all);

  program_graph graph_;
  group_table table_;
  controller_options options_;
  growing_array<growing_array<program_wait>> waits_;      ///< of each program for others
  std::vector<std::vector<int>> newest_in_, newest_out_;  ///< edges of each program
  std::vector<std::unique_ptr<program_state>> program_;
  std::vector<std::unique_ptr<newest_slots>> newest_;  ///< of edges that read the newest version
  mutable std::mutex versions_;                        ///< of `newest_`
  std::unique_ptr<running> running_;
};

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/controller/controller.ipp>
#endif
