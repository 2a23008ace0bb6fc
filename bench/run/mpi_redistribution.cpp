// SPDX-License-Identifier: Apache-2.0
// Redistribution on eight processes against what MPI offers for it: scripts/mpiexec -n 8 bench_mpi_redistribution
//
//   bench_mpi_redistribution [rounds [MiB…]]      default: 15 rounds of 64 and 256 MiB
//
// A float matrix of 4096 columns goes from layout to layout. All variants run in turn in every round; a time is the
// latest end minus the earliest start over all processes, because with more processes than cores one process's own
// clock misses what was done before it was scheduled. Printed are medians, and ratios to the competitors of the same
// run, which get the same huge pages; the last row is what MPI_Alltoallw does on the pages that a program gets itself.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/mpi.hpp>
#include <hyperparallel/transfer/redistribute.hpp>

#include "../../examples/command_line.hpp"

namespace {

namespace hp = hyperparallel;

constexpr int processes = 8;
constexpr hp::extent_t columns = 4096;

struct pair_of_layouts {
  const char* name;
  hp::layout_value source, target;
};

/// Blocks of a grid of 2^rows x 2^(3 - rows) devices over a mesh of 2 x 2 x 2.
hp::layout_value grid(int rows) {
  hp::layout_value l = hp::replicated({3, {2, 2, 2}}, 2);
  for (int a = 0; a < 3; ++a) hp::append_cut(l, {a < rows ? 0 : 1, a, 1, 2});
  return l;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct variant {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds{};
  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

/// Pages of a competitor's memory: those that the library asks for, or those that an MPI program gets from malloc.
enum class pages { huge, plain };

struct floats {
  hp::arena memory;
  std::size_t size;
  explicit floats(hp::extent_t n = 0, pages kind = pages::huge) : memory(n * 4), size(static_cast<std::size_t>(n)) {
    if (kind == pages::huge) hp::prefer_huge_pages(memory.data(), n * 4);
    std::memset(memory.data(), 0, size * 4);
  }
  float* data() const { return reinterpret_cast<float*>(memory.data()); }
};

/// The move as a user of MPI would write it: a subarray of each block for each process.
class competitor {
 public:
  competitor(const pair_of_layouts& move, const hp::shape& s, int me, pages kind = pages::huge) {
    const hp::redistribution_plan plan = hp::plan_redistribution(move.source, move.target, s);
    const auto frame = [&](const hp::layout_value& l, int p) { return hp::slice_of(l, s, p).box; };
    source_ = floats(volume(frame(move.source, me)), kind);
    target_ = floats(volume(frame(move.target, me)), kind);
    wire_ = floats(volume(frame(move.source, me)));
    arrived_ = floats(volume(frame(move.target, me)));
    for (auto* types : {&send_type_, &receive_type_}) types->assign(processes, MPI_FLOAT);
    for (auto* counts : {&sends_, &receives_, &send_count_, &receive_count_, &send_at_, &receive_at_, &zero_})
      counts->assign(processes, 0);
    int sent = 0, came = 0;
    for (std::size_t peer = 0; peer < processes; ++peer) {
      const int p = static_cast<int>(peer);
      for (const bool sending : {true, false}) {
        const int to = sending ? p : me;
        const hp::receiver r =
            hp::receiver_at(move.source, move.target, s, plan.replicas, coordinates_of(move.source.mesh, to));
        for (hp::extent_t k = 0; k < r.boxes; ++k) {
          const hp::exchange_box b = box_at(move.source, r, k);
          if (b.sender != (sending ? me : p)) continue;
          const hp::box held = sending ? frame(move.source, me) : r.wanted;
          (sending ? send_type_ : receive_type_)[peer] = subarray(held, b.global);
          (sending ? sends_ : receives_)[peer] = 1;
          (sending ? send_count_ : receive_count_)[peer] = static_cast<int>(volume(b.global));
          const auto copy = sending ? copy_between(held, b.global, b.global, sizeof(float))
                                    : copy_between(b.global, held, b.global, sizeof(float));
          (sending ? packs_ : unpacks_).push_back({flatten(copy), sending ? sent : came});
        }
      }
      send_at_[peer] = sent;
      receive_at_[peer] = came;
      sent += send_count_[peer];
      came += receive_count_[peer];
    }
    // Where every box is one run of the target and they come in order, nothing has to be unpacked.
    in_place_ = std::ranges::all_of(unpacks_, [](const step& u) {
      return u.copy.dims == 0 && u.copy.target_start == u.at * static_cast<std::int64_t>(sizeof(float));
    });
  }

  const floats& source() const { return source_; }
  const floats& target() const { return target_; }

  void alltoallw() {
    MPI_Alltoallw(source_.data(), sends_.data(), zero_.data(), send_type_.data(), target_.data(), receives_.data(),
                  zero_.data(), receive_type_.data(), MPI_COMM_WORLD);
  }

  void packed_alltoallv() {
    for (const step& p : packs_)
      hp::copy_strided(p.copy, reinterpret_cast<const std::byte*>(source_.data()),
                       reinterpret_cast<std::byte*>(wire_.data() + p.at));
    float* const to = in_place_ ? target_.data() : arrived_.data();
    MPI_Alltoallv(wire_.data(), send_count_.data(), send_at_.data(), MPI_FLOAT, to, receive_count_.data(),
                  receive_at_.data(), MPI_FLOAT, MPI_COMM_WORLD);
    if (in_place_) return;
    for (const step& u : unpacks_)
      hp::copy_strided(u.copy, reinterpret_cast<const std::byte*>(arrived_.data() + u.at),
                       reinterpret_cast<std::byte*>(target_.data()));
  }

 private:
  struct step {
    hp::strided_copy copy;
    int at;  ///< in the dense message, elements
  };

  static MPI_Datatype subarray(const hp::box& held, const hp::box& part) {
    int full[2], extent[2], at[2];
    for (std::size_t d = 0; d < 2; ++d) {
      full[d] = static_cast<int>(held.dim[d].end - held.dim[d].begin);
      extent[d] = static_cast<int>(part.dim[d].end - part.dim[d].begin);
      at[d] = static_cast<int>(part.dim[d].begin - held.dim[d].begin);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(2, full, extent, at, MPI_ORDER_C, MPI_FLOAT, &type);
    MPI_Type_commit(&type);
    return type;
  }

  floats source_, target_, wire_, arrived_;
  std::vector<MPI_Datatype> send_type_, receive_type_;
  std::vector<int> sends_, receives_, send_count_, receive_count_, send_at_, receive_at_, zero_;
  std::vector<step> packs_, unpacks_;
  bool in_place_ = false;
};

/// Everybody waits without using a core, so that one process can have them all.
void sleep_until_all_are_here() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int here = 0;
  while (MPI_Test(&request, &here, MPI_STATUS_IGNORE), here == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

void measure(const hp::mpi_world& world, const pair_of_layouts& pair, std::int64_t mebibytes, int rounds) {
  const int me = world.process();
  const std::int64_t bytes = mebibytes << 20;
  const hp::shape s{bytes / (columns * 4), columns};
  const hp::box mine = hp::slice_of(pair.source, s, me).box, wanted = hp::slice_of(pair.target, s, me).box;
  const auto number = [](hp::extent_t r, hp::extent_t c) { return static_cast<float>((r * columns + c) % 8388593); };
  const auto fill = [&](float* to, const hp::box& b) {
    for (hp::extent_t r = b.dim[0].begin; r < b.dim[0].end; ++r)
      for (hp::extent_t c = b.dim[1].begin; c < b.dim[1].end; ++c) *to++ = number(r, c);
  };

  competitor other(pair, s, me), plain(pair, s, me, pages::plain);
  for (const competitor* c : {&other, &plain}) fill(c->source().data(), mine);
  std::vector<hp::mpi_redistribution> moves;
  for (const hp::mpi_transport t :
       {hp::mpi_transport::shared_window, hp::mpi_transport::derived_types, hp::mpi_transport::packed}) {
    moves.emplace_back(world, hp::planned_tensor{pair.source, pair.target, s, hp::f32}, t);
    fill(moves.back().source<float>(me).data(), mine);
  }
  // In one process: our move, and its limit, which leaves every block as it is.
  std::unique_ptr<hp::arena_redistribution> alone, flat;
  if (me == 0) {
    alone = std::make_unique<hp::arena_redistribution>(pair.source, pair.target, s, sizeof(float));
    flat = std::make_unique<hp::arena_redistribution>(pair.source, pair.source, s, sizeof(float));
    for (hp::arena_redistribution* move : {alone.get(), flat.get()})
      for (int r = 0; r < processes; ++r) fill(move->source<float>(r).data(), hp::slice_of(pair.source, s, r).box);
  }
  const floats copied(static_cast<hp::extent_t>(other.source().size));

  const auto check = [&](const char* name, float* got) {
    std::vector<float> expected(other.target().size);
    fill(expected.data(), wanted);
    if (std::memcmp(got, expected.data(), expected.size() * sizeof(float)) == 0) return;
    std::printf("%s: wrong result on process %d\n", name, me);
    MPI_Abort(MPI_COMM_WORLD, 1);
  };

  enum { own_copy, flat_copy, in_one_process, shared, derived, packed, mpi_types, mpi_packed, plain_types, count };
  std::vector<variant> variants(count);
  variants[own_copy] = {"memcpy of own shards",
                        [&] { std::memcpy(copied.data(), other.source().data(), copied.size * sizeof(float)); }};
  variants[flat_copy] = {"flat copy, one process: the limit", [&] {
                           if (flat != nullptr) flat->run();
                         }};
  variants[in_one_process] = {"arena_redistribution, one process", [&] {
                                if (alone != nullptr) alone->run();
                              }};
  variants[shared] = {"mpi_redistribution, shared window", [&] { moves[0].run(); }};
  variants[derived] = {"mpi_redistribution, derived types", [&] { moves[1].run(); }};
  variants[packed] = {"mpi_redistribution, packed", [&] { moves[2].run(); }};
  variants[mpi_types] = {"MPI_Alltoallw, subarrays", [&] { other.alltoallw(); }};
  variants[mpi_packed] = {"pack, MPI_Alltoallv, unpack", [&] { other.packed_alltoallv(); }};
  variants[plain_types] = {"MPI_Alltoallw, pages of malloc", [&] { plain.alltoallw(); }};

  for (int round = -1; round < rounds; ++round)
    for (variant& v : variants) {
      const bool one_process = &v == &variants[in_one_process] || &v == &variants[flat_copy];
      sleep_until_all_are_here();
      MPI_Barrier(MPI_COMM_WORLD);
      double interval[2] = {-now(), 0}, all[2] = {};
      v.run();
      interval[1] = now();
      if (one_process && me != 0) interval[0] = interval[1] = -1e300;
      if (one_process) sleep_until_all_are_here();
      MPI_Allreduce(interval, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (round >= 0) v.seconds.push_back(all[0] + all[1]);
      if (round >= 0) continue;
      if (&v >= &variants[shared] && &v <= &variants[packed])
        check(v.name.c_str(), moves[static_cast<std::size_t>(&v - &variants[shared])].target<float>(me).data());
      if (&v >= &variants[mpi_types]) {
        const floats& target = &v == &variants[plain_types] ? plain.target() : other.target();
        check(v.name.c_str(), target.data());
        std::memset(target.data(), 0xff, target.size * sizeof(float));
      }
      if (&v == &variants[in_one_process] && me == 0) check(v.name.c_str(), alone->target<float>(0).data());
    }
  if (me != 0) return;

  const double types = variants[mpi_types].median(), better = std::min(types, variants[mpi_packed].median());
  std::printf("\n%s, %lld MiB, %d rounds\n%-36s %8s %8s %12s %12s %12s\n", pair.name, static_cast<long long>(mebibytes),
              rounds, "", "GB/s", "best", "to memcpy", "to Alltoallw", "to better");
  for (const variant& v : variants) {
    const double m = v.median(), best = *std::min_element(v.seconds.begin(), v.seconds.end());
    std::printf("%-36s %8.2f %8.2f %12.2f %12.2f %12.2f\n", v.name.c_str(), static_cast<double>(bytes) / m * 1e-9,
                static_cast<double>(bytes) / best * 1e-9, variants[own_copy].median() / m, types / m, better / m);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  return hp::mpi_main(argc, argv, [&] {
    const hp::mpi_world world(MPI_COMM_WORLD);
    if (world.processes() != processes) throw std::runtime_error("this bench needs 8 processes");
    int rounds = 15;
    std::vector<std::int64_t> sizes{64, 256};
    command_line::program app("Transports of moves between processes, beside MPI_Alltoallw.",
                              "bench_mpi_redistribution");
    app.add_option("rounds", rounds, "samples of each").check(command_line::whole(1, 1'000'000));
    app.add_option("sizes", sizes, "rows and columns").check(command_line::whole(8, 1 << 20));
    app.parse(argc, argv);
    const pair_of_layouts pairs[] = {{"row8 -> col8", grid(3), grid(0)}, {"2x4 -> 4x2", grid(1), grid(2)}};
    for (const pair_of_layouts& pair : pairs)
      for (const std::int64_t size : sizes) measure(world, pair, size, rounds);
  });
}
