// SPDX-License-Identifier: Apache-2.0
// processes: 1
#include <gtest/gtest.h>

#include <hyperparallel/mpi/error.hpp>

namespace hp = hyperparallel;

namespace {

TEST(mpi_error, names_the_call_and_what_mpi_says) {
  EXPECT_NO_THROW(hp::detail::check_mpi(MPI_SUCCESS, "MPI_Test"));
  try {
    hp::detail::check_mpi(MPI_ERR_TRUNCATE, "MPI_Recv");
    FAIL() << "an error code is an exception";
  } catch (const hp::mpi_error& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.find("MPI_Recv: "), 0U) << text;
    EXPECT_NE(text.find("runcat"), std::string::npos) << text;
    EXPECT_EQ(e.code, hp::mpi_code::call_failed);
    EXPECT_FALSE(e.is_final);
    EXPECT_TRUE(e.lost.empty());
  }
}

TEST(mpi_error, every_code_has_a_name_of_its_own) {
  for (int i = 0; i <= static_cast<int>(hp::mpi_code::call_failed); ++i)
    for (int j = 0; j < i; ++j)
      EXPECT_STRNE(name_of(static_cast<hp::mpi_code>(i)), name_of(static_cast<hp::mpi_code>(j)));
}

TEST(mpi_error, knows_whether_mpi_is_running) { EXPECT_TRUE(hp::detail::mpi_is_running()); }

}  // namespace
