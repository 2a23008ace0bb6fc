// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of kept_dtensor.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/kept_dtensor.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel::inline v0_2 {

/// A tensor in a session, until the last that keeps it is gone.
struct kept_dtensor::stored {
  offload_session& session;
  session_tensor tensor;
  rank_group group;
  tensor_description what;
  std::weak_ptr<const std::byte> block;  ///< of position 0: tells whether another tensor is this one

  stored(offload_session& s, const std::string& name, const dynamic_dtensor& x)
      : session(s), group(x.group()), what(x.description()), block(x.shared_block(0)) {
    std::int64_t bytes = 0;
    for (int p = 0; p < x.ranks(); ++p) bytes += block_bytes(what, x.local_box(p));
    tensor = session.add(name, bytes);
    const use_guard use = session.use(tensor, tensor_access::overwrite);
    std::byte* to = use.as<std::byte>().data();
    for (int p = 0; p < x.ranks(); ++p) {
      const auto size = static_cast<std::size_t>(block_bytes(what, x.local_box(p)));
      if (size > 0) std::memcpy(to, x.data(p), size);
      to += size;
    }
  }
  stored(const stored&) = delete;
  stored& operator=(const stored&) = delete;
  ~stored() {
    if (session.knows(tensor)) session.remove(tensor);
  }
  bool is(const dynamic_dtensor& x) const {
    return !block.expired() && block.lock() == x.shared_block(0) && what.shape == x.shape() &&
           what.layout == x.layout() && what.type == x.type();
  }
};

struct kept_dtensor::share {
  std::shared_ptr<stored> held;
  packed_tensor packed;
};

struct keep_in_session::kept_tensors {
  offload_session& session;
  std::int64_t count = 0;
  std::vector<std::weak_ptr<kept_dtensor::stored>> all;
};

HYPERPARALLEL_BODY keep_in_session::kept_tensors*& keep_in_session::current() {
  static thread_local kept_tensors* now = nullptr;
  return now;
}
HYPERPARALLEL_BODY keep_in_session::keep_in_session(offload_session& session)
    : kept_(new kept_tensors{session, 0, {}}), former_(std::exchange(current(), kept_.get())) {}
HYPERPARALLEL_BODY keep_in_session::~keep_in_session() { current() = former_; }

HYPERPARALLEL_BODY kept_dtensor::kept_dtensor(const dynamic_dtensor& x) {
  keep_in_session::kept_tensors* const in = keep_in_session::current();
  std::int64_t bytes = 0;
  for (int p = 0; in != nullptr && p < x.ranks(); ++p) bytes += block_bytes(x.description(), x.local_box(p));
  if (bytes == 0) {
    plain_ = std::make_shared<const dynamic_dtensor>(x);
    return;
  }
  std::erase_if(in->all, [](const auto& one) { return one.expired(); });
  std::shared_ptr<stored> held;
  for (const auto& one : in->all)
    if (const auto known = one.lock(); known->is(x)) held = known;
  if (held == nullptr) {
    held = std::make_shared<stored>(in->session, "kept " + std::to_string(in->count++), x);
    in->all.push_back(held);
  }
  share_ = std::make_shared<share>();
  share_->packed = save_for_backward(in->session, held->tensor);
  share_->held = std::move(held);
}

HYPERPARALLEL_BODY dynamic_dtensor kept_dtensor::value() const {
  if (plain_ != nullptr) return *plain_;
  share mine = std::move(*share_);
  const use_guard use = mine.packed.unpack();
  const std::byte* from = use.as<const std::byte>().data();
  std::vector<dynamic_dtensor::block> blocks;
  const tensor_description& what = mine.held->what;
  for (int p = 0; p < mine.held->group.ranks(); ++p) {
    const box place = slice_at(what.layout, what.shape, coordinates_of(what.layout.mesh, p));
    const auto size = static_cast<std::size_t>(block_bytes(what, place));
    const std::shared_ptr<std::byte> block = allocate_block(static_cast<std::int64_t>(size));
    if (size > 0) std::memcpy(block.get(), from, size);
    from += size;
    blocks.push_back(block);
  }
  return {mine.held->group, what, std::move(blocks)};
}

}  // namespace hyperparallel::inline v0_2
