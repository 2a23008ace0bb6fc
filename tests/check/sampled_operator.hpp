// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator of a test on random samples, and what a check says of it.

#include <hyperparallel/check/operator_sample.hpp>
#include <hyperparallel/kernels/operator_kernels.hpp>

#include <gtest/gtest.h>

#include <string>

namespace checked {

namespace hp = hyperparallel;

/// Calls complaint_of(sample, options, random) for a few samples of the operator up to the first complaint, which it returns.
template <class Operator, class Check>
std::string first_complaint(const hp::operator_options& how, const Check& complaint_of) {
  using list = hp::operators<hp::builtin, Operator>;
  const hp::operator_check_options options;
  const hp::detail::checked_operator checked{list::list, list::list.id_of(hp::operator_value_of<Operator>),
                                             &hp::kernels_of<double, list>,
                                             static_cast<int>(hp::detail::parts_written(Operator::text, false))};
  hp::detail::keyed_sequence engine{5};
  hp::detail::sample_numbers random(options, engine);
  std::string complaint;
  for (int round = 0; round < 40 && complaint.empty(); ++round) {
    const hp::detail::operator_sample sample(checked, how, options, engine);
    EXPECT_EQ(sample.complaint, "");
    complaint = complaint_of(sample, options, random);
  }
  return complaint;
}

inline bool says(const std::string& complaint, const std::string& words) {
  EXPECT_NE(complaint.find(words), std::string::npos) << complaint;
  return complaint.find(words) != std::string::npos;
}

/// The part of a loop that this call works on.
inline const hp::loop_span& loop_of(const hp::operator_call& c, char letter) {
  int f = 0;
  while (c.rule->factor[f].letter != letter) ++f;
  return c.loop[f];
}

}  // namespace checked
