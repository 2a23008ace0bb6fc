// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the experts of a framework's line lie in a plan: ep and etp, folded over the ranks that the rest of the model has.
//
//   hp::fold_experts(mixtral, {.ep = 8, .etp = 1, .data = 8, .tp = 4}, plan) == ""       plan.ep == 2, along tp, too
//
// ep · etp ranks have one copy of the experts. Where etp is 1 they are dealt to all tensor ranks, else cut as tensors are; the
// others are data and context ranks. Megatron-LM takes data ranks, and all context ranks where these do not do; torchtitan takes
// all context ranks first.
//
// Law: where it says nothing, expert_ranks_of(plan) is ep, and data ranks divide by plan.ep. O(1).

#include <string>

#include <hyperparallel/planner/decoder_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct expert_ranks {
  int ep = 1, etp = 1;
  int data = 1, cp = 1, tp = 1;      ///< ranks that they may lie on
  bool context_first = false;        ///< all context ranks have experts of their own
  const char* place = "of a stage";  ///< where these ranks are, for what is said
};

namespace detail {

/// Sets ep and experts_along of a plan; the plan's dp is what is left of its data ranks. Else says why not.
inline std::string fold_experts(const decoder& d, const expert_ranks& r, decoder_plan& p) {
  const auto text = [](extent_t n) { return std::to_string(n); };
  if (!d.has_experts) return "the config.json has no experts";
  const extent_t ranks = extent_t{r.data} * r.cp * r.tp, wanted = extent_t{r.ep} * r.etp;
  if (ranks % wanted != 0)
    return "ep=" + text(r.ep) + " x etp=" + text(r.etp) + " are " + text(wanted) + " ranks, of which the " +
           text(ranks) + " " + r.place + " are no multiple";
  if (d.experts.experts % r.ep != 0) return text(d.experts.experts) + " experts do not divide by ep=" + text(r.ep);
  if (r.etp != 1 && r.etp != r.tp) return "known: an etp of 1, or of tp, " + text(r.tp);
  int left = r.ep;  // to be found among data and context ranks
  if (r.tp > 1 && r.etp == 1) {
    if (r.ep % r.tp != 0) return "with an etp of 1, known: an ep that is a multiple of tp, " + text(r.tp);
    p.experts_along_tp = true;
    left /= r.tp;
  }
  if (r.context_first && left % r.cp != 0)
    return "known: an ep that is a multiple of " +
           (p.experts_along_tp ? "cp x tp, " + text(r.cp) + " x " + text(r.tp) : "cp, " + text(r.cp));
  const bool data_do = !r.context_first && r.data % left == 0;
  if (r.cp > 1 && !data_do && left % r.cp == 0 && r.data % (left / r.cp) == 0) {
    p.experts_along_cp = true;
    left /= r.cp;
  }
  if (r.data % left != 0)
    return "known: an ep that data ranks, " + text(r.data) + ", or these and all context ranks, " + text(r.cp) +
           ", divide by";
  p.ep = left;
  return "";
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
