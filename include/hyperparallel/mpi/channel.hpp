// SPDX-License-Identifier: Apache-2.0
#pragma once
// Agreement between processes: the one place where they wait for each other without moving data.
//
// A round is a barrier that compares. Every process states what it is about to do; the first process (the coordinator)
// hears all statements, names the first that differs, the first process that failed, or those that did not answer, and
// tells the verdict to all. Laws: `agree` returns on all processes or throws the same mpi_error on all; it ends within
// its patience on the coordinator and within twice that on the others, whoever dies or hangs; what a process wrote
// before a round is seen by all after it. 2 · (processes − 1) short messages, two hops.
// After a final error nothing is sent any more: every later round throws `world_is_broken` at once.
// "The same on all" needs an MPI that still delivers between the living. A queue that all peers write into, as UCX has
// over shared memory, is blocked by a peer that dies in the middle of writing: its owner hears nobody any more. Rounds
// end in the same time then, but the owner blames the coordinator; a coordinator blames all that it does not hear.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hyperparallel/mpi/polling.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

class mpi_channel {
 public:
  static constexpr int statement_tag = 1, verdict_tag = 2, data_tag = 3;

  /// A communicator of its own beside `parent`, so that no message of anyone else is mistaken. Collective; bounded by
  /// `timeout`. Throws mpi_error.
  mpi_channel(MPI_Comm parent, std::chrono::milliseconds timeout) : timeout_(timeout) {
    if (!mpi_is_running())
      throw mpi_error(mpi_code::call_failed, -1, "a world needs MPI between MPI_Init and MPI_Finalize");
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Comm_idup(parent, &comm_, &request), "MPI_Comm_idup");
    int done = 0;
    const bool made = poll_until(mpi_clock::now() + timeout, [&] {
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done != 0;
    });
    if (!made) {
      broken_ = true;
      throw mpi_error(mpi_code::no_answer, -1,
                      "not every process of the communicator joined the world within " + to_text(timeout), true);
    }
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &process_);
    MPI_Comm_size(comm_, &processes_);
    for (int p = 0; p < processes_; ++p) name_.push_back("process " + std::to_string(p));
  }

  mpi_channel(const mpi_channel&) = delete;
  mpi_channel& operator=(const mpi_channel&) = delete;

  /// A broken communicator is left to MPI_Abort, with the messages in flight: freeing it could wait for the dead.
  ~mpi_channel() {
    if (broken_)
      static_cast<void>(new std::deque<outgoing>(std::move(sent_)));
    else if (mpi_is_running())
      MPI_Comm_free(&comm_);
  }

  MPI_Comm communicator() const { return comm_; }
  int process() const { return process_; }
  int processes() const { return processes_; }
  bool broken() const { return broken_; }
  std::chrono::milliseconds timeout() const { return timeout_; }

  /// How errors call a process.
  const std::string& name(int process) const { return name_[static_cast<std::size_t>(process)]; }
  void rename(int process, std::string name) { name_[static_cast<std::size_t>(process)] = std::move(name); }

  /// One round. `round` says what this process is doing and `statement` with what, line by line; both must be the same
  /// on all. `complaint` is what went wrong here before the round, empty for nothing.
  void agree(std::string_view round, std::string_view statement = {}, std::string_view complaint = {}) {
    meet(timeout_, complaint.empty() ? statement_mark : complaint_mark, round, statement, complaint);
  }

  /// A round after messages: whoever waited in vain for those of a dead process comes late, hence twice the patience,
  /// and a complaint means that messages may be on their way for ever: the world is broken.
  void agree_after_messages(std::string_view round, std::string_view complaint) {
    meet(2 * timeout_, complaint.empty() ? statement_mark : final_mark, round, {}, complaint);
  }

  /// The least of the numbers that the processes have. Collective, after a round that all agreed in; bounded by the
  /// timeout. Throws mpi_error, and the world is broken, where a process does not come.
  int least_of_all(int here) {
    // The operation may go on after this function has given up, so its memory is left to it then.
    auto numbers = std::make_unique<std::array<int, 2>>(std::array<int, 2>{here, here});
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(numbers->data(), numbers->data() + 1, 1, MPI_INT, MPI_MIN, comm_, &request),
              "MPI_Iallreduce");
    int done = 0;
    const bool came = poll_until(mpi_clock::now() + timeout_, [&] {
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done != 0;
    });
    if (came) return (*numbers)[1];
    static_cast<void>(numbers.release());
    broken_ = true;
    throw mpi_error(mpi_code::no_answer, -1, "not every process gave its number within " + to_text(timeout_), true);
  }

 private:
  static constexpr char statement_mark = '=', complaint_mark = '!', final_mark = '#';
  static constexpr int verdict_ok = 255;

  struct verdict {
    int code = verdict_ok;
    int process = -1;
    int is_final = 0;
    std::vector<int> lost;
    std::string text;
  };

  struct outgoing {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void meet(std::chrono::milliseconds patience, char mark, std::string_view round, std::string_view statement,
            std::string_view complaint) {
    if (broken_)
      throw mpi_error(mpi_code::world_is_broken, -1, "this world is broken by an earlier error: end the job", true);
    reap();
    std::string mine(1, mark);
    mine.append(complaint.empty() ? round : complaint);
    if (complaint.empty() && !statement.empty()) mine.append("\n").append(statement);
    const verdict v = process_ == 0 ? collect(patience, mine) : report(patience, std::move(mine));
    if (v.code == verdict_ok) return;
    broken_ = v.is_final != 0;
    throw mpi_error(static_cast<mpi_code>(v.code), v.process, v.text, broken_, lost_processes(v.lost));
  }

  /// Frees the messages that have left.
  void reap() {
    while (!sent_.empty()) {
      int left = 0;
      if (MPI_Test(&sent_.front().request, &left, MPI_STATUS_IGNORE) == MPI_SUCCESS && left == 0) return;
      sent_.pop_front();
    }
  }

  /// A process that cannot be reached is found out by its silence, so the result is not looked at.
  void send(int to, int tag, std::string text) {
    outgoing& message = sent_.emplace_back();
    message.text = std::move(text);
    MPI_Isend(message.text.data(), static_cast<int>(message.text.size()), MPI_CHAR, to, tag, comm_, &message.request);
  }

  /// Takes a message that is there. An MPI error means that the sender is gone: silence will tell.
  bool receive(int from, int tag, std::string& text) {
    int there = 0, length = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (MPI_Improbe(from, tag, comm_, &there, &message, &status) != MPI_SUCCESS || there == 0) return false;
    MPI_Get_count(&status, MPI_CHAR, &length);
    text.resize(static_cast<std::size_t>(length));
    return MPI_Mrecv(text.data(), length, MPI_CHAR, &message, &status) == MPI_SUCCESS;
  }

  /// The coordinator's half.
  verdict collect(std::chrono::milliseconds patience, const std::string& mine) {
    std::vector<std::string> heard(static_cast<std::size_t>(processes_));
    heard[0] = mine;
    int missing = processes_ - 1;
    poll_until(mpi_clock::now() + patience, [&] {
      for (int p = 1; p < processes_; ++p)
        if (heard[static_cast<std::size_t>(p)].empty() && receive(p, statement_tag, heard[static_cast<std::size_t>(p)]))
          --missing;
      return missing == 0;
    });
    const verdict v = judge(heard, patience);
    const std::string text = encode(v);
    for (int p = 1; p < processes_; ++p) send(p, verdict_tag, text);
    return v;
  }

  /// Everybody else's half.
  verdict report(std::chrono::milliseconds patience, std::string mine) {
    send(0, statement_tag, std::move(mine));
    std::string text;
    if (poll_until(mpi_clock::now() + 2 * patience, [&] { return receive(0, verdict_tag, text); })) return decode(text);
    return silence({0}, 2 * patience);
  }

  verdict silence(std::vector<int> lost, std::chrono::milliseconds patience) const {
    verdict v{static_cast<int>(mpi_code::no_answer), lost.front(), 1, std::move(lost), "no answer from "};
    for (std::size_t i = 0; i < v.lost.size(); ++i) v.text += (i > 0 ? ", " : "") + name(v.lost[i]);
    v.text += " within " + to_text(patience);
    return v;
  }

  /// What is worst: silence, then a failure, then a difference; in each the lowest process.
  verdict judge(const std::vector<std::string>& heard, std::chrono::milliseconds patience) const {
    std::vector<int> lost;
    for (int p = 0; p < processes_; ++p)
      if (heard[static_cast<std::size_t>(p)].empty()) lost.push_back(p);
    if (!lost.empty()) return silence(std::move(lost), patience);
    for (int p = 0; p < processes_; ++p) {
      const std::string& said = heard[static_cast<std::size_t>(p)];
      if (said[0] != statement_mark)
        return {
            static_cast<int>(mpi_code::process_failed), p, said[0] == final_mark, {}, name(p) + ": " + said.substr(1)};
    }
    for (int p = 1; p < processes_; ++p) {
      const auto [expected, given] = first_difference(heard[0], heard[static_cast<std::size_t>(p)]);
      if (expected == given) continue;
      return {
          static_cast<int>(mpi_code::processes_disagree),
          p,
          0,
          {},
          name(p) + " has \"" + std::string(given) + "\" where " + name(0) + " has \"" + std::string(expected) + "\""};
    }
    return {};
  }

  /// The first line in which two statements differ; equal and empty where none does.
  static std::pair<std::string_view, std::string_view> first_difference(std::string_view a, std::string_view b) {
    a.remove_prefix(1);
    b.remove_prefix(1);
    while (!a.empty() || !b.empty()) {
      const std::string_view x = a.substr(0, a.find('\n')), y = b.substr(0, b.find('\n'));
      if (x != y) return {x, y};
      a.remove_prefix(x.size() < a.size() ? x.size() + 1 : a.size());
      b.remove_prefix(y.size() < b.size() ? y.size() + 1 : b.size());
    }
    return {};
  }

  /// Numbers, then the text.
  static std::string encode(const verdict& v) {
    std::string text = std::to_string(v.code) + " " + std::to_string(v.process) + " " + std::to_string(v.is_final) +
                       " " + std::to_string(v.lost.size());
    for (const int p : v.lost) text.append(1, ' ').append(std::to_string(p));
    return text + "\n" + v.text;
  }
  static verdict decode(const std::string& text) {
    verdict v;
    const std::size_t line = text.find('\n');
    std::size_t at = 0;
    const auto number = [&] {
      std::size_t used = 0;
      const int n = std::stoi(text.substr(at, line - at), &used);
      at += used;
      return n;
    };
    v.code = number();
    v.process = number();
    v.is_final = number();
    for (int left = number(); left > 0; --left) v.lost.push_back(number());
    v.text = text.substr(line + 1);
    return v;
  }

  /// Numbers of this communicator as numbers of MPI_COMM_WORLD.
  std::vector<int> lost_processes(const std::vector<int>& lost) const {
    std::vector<int> numbers(lost.size());
    MPI_Group all = MPI_GROUP_NULL, own = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(comm_, &own);
    MPI_Group_translate_ranks(own, static_cast<int>(lost.size()), lost.data(), all, numbers.data());
    MPI_Group_free(&own);
    MPI_Group_free(&all);
    return numbers;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int process_ = 0;
  int processes_ = 1;
  bool broken_ = false;
  std::chrono::milliseconds timeout_;
  std::vector<std::string> name_;
  std::deque<outgoing> sent_;  ///< messages whose bytes MPI may still read
};

}}}  // namespace hyperparallel::v0_2::detail
