// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a sharded program on the processes of an MPI world: each has the memory of its ranks, computes what they
// compute, and exchanges messages while it does.
//
//   hp::mpi_world world(MPI_COMM_WORLD);
//   hp::mpi_program_world<float> program(world, hp::partition(graph, strategy));
//   program.set("x", x);                                    // whole tensors, the same on every process
//   program.run_step(1, [&](int micro_batch) { … });        // collective, as `get`, `loss` and `monitor` are
//   program.loss(), program.get("gradient(weight)")         // the same on every process
//   hp::model_run<float, hp::mpi_program_world<float>> run(world, graph, strategy);
//
// Laws: every value has the bits that program_world gives it, whatever ranks live on which processes, and `received` is
// the same number. Construction, runs and reading are collective; each begins with an agreement, and runs end with one,
// so that a process that does or has something else, fails, dies or hangs is named to all processes, by the same
// mpi_error. After an exception of a kernel the world can go on; after a message that did not come, or a silent
// process, it is broken. A process waits for each message as long as for an agreement, so that the world's timeout has
// to be longer than the computations by which processes may differ. Of the options `execution` says nothing
// here: kernels run on the thread that calls, those of the process's ranks one after the other. With `checks` what is found
// (world/corruption_checks.hpp) ends the run on all processes alike, as a kernel that throws does, with rank, task and tensor.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hyperparallel/exec/light_vector.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>
#include <hyperparallel/mpi/program_run.hpp>
#include <hyperparallel/mpi/program_statement.hpp>
#include <hyperparallel/world/model_run.ipp>
#include <hyperparallel/world/program_tasks.hpp>
#include <hyperparallel/world/program_values.ipp>
#include <hyperparallel/world/task_checks.hpp>

namespace hyperparallel { inline namespace v0_2 {

template <class T>
class mpi_program_world : public program_values<mpi_program_world<T>, T> {
  using values = program_values<mpi_program_world<T>, T>;

 public:
  /// Collective. Throws mpi_error on all processes alike, with what is wrong with the program, or in what it differs
  /// from that of process 0.
  mpi_program_world(const mpi_world& world, const sharded_program& p, const program_options& options = {})
      : mpi_program_world(world, [&] { return p; }, options) {}
  /// The same where `make()` returns the program; what it throws becomes the error of all.
  template <class Make>
    requires std::is_invocable_r_v<sharded_program, const Make&>
  mpi_program_world(const mpi_world& world, const Make& make, const program_options& options = {})
      : mpi_program_world(world, "program " + std::to_string(world.next_number()), make, options) {}

  /// Messages of a broken world may still arrive, so that memory is left to the end of the job.
  ~mpi_program_world() {
    if (!world_.channel().broken()) return;
    static_cast<void>(this->memory_.release());
    for (std::unique_ptr<detail::mpi_program_run>& r : run_) static_cast<void>(r.release());
  }

  const mpi_world& world() const { return world_; }
  /// Whether the messages of all phases that have run so far were proved; not where a run has more than 2¹⁸ of them.
  bool messages_are_proved() const {
    return std::all_of(run_.begin(), run_.end(), [](const auto& r) { return r->is_proved(); });
  }
  /// Bytes of this process beside the memory of its ranks, for terms of sums, of all phases that have run.
  std::int64_t staging_bytes() const {
    std::int64_t bytes = 0;
    for (const std::unique_ptr<detail::mpi_program_run>& r : run_) bytes += r->staging_bytes();
    return bytes;
  }

 private:
  friend values;

  template <class Make>
  mpi_program_world(const mpi_world& world, const std::string& name, const Make& make,
                    const program_options& options) try
      : values(agreed_program(world, name, make, options), world.hosted(), options.overflow),
        world_(world),
        name_(name),
        kernels_(options.kernels != nullptr ? options.kernels : &kernel_of<T>) {
    if (options.checks.any()) {
      checks_ = std::make_unique<detail::task_checks>(this->program(), this->lowered_.pulls, this->slots_,
                                                      *this->memory_, options.checks);
      this->keep_sums(checks_->sums());
    }
    world.channel().agree(name + ", memory");
  } catch (const mpi_error&) {
    throw;
  } catch (...) {
    world.channel().agree(name + ", memory", {}, detail::complaint_of([] { throw; }));
    throw;
  }

  template <class Make>
  static lowered_program agreed_program(const mpi_world& world, const std::string& name, const Make& make,
                                        const program_options& options) {
    lowered_program p;
    std::string statement;
    const std::string complaint = detail::complaint_of([&] {
      p = detail::lowered_for(make(), detail::data_type_of<T>, options);
      if (const int n = ranks_of(p.program); n != world.ranks())
        throw program_error("the program is for " + std::to_string(n) + " ranks, the world has " +
                            std::to_string(world.ranks()));
      statement = std::string("elements ") + name_of(detail::data_type_of<T>) + "\nlookahead " +
                  std::to_string(options.lookahead) + "\nvector queue " + std::to_string(options.vector_queue ? 1 : 0) +
                  "\noverflow " + std::to_string(static_cast<int>(options.overflow)) + "\nchecks " +
                  text_of(options.checks) + "\n" + detail::statement_of(p.program, p.pulls.moves);
    });
    world.channel().agree(name, statement, complaint);
    return p;
  }

