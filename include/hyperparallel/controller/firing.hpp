// SPDX-License-Identifier: Apache-2.0
#pragma once
// A firing of a program, the functions that a controller calls for it, and the error of firings that failed.

#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hyperparallel { inline namespace v0_2 {

class controller;

/// One firing of a program: a handle of two numbers, which edges take to say what it reads and where it writes.
class firing {
 public:
  int program() const { return program_; }
  /// Counts from 0.
  std::int64_t number() const { return number_; }

 private:
  friend controller;
  firing(int program, std::int64_t number) : program_(program), number_(number) {}
  int program_;
  std::int64_t number_;
};

/// What a controller runs as a program. Only `fire` has to be there.
struct running_program {
  std::function<void(const firing&)> fire;
  std::function<void()> keep = {};     ///< at each boundary, that is after a firing and before its versions are there
  std::function<void()> restore = {};  ///< back to what was kept last, before a firing that failed is tried again
  std::function<void()> cancel = {};   ///< from another thread: the firing under way is to end soon
};

/// The link between the controllers of several processes, as mpi/process_link.hpp.
struct program_link {
  virtual ~program_link() = default;
  /// Whether the program lives here, by itself or with other processes.
  virtual bool is_here(int program) const = 0;
  /// Whether all processes of the program begin its next firing; one that stops says no, in `join`.
  virtual bool begins(controller& c, int program) = 0;
  /// Of all processes of the program: the first complaint about a firing, none where it ended well everywhere.
  virtual std::string agreed(int program, const std::string& complaint) = 0;
  /// Tells the processes that wait for the program how many firings it has done.
  virtual void tell(int program, std::int64_t done) = 0;
  /// A firing here has failed: all are to stop.
  virtual void tell_stop() = 0;
  /// Receives what other processes have told, by `controller::hear` and `stop`.
  virtual void listen(controller& c) = 0;
  /// At the end of a run of `until` firings, on all processes: the firings of each program, and why one failed.
  virtual void join(controller& c, std::int64_t until, std::vector<std::int64_t>& done,
                    std::vector<std::string>& complaint) = 0;
};

/// A firing that did not end well, and why.
struct failed_firing {
  int program = -1;
  std::int64_t number = 0;
  std::string why;
  std::exception_ptr cause;  ///< none where it was cancelled
};

/// Programs failed, or cannot go on; all others have drained to the end of a firing.
struct controller_error : std::runtime_error {
  explicit controller_error(const std::string& text, std::vector<failed_firing> failed_firings = {})
      : std::runtime_error(text), failed(std::move(failed_firings)) {}
  std::vector<failed_firing> failed;  ///< none: the programs wait for each other
};

/// When a firing that ended well was under way, nanoseconds after its run began.
struct firing_time {
  int program = -1;
  std::int64_t number = 0, begin = 0, end = 0;
};

/// The time that a program took: what the clock saw of its firings that ended well.
struct program_use {
  std::int64_t firings = 0;
  double busy = 0;       ///< seconds within firings
  double first_end = 0;  ///< of its first firing, seconds after the run began
  double last_end = 0;
  double begin = 0;  ///< of its first firing
  /// Seconds from end to end of firings.
  double period() const { return firings < 2 ? busy : (last_end - first_end) / static_cast<double>(firings - 1); }
  /// The part of the time from its first firing to its last in which it was busy.
  double utilisation() const { return last_end > begin ? busy / (last_end - begin) : 0; }
};

}}  // namespace hyperparallel::v0_2
