// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bodies of saved_tensors.hpp; see support/compiled.hpp.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/support/compiled.hpp>
#include <hyperparallel/tiers/saved_tensors.hpp>

namespace hyperparallel { inline namespace v0_2 {

HYPERPARALLEL_BODY std::int64_t offload_hooks::pack(offload_session& session, session_tensor tensor) {
  if (session.bytes_of(tensor) >= options_.least_bytes && session.is_resident(tensor)) {
    session.store(tensor, options_.tier);
    session.detach(tensor);
  }
  packed_.push_back({&session, tensor, next_});
  return next_++;
}

HYPERPARALLEL_BODY use_guard offload_hooks::unpack(offload_session& session, session_tensor tensor,
                                                   std::int64_t packed) {
  if (!session.is_resident(tensor)) session.prefetch(tensor);
  forget(packed);
  int left = options_.look_ahead;
  for (auto p = packed_.rbegin(); p != packed_.rend() && left > 0; ++p, --left)
    if (p->session->knows(p->tensor)) p->session->prefetch_ahead(p->tensor);
  return session.use(tensor);
}

HYPERPARALLEL_BODY void offload_hooks::forget(std::int64_t packed) noexcept {
  for (auto p = packed_.begin(); p != packed_.end(); ++p)
    if (p->number == packed) {
      packed_.erase(p);
      return;
    }
}

namespace detail {

HYPERPARALLEL_BODY std::shared_ptr<saved_tensor_hooks>& current_hooks() {
  thread_local std::shared_ptr<saved_tensor_hooks> hooks;
  return hooks;
}

}  // namespace detail

HYPERPARALLEL_BODY saved_tensors_scope::saved_tensors_scope(std::shared_ptr<saved_tensor_hooks> hooks)
    : former_(std::exchange(detail::current_hooks(), std::move(hooks))) {}

HYPERPARALLEL_BODY use_guard packed_tensor::unpack() {
  if (session_ == nullptr) throw session_error(session_code::unpacked_twice, "unpack", name_, bytes_);
  use_guard guard = hooks_ == nullptr ? session_->use(tensor_) : hooks_->unpack(*session_, tensor_, number_);
  session_ = nullptr;
  return guard;
}

HYPERPARALLEL_BODY void packed_tensor::swap(packed_tensor& other) noexcept {
  std::swap(hooks_, other.hooks_);
  std::swap(session_, other.session_);
  std::swap(tensor_, other.tensor_);
  std::swap(number_, other.number_);
  std::swap(name_, other.name_);
  std::swap(bytes_, other.bytes_);
}

HYPERPARALLEL_BODY packed_tensor save_for_backward(offload_session& session, session_tensor tensor) {
  packed_tensor saved;
  saved.name_ = session.name_of(tensor);
  saved.bytes_ = session.bytes_of(tensor);
  saved.tensor_ = tensor;
  saved.hooks_ = detail::current_hooks();
  if (saved.hooks_ != nullptr) saved.number_ = saved.hooks_->pack(session, tensor);
  saved.session_ = &session;
  return saved;
}

}}  // namespace hyperparallel::v0_2
