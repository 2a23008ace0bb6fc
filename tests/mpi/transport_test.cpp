// SPDX-License-Identifier: Apache-2.0
// processes: 1
#include <hyperparallel/mpi/transport.hpp>

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

TEST(MpiTransport, HasANameForEachWay) {
  std::set<std::string> names;
  for (const hp::mpi_transport t : {hp::mpi_transport::automatic, hp::mpi_transport::shared_window,
                                    hp::mpi_transport::derived_types, hp::mpi_transport::packed})
    names.insert(name_of(t));
  EXPECT_EQ(names, (std::set<std::string>{"automatic", "shared window", "derived types", "packed"}));
}
