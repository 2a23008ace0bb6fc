// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ranks of a program on the processes of a communicator.
//
//   hp::mpi_world world(MPI_COMM_WORLD);                          // rank r lives on process r
//   hp::mpi_world world(MPI_COMM_WORLD, {0, 0, 1, 1, 2, 2, 2, 2});  // several ranks a process
//
// The list says for each rank which process hosts it, and its order is the order of ranks: {3, 1, 0, 2} puts rank 0 on
// process 3. Nothing is sorted, neither by process nor by host, because a tuple of axes shards in exactly this order. A
// process may host no rank and still takes part. Law: the list is the same on all processes, or all throw.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/mpi/channel.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct mpi_options {
  /// How long a process waits for the others to come. Whatever dies, no call lasts longer than six times this.
  std::chrono::milliseconds timeout{30'000};
  /// Processes that share memory: at most so many of a host, 0 for all. Two or more groups behave as several hosts.
  int processes_per_host = 0;
  /// Moves of a program that a process has open at a time, from one: more hide more, and take more memory for sums.
  int open_moves = 8;
  /// Sends of blocks end only when their receives have been posted (MPI_Issend), so that no buffer hides a wrong order.
  bool synchronous_sends = false;
};

/// Copies of a world are the same world. Used from one thread at a time.
class mpi_world {
 public:
  /// Collective over `comm`, as all constructors; rank r lives on process r. Throws mpi_error on all processes alike.
  explicit mpi_world(MPI_Comm comm, const mpi_options& options = {}) : mpi_world(comm, {}, true, options) {}

  /// Rank r lives on process `process_of_rank[r]` of `comm`.
  mpi_world(MPI_Comm comm, std::vector<int> process_of_rank, const mpi_options& options = {})
      : mpi_world(comm, std::move(process_of_rank), false, options) {}

  int ranks() const { return static_cast<int>(state_->home.size()); }
  int processes() const { return state_->channel.processes(); }
  int process() const { return state_->channel.process(); }

  /// The process that hosts `rank`. Domain: 0 ≤ rank < ranks(), here and below.
  int process_of(int rank) const { return state_->home[static_cast<std::size_t>(rank)]; }
  bool hosts(int rank) const { return process_of(rank) == process(); }
  /// The ranks of this process, rising.
  const std::vector<int>& hosted() const { return state_->hosted; }

  /// The processes that share memory with this one, itself included, and a process's number among them or -1.
  MPI_Comm host() const { return state_->host; }
  int number_on_host(int process) const { return state_->on_host[static_cast<std::size_t>(process)]; }
  int processes_on_host() const { return state_->host_size; }

  const mpi_options& options() const { return state_->options; }

  /// How errors call a process: "rank 3" where it hosts no other rank.
  const std::string& name(int process) const { return state_->channel.name(process); }
  detail::mpi_channel& channel() const { return state_->channel; }

  /// Numbers the collective objects of the world, which all processes make in one order.
  int next_number() const { return state_->numbered++; }

 private:
  struct state {
    mpi_options options;
    detail::mpi_channel channel;
    std::vector<int> home;
    std::vector<int> hosted;
    std::vector<int> on_host;
    MPI_Comm host = MPI_COMM_NULL;
    int host_size = 1;
    int numbered = 0;

    state(MPI_Comm comm, const mpi_options& options_) : options(options_), channel(comm, options_.timeout) {}
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
      if (host != MPI_COMM_NULL && !channel.broken() && detail::mpi_is_running()) MPI_Comm_free(&host);
    }
  };

  mpi_world(MPI_Comm comm, std::vector<int> process_of_rank, bool one_each, const mpi_options& options)
      : state_(std::make_shared<state>(comm, options)) {
    detail::mpi_channel& channel = state_->channel;
    if (one_each)
      for (int p = 0; p < channel.processes(); ++p) process_of_rank.push_back(p);
    state_->home = std::move(process_of_rank);
    std::string complaint, statement = "ranks on processes";
    for (int r = 0; r < ranks(); ++r) {
      const int home = process_of(r);
      statement.append(1, ' ').append(std::to_string(home));
      if (home < 0 || home >= channel.processes())
        complaint = "rank " + std::to_string(r) + " is put on process " + std::to_string(home) + " of " +
                    std::to_string(channel.processes());
    }
    if (options.open_moves < 1)
      complaint = "a program needs at least one open move, not " + std::to_string(options.open_moves);
    statement += "\nopen moves " + std::to_string(options.open_moves) + "\nsynchronous sends " +
                 std::to_string(options.synchronous_sends ? 1 : 0) + "\nprocesses per host " +
                 std::to_string(options.processes_per_host) + "\ntimeout " + detail::to_text(options.timeout);
    channel.agree("world", statement, complaint);
    name_processes();
    find_host(options.processes_per_host);
  }

  void name_processes() {
    std::vector<std::string> ranks_of(static_cast<std::size_t>(processes()));
    std::vector<int> count(ranks_of.size());
    for (int r = 0; r < ranks(); ++r) {
      const auto home = static_cast<std::size_t>(process_of(r));
      ranks_of[home] += (count[home]++ > 0 ? ", " : "") + std::to_string(r);
      if (hosts(r)) state_->hosted.push_back(r);
    }
    for (std::size_t p = 0; p < ranks_of.size(); ++p) {
      const std::string process_name = "process " + std::to_string(p);
      const std::string all = count[p] == 0 ? " (no rank)" : " (ranks " + ranks_of[p] + ")";
      state_->channel.rename(static_cast<int>(p), count[p] == 1 ? "rank " + ranks_of[p] : process_name + all);
    }
  }

  /// Which processes share memory. All have just agreed, so that these blocking calls have everybody inside.
  void find_host(int at_most) {
    const MPI_Comm comm = state_->channel.communicator();
    MPI_Comm whole = MPI_COMM_NULL;
    detail::check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, process(), MPI_INFO_NULL, &whole),
                      "MPI_Comm_split_type");
    int number = 0;
    MPI_Comm_rank(whole, &number);
    const int color = at_most > 0 ? number / at_most : 0;
    detail::check_mpi(MPI_Comm_split(whole, color, number, &state_->host), "MPI_Comm_split");
    MPI_Comm_free(&whole);
    MPI_Comm_set_errhandler(state_->host, MPI_ERRORS_RETURN);
    MPI_Comm_size(state_->host, &state_->host_size);

    MPI_Group all = MPI_GROUP_NULL, near = MPI_GROUP_NULL;
    MPI_Comm_group(comm, &all);
    MPI_Comm_group(state_->host, &near);
    std::vector<int> everyone(static_cast<std::size_t>(processes()));
    for (int p = 0; p < processes(); ++p) everyone[static_cast<std::size_t>(p)] = p;
    state_->on_host.resize(everyone.size());
    MPI_Group_translate_ranks(all, processes(), everyone.data(), near, state_->on_host.data());
    for (int& p : state_->on_host)
      if (p == MPI_UNDEFINED) p = -1;
    MPI_Group_free(&near);
    MPI_Group_free(&all);
  }

  std::shared_ptr<state> state_;
};

}}  // namespace hyperparallel::v0_2
