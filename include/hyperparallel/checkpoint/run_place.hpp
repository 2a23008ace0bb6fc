// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a run lives: in one process, or on the processes of an MPI world, which then agree on what each of them does.
//
// Laws: what fails on one process fails on all; in one process, what is thrown is thrown on. O(1) messages a process.

#include <cstdint>
#include <exception>
#include <string>

namespace hyperparallel { inline namespace v0_2 { namespace reshard {

namespace detail {

/// A random number of 31 bits.
int random_31_bits();

}  // namespace detail

template <class World>
class run_place {
 public:
  static constexpr bool is_spread = requires(const World& w) { w.world().channel(); };

  explicit run_place(const World& w) : world_(w) {}

  int process() const {
    if constexpr (is_spread) return world_.world().process();
    return 0;
  }

  /// Calls `what()` on each process; its text is to be the same on all. Collective.
  template <class What>
  void together(const std::string& round, const What& what) const {
    if constexpr (is_spread) {
      std::string statement, complaint;
      try {
        statement = what();
      } catch (const std::exception& e) {
        complaint = e.what();
        if (complaint.empty()) complaint = "an error without words";
      }
      world_.world().channel().agree(round, statement, complaint);
    } else {
      static_cast<void>(what());
    }
  }
  /// The least of the numbers that the processes have. Collective.
  int least(int here) const {
    if constexpr (is_spread) return world_.world().channel().least_of_all(here);
    return here;
  }
  /// A number that no other call gives, the same on all processes. Collective.
  int random_number() const {
    int number = INT32_MAX;
    if (process() == 0) number = detail::random_31_bits();
    return least(number);
  }

 private:
  const World& world_;
};

}}}  // namespace hyperparallel::v0_2::reshard

#ifndef HYPERPARALLEL_COMPILED_JSON
#include <hyperparallel/checkpoint/run_place.ipp>
#endif
