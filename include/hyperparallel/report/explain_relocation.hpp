// SPDX-License-Identifier: Apache-2.0
#pragma once
// A planned relocation in full, for people: by what its blocks travel, every step with what it brings and an example of
// its transfers, and the certificate. The one between two meshes, rank lists or shapes; see explain_move.hpp for
// others.
//
// Law: every figure is counted from the transfers that the steps emit, except the bound, which is computed apart.

#include <cstddef>
#include <string>
#include <vector>

#include <hyperparallel/redistribution/relocation_certificate.hpp>
#include <hyperparallel/report/explain_move.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace report {

/// A relocation with the size of its elements; the relocation must outlive it.
struct explained_relocation {
  const relocation& plan;
  extent_t element_bytes = 4;
  int shown_transfers = 4;  ///< of the rank that receives most in a step
};

/// Of step `k`; what a rank has itself is not received. O(ranks · transfers of a receiver).
inline step_load load_of(const relocation& r, int k) {
  const rank_list& side = receiver_ranks(r, r.plan.step[k]);
  std::vector<extent_t> sent(static_cast<std::size_t>(r.source_ranks.count));
  step_load load;
  for (int q = 0; q < side.count; ++q) {
    extent_t received = 0, messages = 0;
    for_each_transfer(r, k, q, [&](const relocated& t) {
      if (rank_at(r.source_ranks, t.sender) == rank_at(side, q)) return;
      received += t.elements;
      sent[static_cast<std::size_t>(t.sender)] += t.elements;
      ++messages;
    });
    load.add(q, received, messages);
  }
  for (const extent_t n : sent) load.sent = larger(load.sent, n);
  return load;
}

}  // namespace report

/// Domain: `r.code` is ok.
inline report::explained_relocation explained(const relocation& r, extent_t element_bytes) {
  return {r, element_bytes, 4};
}

inline std::string to_text(const relocation& r) {
  const auto side = [&](const char* name) { return std::string("the ") + name + " "; };
  switch (r.code) {
    case relocation_code::ok:
      return std::string(name_of(r.plan.kind)) + ": " + detail::counted(r.plan.step_count, "step");
    case relocation_code::source_is_refused:
      return side("source") + "refuses the shape: " + to_text(r.layout);
    case relocation_code::target_is_refused:
      return side("target") + "refuses the shape: " + to_text(r.layout);
    case relocation_code::source_ranks_do_not_fit_the_mesh:
      return side("source") + "has ranks that do not fit its mesh: " + to_text(r.ranks);
    case relocation_code::target_ranks_do_not_fit_the_mesh:
      return side("target") + "has ranks that do not fit its mesh: " + to_text(r.ranks);
    case relocation_code::element_counts_differ:
      return "the shapes differ in their elements: " + std::to_string(r.source_elements) + " and " +
             std::to_string(r.target_elements);
    case relocation_code::source_reductions_do_not_commute:
      return side("source") + "waits for reductions that do not commute, axis " + std::to_string(r.axis);
    case relocation_code::target_reductions_do_not_commute:
      return side("target") + "would wait for reductions that do not commute, axis " + std::to_string(r.axis);
    case relocation_code::traffic_overflows:
      return "the traffic leaves 64 bits of elements";
  }
  return "unknown";
}

namespace detail {

inline std::string form_text(const relocation& r) {
  switch (r.form) {
    case relocation_form::one_mesh:
      return "both sides on the mesh " + to_text(r.plan.step[0].source.mesh) + ", the tensor as " +
             to_text(r.plan.shape);
    case relocation_form::boxes:
      return "between two meshes, in boxes of the tensor as " + to_text(r.plan.shape);
    case relocation_form::runs:
      return "between two meshes, in runs of the flat tensor";
  }
  return "";
}

inline std::string transfer_text(const relocation& r, const relocated& t) {
  if (r.form != relocation_form::runs) return to_text(t.boxes.part);
  return counted(t.elements, "element") + " to its offset " + std::to_string(t.run.target_offset);
}

inline std::string relocation_step_text(const report::explained_relocation& e, int k) {
  const relocation& r = e.plan;
  const rank_list& side = receiver_ranks(r, r.plan.step[k]);
  const report::step_load load = report::load_of(r, k);
  const int rank = rank_at(side, load.busiest);
  extent_t shown = 0;
  std::string transfers;
  for_each_transfer(r, k, load.busiest, [&](const relocated& t) {
    const int sender = rank_at(r.source_ranks, t.sender);
    if (sender == rank || shown == e.shown_transfers) return;
    ++shown;
    transfers += "        rank " + std::to_string(rank) + " takes " + transfer_text(r, t) + " from rank " +
                 std::to_string(sender) + "\n";
  });
  if (load.busiest_messages > shown)
    transfers += "        and " + std::to_string(load.busiest_messages - shown) + " more\n";
  return "step " + std::to_string(k + 1) + "  " + name_of(r.plan.step[k].kind) + "\n        " +
         meaning_of(r.plan.step[k].kind) + "\n" + load_text(load, e.element_bytes) + transfers;
}

}  // namespace detail

namespace report {

/// Several lines, each ended by a line break. O(steps · ranks · transfers of a receiver).
inline std::string to_text(const explained_relocation& e) {
  const relocation& r = e.plan;
  std::string out = "kind    " + hyperparallel::to_text(r) + "\n";
  if (r.plan.step_count == 0) return out;
  out += "form    " + hyperparallel::detail::form_text(r) + "\n\n";
  for (int k = 0; k < r.plan.step_count; ++k) out += hyperparallel::detail::relocation_step_text(e, k);
  std::vector<extent_t> tally(static_cast<std::size_t>(tally_size(r)));
  const relocation_certificate c = certify(r, tally.data());
  return out + "\n" +
         hyperparallel::detail::full_certificate_text(c.received_total, c.least_total, c.received_maximum,
                                                      c.sent_maximum, "peak, source kept", c.peak_elements,
                                                      e.element_bytes);
}

}  // namespace report

}}  // namespace hyperparallel::v0_2
