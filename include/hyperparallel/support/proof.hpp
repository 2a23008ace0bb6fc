// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is known of laws: proved, refused, or not asked.
//
//   static_assert(step::verified);   // holds for `proved` alone
//
// Law: nothing but `proved` converts to true; a proof that was not asked for is none.

namespace hyperparallel { inline namespace v0_2 {

enum class proof_state : unsigned char { not_asked, proved, refused };

struct proof {
  proof_state state = proof_state::not_asked;

  explicit constexpr operator bool() const { return state == proof_state::proved; }
  friend constexpr bool operator==(const proof&, const proof&) = default;
};

namespace detail {

/// Of laws that were asked.
constexpr proof proved_if(bool kept) { return {kept ? proof_state::proved : proof_state::refused}; }

}  // namespace detail

constexpr const char* name_of(const proof& p) {
  constexpr const char* names[] = {"not asked", "proved", "refused"};
  return names[static_cast<int>(p.state)];
}

}}  // namespace hyperparallel::v0_2
