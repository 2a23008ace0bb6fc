// SPDX-License-Identifier: Apache-2.0
// docs/reference/report.md
#undef NDEBUG
#include <cassert>
#include <string>

#include <hyperparallel/report/format_layout.hpp>
#include <hyperparallel/report/format_units.hpp>
#include <hyperparallel/report/table.hpp>
#include <hyperparallel/shard.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
using x = hp::layout<mesh, "dp", hp::none, hp::partial("tp")>;

int main() {
  assert(fmt::format("{}", mesh::value) == "(dp=2, tp=4)");
  assert(fmt::format("{}", hp::named(x::value, mesh::value)) == "(dp, None) partial(tp: sum)");
  assert(fmt::format("{}", hp::report::duration{9'870 * hp::microsecond}) == "9.870 ms");
  assert(fmt::format("{:>12}", hp::report::byte_count{384 * hp::MiB}) == "   384.0 MiB");

  hp::report::table t({"operator", "time"});
  t.row({"GMM1", "73.845 us"}).row({"SwiGLU", "39.422 us"});
  assert(t.text() == "operator       time\n--------  ---------\nGMM1      73.845 us\nSwiGLU    39.422 us\n");
}
