// SPDX-License-Identifier: Apache-2.0
#pragma once
// The slots of an edge whose reader takes the newest version, and the record of the versions that it took.
//
// Three slots are enough for one writer and one reader at any pace: one is read, one is the newest, one is written.
// A record that is replayed is kept to: firing k of the reader waits for its version, and the writer for a slot that no later
// firing reads. Laws: a version that is read is not overwritten; a run that replays the record of another one never stands
// still, since that order of firings is still possible; after the record the newest version is read again.
// `newest` is the last version that is there, `done` the firings of the reader that have ended. Callers lock.
// O(log record) a call.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hyperparallel { inline namespace v0_2 {

class newest_slots {
 public:
  static constexpr int count = 3;

  explicit newest_slots(std::int64_t ready) : first_(ready - 1) { version_[0] = first_; }

  /// The versions of firings 0, 1, … of the reader, those that are to be replayed among them.
  const std::vector<std::int64_t>& read() const { return read_; }
  /// The version of firing k, which is the newest where the record does not say.
  std::int64_t version_of(std::int64_t k, std::int64_t newest) const {
    return k < std::ssize(read_) ? read_[static_cast<std::size_t>(k)] : newest;
  }
  int slot_of(std::int64_t wanted) const {
    return static_cast<int>(std::find(version_, version_ + count, wanted) - version_);
  }
  int slot_written() const { return writing_; }

  bool may_read(std::int64_t k, std::int64_t newest) const { return version_of(k, newest) <= newest; }
  bool may_write(std::int64_t done, std::int64_t newest) const { return free_slot(done, newest) >= 0; }
  /// Domain: may_read. A firing that begins again reads the same.
  void begin_reading(std::int64_t k, std::int64_t newest) {
    if (k == std::ssize(read_)) read_.push_back(newest);
  }
  /// Domain: may_write.
  void begin_writing(std::int64_t done, std::int64_t newest) {
    writing_ = free_slot(done, newest);
    version_[writing_] = -1;
  }
  void end_writing(std::int64_t written) { version_[writing_] = written; }

  /// The first of these versions that no run reads, as versions never fall and firing k never reads less than version k; or
  /// their number.
  std::size_t first_impossible(std::span<const std::int64_t> versions) const {
    for (std::size_t k = 0; k < versions.size(); ++k)
      if (versions[k] < least_of(versions, k)) return k;
    return versions.size();
  }
  std::int64_t least_of(std::span<const std::int64_t> versions, std::size_t k) const {
    return std::max({k == 0 ? first_ : versions[k - 1], static_cast<std::int64_t>(k)});
  }
  void replay(std::span<const std::int64_t> versions) { read_.assign(versions.begin(), versions.end()); }

 private:
  /// A slot whose version no later firing reads, or -1.
  int free_slot(std::int64_t done, std::int64_t newest) const {
    const auto later = read_.begin() + std::min(done, static_cast<std::int64_t>(read_.size()));
    for (int i = 0; i < count; ++i)
      if (version_[i] < 0 || (version_[i] != newest && !std::binary_search(later, read_.end(), version_[i]))) return i;
    return -1;
  }

  std::int64_t first_;
  std::int64_t version_[count] = {-1, -1, -1};
  int writing_ = -1;
  std::vector<std::int64_t> read_;
};

}}  // namespace hyperparallel::v0_2
