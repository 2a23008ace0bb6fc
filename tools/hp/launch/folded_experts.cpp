// SPDX-License-Identifier: Apache-2.0
#include "launch/folded_experts.hpp"

namespace hp_tool::launch {

std::string fold_experts(const decoder& d, const expert_ranks& r, decoder_plan& p) {
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

}  // namespace hp_tool::launch