  void set_training_step(std::int64_t step) { training_step_ = step; }
  int least_of_all(int here) const { return world_.channel().least_of_all(here); }

  run_result run(unsigned phases) {
    detail::mpi_channel& channel = world_.channel();
    const std::string round = name_ + ", run " + std::to_string(++runs_);
    detail::mpi_program_run* now = nullptr;
    const std::string complaint = detail::complaint_of([&] {
      now = &run_of(phases);
      this->check_reads(now->reads());
    });
    channel.agree(round, "phases " + std::to_string(phases) + "\nstep " + std::to_string(training_step_), complaint);
    this->begin_run(*now);
    const auto [what, is_final] = now->run(training_step_, channel.timeout());
    if (what.empty() || is_final)
      channel.agree_after_messages(round + ", end", what);
    else
      channel.agree(round + ", end", {}, what);
    this->end_run(*now);
    return run_result::complete;
  }

  detail::mpi_program_run& run_of(unsigned phases) {
    for (const std::unique_ptr<detail::mpi_program_run>& r : run_)
      if (r->phases() == phases) return *r;
    if (this->lowered_.find_run(phases) == nullptr) add_run(this->lowered_, phases);
    return *run_.emplace_back(
        std::make_unique<detail::mpi_program_run>(world_, this->lowered_, *this->lowered_.find_run(phases),
                                                  *this->memory_, kernels_, detail::data_type_of<T>, checks_.get()));
  }

  /// What is on its way when a value is read.
  struct reading {
    detail::mpi_messages messages;
    detail::light_vector<gathered_block> block{};
    std::vector<std::int64_t> place{};  ///< of each block in staging
    arena staging{};

    reading(const detail::mpi_channel& channel, bool synchronous, bool has_sums)
        : messages(channel, synchronous, has_sums) {}
  };

  /// Each block that is to be gathered goes from the process that has it to all others. If messages do not come, those
  /// who have theirs hear of it in their next collective call.
  template <class Choose, class U>
  void read(int t, const Choose& choose, U* whole) const {
    detail::mpi_channel& channel = world_.channel();
    const std::string round = name_ + ", read " + std::to_string(++reads_);
    int value = -1;
    std::unique_ptr<reading> way;
    std::string complaint = detail::complaint_of([&] {
      value = choose();
      this->check_bits(value);
      way = way_of(value);
    });
    channel.agree(round, this->label(t) + ", value " + std::to_string(value), complaint);
    complaint = detail::complaint_of([&] {
      way->messages.start(detail::run_health::sound);
      way->messages.finish(channel.timeout());
    });
    if (!complaint.empty()) {
      static_cast<void>(way.release());
      channel.agree_after_messages(round, complaint);
    }
    if (checks_ != nullptr) {  // one that has something else must not go on alone
      const int damaged = way->messages.damaged();
      channel.agree(round + ", end", {},
                    damaged < 0 ? "" : corruption_error(damaged, this->program().graph.name_of_tensor(t)).what());
    }
    this->memory_->gather(value, whole, way->block, [&](std::size_t i, int rank) -> const std::byte* {
      return world_.hosts(rank) ? this->memory_->block(value, rank) : way->staging.data() + way->place[i];
    });
  }

  std::unique_ptr<reading> way_of(int value) const {
    auto way = std::make_unique<reading>(world_.channel(), world_.options().synchronous_sends,
                                         checks_ != nullptr && checks_->checks_moves());
    way->block = this->memory_->gathered_blocks(value);
    strided_copy whole;
    whole.run = local_bytes(this->program(), value);
    for (const gathered_block& b : way->block) {
      const int from = world_.process_of(b.rank);
      way->place.push_back(from == world_.process() ? 0 : way->messages.receive_staged(from, whole.run, b.rank));
      for (int p = 0; from == world_.process() && p < world_.processes(); ++p)
        if (p != from) way->messages.send(p, whole, this->memory_->block(value, b.rank), b.rank);
    }
    way->staging = arena(way->messages.staging_bytes());
    way->messages.prepare(mpi_transport::derived_types, way->staging.data());
    return way;
  }

  mpi_world world_;
  std::string name_;
  kernel_choice kernels_ = nullptr;
  std::int64_t training_step_ = 1;
  int runs_ = 0;
  mutable int reads_ = 0;
  std::unique_ptr<detail::task_checks> checks_;  ///< none where nothing is checked
  std::vector<std::unique_ptr<detail::mpi_program_run>> run_;
};

}}  // namespace hyperparallel::v0_2
