// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of keep_in_session.hpp; see support/compiled.hpp.

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/dtensor/keep_in_session.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline std::int64_t bytes_on_all(const dynamic_dtensor& x) {
  std::int64_t bytes = 0;
  for (int p = 0; p < x.ranks(); ++p) bytes += block_bytes(x.description(), x.local_box(p));
  return bytes;
}

/// A tensor in a session, until the last that keeps it is gone.
struct tensor_in_session {
  offload_session& session;
  session_tensor tensor;
  rank_group group;
  tensor_description what;
  std::weak_ptr<const std::byte> block;  ///< of position 0: tells whether another tensor is this one

  tensor_in_session(offload_session& s, const std::string& name, const dynamic_dtensor& x)
      : session(s), group(x.group()), what(x.description()), block(x.shared_block(0)) {
    tensor = session.add(name, bytes_on_all(x));
    const use_guard use = session.use(tensor, tensor_access::overwrite);
    std::byte* to = use.as<std::byte>().data();
    for (int p = 0; p < x.ranks(); ++p) {
      const auto size = static_cast<std::size_t>(block_bytes(what, x.local_box(p)));
      if (size > 0) std::memcpy(to, x.data(p), size);
      to += size;
    }
  }
  tensor_in_session(const tensor_in_session&) = delete;
  tensor_in_session& operator=(const tensor_in_session&) = delete;
  ~tensor_in_session() {
    if (session.knows(tensor)) session.remove(tensor);
  }

  bool is(const dynamic_dtensor& x) const {
    return !block.expired() && block.lock() == x.shared_block(0) && what.shape == x.shape() &&
           what.layout == x.layout() && what.type == x.type();
  }
  dynamic_dtensor read(const use_guard& use) const {
    const std::byte* from = use.as<const std::byte>().data();
    std::vector<dynamic_dtensor::block> blocks;
    for (int p = 0; p < group.ranks(); ++p) {
      const box place = slice_at(what.layout, what.shape, coordinates_of(what.layout.mesh, p));
      const auto size = static_cast<std::size_t>(block_bytes(what, place));
      const std::shared_ptr<std::byte> bytes = allocate_block(static_cast<std::int64_t>(size));
      if (size > 0) std::memcpy(bytes.get(), from, size);
      from += size;
      blocks.push_back(bytes);
    }
    return {group, what, std::move(blocks)};
  }
};

/// One that keeps it.
class packed_in_session final : public kept_tensor {
 public:
  explicit packed_in_session(std::shared_ptr<tensor_in_session> held)
      : held_(std::move(held)), packed_(save_for_backward(held_->session, held_->tensor)) {}

  dynamic_dtensor take() override {
    const std::shared_ptr<tensor_in_session> held = std::move(held_);
    packed_tensor packed = std::move(packed_);
    const use_guard use = packed.unpack();
    return held->read(use);
  }

 private:
  std::shared_ptr<tensor_in_session> held_;
  packed_tensor packed_;
};

/// One without elements.
class empty_kept final : public kept_tensor {
 public:
  explicit empty_kept(const dynamic_dtensor& x) : x_(x) {}
  dynamic_dtensor take() override { return x_; }

 private:
  dynamic_dtensor x_;
};

class session_keeper final : public tensor_keeper {
 public:
  explicit session_keeper(offload_session& session) : session_(session) {}

  std::shared_ptr<kept_tensor> keep(const dynamic_dtensor& x) override {
    if (bytes_on_all(x) == 0) return std::make_shared<empty_kept>(x);
    std::erase_if(all_, [](const auto& one) { return one.expired(); });
    std::shared_ptr<tensor_in_session> held;
    for (const auto& one : all_)
      if (const auto known = one.lock(); known->is(x)) held = known;
    if (held == nullptr) {
      held = std::make_shared<tensor_in_session>(session_, "kept " + std::to_string(count_++), x);
      all_.push_back(held);
    }
    return std::make_shared<packed_in_session>(std::move(held));
  }

 private:
  offload_session& session_;
  std::int64_t count_ = 0;
  std::vector<std::weak_ptr<tensor_in_session>> all_;
};

}  // namespace detail

HYPERPARALLEL_BODY keep_in_session::keep_in_session(offload_session& session)
    : keeper_(std::make_unique<detail::session_keeper>(session)), scope_(*keeper_) {}

}}  // namespace hyperparallel::v0_2
