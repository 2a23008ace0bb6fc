// SPDX-License-Identifier: Apache-2.0
#pragma once
// A typed edge: values of one type, a version at a time, in the edge's slots.
//
//   hp::channel<batch> samples(c, "samples");
//   samples.write(f) = …;         in a firing of the writer: its version, there for the reader when the firing has ended
//   const batch& b = samples.read(f);   in a firing of the reader: the version that it reads, until the firing has ended
//
// Laws: what a firing reads no other writes; a firing that is tried again reads the same. No value is copied: the slots
// are as many as versions may be held, and are written again and again. Errors: program_error, where the edge is not the
// program's.

#include <string>
#include <vector>

#include <hyperparallel/controller/controller.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class T>
class channel {
 public:
  /// `first`: the versions that are there before any firing, and what the slots are made of.
  channel(controller& c, const std::string& edge, const T& first = T{})
      : controller_(&c), edge_(c.edge_called(edge)), slot_(static_cast<std::size_t>(c.slots(edge_)), first) {}

  int edge() const { return edge_; }
  std::int64_t version_read(const firing& f) const { return controller_->version_to_read(edge_, f); }
  const T& read(const firing& f) const { return slot_[static_cast<std::size_t>(controller_->slot_to_read(edge_, f))]; }
  T& write(const firing& f) { return slot_[static_cast<std::size_t>(controller_->slot_to_write(edge_, f))]; }
  /// Before any firing: the value of the versions that are there.
  void begin_with(const T& first) { slot_.assign(slot_.size(), first); }

 private:
  controller* controller_;
  int edge_;
  std::vector<T> slot_;
};

}}  // namespace hyperparallel::v0_2
