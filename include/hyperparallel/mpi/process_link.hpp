// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs beside each other on the processes of a communicator: rank r of the groups is process r.
//
//   hp::process_link link(MPI_COMM_WORLD, graph, table);
//   hp::controller c(graph, table, {.link = &link});
//   if (link.is_here(train)) learner.emplace(hp::mpi_world(link.processes_of(train)), model, strategy);
//
// Each process has a controller of the same graph, and fires the programs whose ranks it has, all of a program's processes
// together. Who has done a firing tells the processes that wait for it, 24 bytes each; what edges carry goes from process
// to process (remote_edge.hpp). Turns of a row are the same on all its ranks, so collectives of programs that share
// processes are called in one order. A firing begins where all its processes say so, as one may have heard that it is to
// stop, and ends well where it does on all; where it does not, all processes end theirs, and `run` throws the same line
// everywhere. Collective over the communicator: the constructor, and `run` of the controllers.
// News carry the number of their run: a process that is still in one run keeps news of the next one for later.

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <hyperparallel/controller/controller.hpp>
#include <hyperparallel/mpi/error.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What an edge does beside the firings, on a process that has one of its ends.
struct linked_edge {
  virtual ~linked_edge() = default;
  /// The version that the writer has done is to leave; only called where the writer is.
  virtual void publish(std::int64_t written) = 0;
  /// Takes in what has come. Whether nothing is under way.
  virtual bool progress() = 0;
};

class process_link : public program_link {
 public:
  /// Throws program_error where the communicator has fewer processes than the table has ranks.
  process_link(MPI_Comm comm, const program_graph& g, const group_table& t) : graph_(g) {
    int processes = 0;
    MPI_Comm_size(comm, &processes);
    if (processes < t.world)
      throw program_error("the groups have " + std::to_string(t.world) + " ranks, there are " +
                          std::to_string(processes) + " processes");
    detail::check_mpi(MPI_Comm_dup(comm, &news_), "MPI_Comm_dup");
    detail::check_mpi(MPI_Comm_dup(comm, &data_), "MPI_Comm_dup");
    MPI_Comm_rank(comm, &process_);
    for (int p = 0; p < g.program.size; ++p) {
      const process_group& group = t.group[find_group(t, g.program[p].group.text)];
      ranks_.push_back(ranks_of(group));
      const int position = position_in(group, process_);
      detail::check_mpi(
          MPI_Comm_split(comm, position < 0 ? MPI_UNDEFINED : 0, position, &of_program_.emplace_back(MPI_COMM_NULL)),
          "MPI_Comm_split");
    }
    told_.resize(ranks_.size());
    is_over_.resize(ranks_.size());
    const auto waits = waits_of(g);
    for (std::size_t p = 0; p < ranks_.size(); ++p)
      for (int other = 0; other < processes; ++other)
        for (const program_wait& w : waits)
          if (w.from == static_cast<int>(p) && has(w.to, other) && !has(w.from, other) &&
              (told_[p].empty() || told_[p].back() != other))
            told_[p].push_back(other);
  }
  process_link(const process_link&) = delete;
  process_link& operator=(const process_link&) = delete;
  ~process_link() override {
    if (!detail::mpi_is_running()) return;
    for (MPI_Comm* c : {&news_, &data_}) MPI_Comm_free(c);
    for (MPI_Comm& c : of_program_)
      if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
  }

  int process() const { return process_; }
  MPI_Comm data() const { return data_; }
  /// The processes of a program, in the order of its ranks; MPI_COMM_NULL on others.
  MPI_Comm processes_of(int program) const { return of_program_[static_cast<std::size_t>(program)]; }
  /// What `edge` does from here on; it outlives every run.
  void add(int edge, linked_edge& e) { edge_.push_back({edge, &e}); }

  bool is_here(int program) const override { return has(program, process_); }
  bool begins(controller& c, int program) override {
    const int yes = 1;
    int all = 0;
    MPI_Request vote = MPI_REQUEST_NULL;
    detail::check_mpi(MPI_Iallreduce(&yes, &all, 1, MPI_INT, MPI_MIN, processes_of(program), &vote), "MPI_Iallreduce");
    wait(c, vote);
    if (all == 0) is_over_[static_cast<std::size_t>(program)] = true;
    return all != 0;
  }
  std::string agreed(int program, const std::string& complaint) override {
    const MPI_Comm comm = processes_of(program);
    int own = 0, all = 0, first = 0;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &all);
    const int blamed = complaint.empty() ? all : own;
    detail::check_mpi(MPI_Allreduce(&blamed, &first, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    if (first == all) return {};
    is_over_[static_cast<std::size_t>(program)] = true;
    return sent_by(comm, first, complaint);
  }
  void tell(int program, std::int64_t done) override {
    for (const auto& [number, edge] : edge_)
      if (graph_.edge[number].from == program) edge->publish(graph_.edge[number].ready + done - 1);
    if (ranks_[static_cast<std::size_t>(program)][0] != process_) return;
    for (const int other : told_[static_cast<std::size_t>(program)]) send(other, {program, done, runs_});
  }
  void tell_stop() override {
    int processes = 0;
    MPI_Comm_size(news_, &processes);
    for (int other = 0; other < processes; ++other)
      if (other != process_) send(other, {-1, 0, runs_});
  }
  void listen(controller& c) override {
    for (int there = 1; there != 0;) {
      MPI_Status from;
      detail::check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, news_, &there, &from), "MPI_Iprobe");
      if (there == 0) break;
      news_item news{};
      detail::check_mpi(MPI_Recv(news.data(), news_size, MPI_INT64_T, from.MPI_SOURCE, 0, news_, MPI_STATUS_IGNORE),
                        "MPI_Recv");
      later_.push_back(news);
    }
    std::erase_if(later_, [&](const news_item& news) {
      if (news[2] > runs_) return false;  // of a process that has left this run
      if (news[0] >= 0)
        c.hear(static_cast<int>(news[0]), news[1]);
      else if (news[2] == runs_)
        c.stop();
      return true;
    });
    progress();
  }
  void join(controller& c, std::int64_t until, std::vector<std::int64_t>& done,
            std::vector<std::string>& complaint) override {
    const int no = 0;
    std::vector<int> all(done.size());
    for (std::size_t p = 0; p < done.size(); ++p) {  // others may wait to begin a firing
      if (!is_here(static_cast<int>(p)) || done[p] >= until || is_over_[p]) continue;
      MPI_Request vote = MPI_REQUEST_NULL;
      detail::check_mpi(MPI_Iallreduce(&no, &all[p], 1, MPI_INT, MPI_MIN, of_program_[p], &vote), "MPI_Iallreduce");
      votes_.push_back(vote);
    }
    for (MPI_Request& vote : votes_) wait(c, vote);
    votes_.clear();
    is_over_.assign(done.size(), false);
    while (!progress()) listen(c);  // what is sent from here is received, for all listen until all have come
    MPI_Request all_here = MPI_REQUEST_NULL;
    std::vector<std::int64_t> most(done.size());
    detail::check_mpi(
        MPI_Iallreduce(done.data(), most.data(), static_cast<int>(done.size()), MPI_INT64_T, MPI_MAX, news_, &all_here),
        "MPI_Iallreduce");
    wait(c, all_here);
    done = most;
    for (std::size_t p = 0; p < complaint.size(); ++p) complaint[p] = sent_by(news_, ranks_[p][0], complaint[p]);
    ++runs_;
  }

 private:
  static constexpr int news_size = 3;
  using news_item = std::array<std::int64_t, news_size>;  ///< program or -1 to stop, its firings, number of the run
  struct sent_news {
    news_item what;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  bool has(int program, int process) const {
    for (const int r : ranks_[static_cast<std::size_t>(program)])
      if (r == process) return true;
    return false;
  }
  void wait(controller& c, MPI_Request& request) {
    for (int ended = 0; ended == 0;) {
      listen(c);
      detail::check_mpi(MPI_Test(&request, &ended, MPI_STATUS_IGNORE), "MPI_Test");
    }
  }
  void send(int other, const news_item& what) {
    sent_news& s = sent_.emplace_back(sent_news{what});
    detail::check_mpi(MPI_Issend(s.what.data(), news_size, MPI_INT64_T, other, 0, news_, &s.request), "MPI_Issend");
  }
  /// Whether nothing that is sent from here is under way.
  bool progress() {
    for (int ended = 1; !sent_.empty() && ended != 0;) {
      detail::check_mpi(MPI_Test(&sent_.front().request, &ended, MPI_STATUS_IGNORE), "MPI_Test");
      if (ended != 0) sent_.pop_front();
    }
    bool is_idle = sent_.empty();
    for (const auto& [number, edge] : edge_) is_idle = edge->progress() && is_idle;
    return is_idle;
  }
  static std::string sent_by(MPI_Comm comm, int root, std::string text) {
    auto bytes = static_cast<std::int64_t>(text.size());
    detail::check_mpi(MPI_Bcast(&bytes, 1, MPI_INT64_T, root, comm), "MPI_Bcast");
    text.resize(static_cast<std::size_t>(bytes));
    detail::check_mpi(MPI_Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, root, comm), "MPI_Bcast");
    return text;
  }

  program_graph graph_;
  MPI_Comm news_ = MPI_COMM_NULL, data_ = MPI_COMM_NULL;
  int process_ = 0;
  std::int64_t runs_ = 0;
  std::vector<bool> is_over_;  ///< of each program, in this run
  std::vector<MPI_Request> votes_;
  std::vector<growing_array<int>> ranks_;  ///< of each program, by position
  std::vector<MPI_Comm> of_program_;
  std::vector<std::vector<int>> told_;  ///< processes that wait for a program that they have not
  std::vector<std::pair<int, linked_edge*>> edge_;
  std::deque<sent_news> sent_;
  std::vector<news_item> later_;  ///< that have come, of a run that begins here later among them
};

}}  // namespace hyperparallel::v0_2
