// SPDX-License-Identifier: Apache-2.0
#pragma once
// The experts' feed-forward network of a mixture of experts in tiles: its memory, its kernels, and its taskflow in
// several orders. Each token goes to one expert.
//
//   dispatch         gather a row tile's tokens                                    AIV, 1 task for each row tile
//   first product    rows × [gate | up] of one column tile                        AIC, 8
//   activation       SwiGLU of that tile                                           AIV, 8
//   second product   rows × one column tile of the output weights                  AIC, 4
//   combine          weighted scatter to the tokens                                AIV, 1

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <hyperparallel/exec/kernel.hpp>
#include <hyperparallel/kernels/gemm.hpp>
#include <hyperparallel/kernels/swiglu.hpp>
#include <hyperparallel/taskflow/builder.hpp>

#if HYPERPARALLEL_BENCH_OPENBLAS
#include <cblas.h>
#elif __has_include(<Eigen/Core>)
#include <hyperparallel/world/eigen_kernels.hpp>
#endif

namespace bench {

namespace hp = hyperparallel;

#if HYPERPARALLEL_BENCH_OPENBLAS
/// Picks its kernels by the processor's name; OPENBLAS_CORETYPE in the environment overrules it.
inline const char* matrix_library() { return openblas_get_corename(); }
inline void one_thread_for_each_product() { openblas_set_num_threads(1); }
inline void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
                     std::int64_t lead_c) {
  const auto narrow = [](std::int64_t i) { return static_cast<blasint>(i); };
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, narrow(m), narrow(n), narrow(k), 1, a, narrow(k), b, narrow(n),
              0, c, narrow(lead_c));
}
inline constexpr const char* matrix_library_name = "OpenBLAS";
#else
inline const char* matrix_library() { return "as compiled"; }
inline void one_thread_for_each_product() {}
inline void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
                     std::int64_t lead_c) {
#if __has_include(<Eigen/Core>)
  hp::eigen_gemm(m, n, k, a, k, b, n, c, lead_c);
#else
  hp::gemm(m, n, k, a, k, b, n, c, lead_c);
#endif
}
#if __has_include(<Eigen/Core>)
inline constexpr const char* matrix_library_name = "Eigen";
#else
inline constexpr const char* matrix_library_name = "portable";
#endif
#endif

/// Elements; every product's right operand is stored tile by tile.
struct ffn {
  static constexpr std::int64_t experts = 8, row_tiles = 2, tile_rows = 128, hidden = 1024, intermediate = 2048,
                                tile_columns = 256;
  static constexpr int blocks = experts * row_tiles;
  static constexpr std::int64_t rows = blocks * tile_rows;
  static constexpr double products = 2.0 * rows * hidden * 2 * intermediate + 2.0 * rows * intermediate * hidden;
};

enum ffn_operation : int { dispatch, first_product, activation, second_product, combine, ffn_operations };
inline constexpr int tiles_of[ffn_operations] = {1, ffn::intermediate / ffn::tile_columns,
                                                 ffn::intermediate / ffn::tile_columns, ffn::hidden / ffn::tile_columns,
                                                 1};
inline constexpr const char* ffn_operation_name[ffn_operations] = {"dispatch", "first product", "activation",
                                                                   "second product", "combine"};

constexpr hp::resource resource_of(int operation) {
  return operation == first_product || operation == second_product ? hp::resource::aic : hp::resource::aiv;
}

/// Number of a task among those of all operations, the same in every order. `item` = block · tiles + tile.
constexpr int task_key(int operation, int item) {
  for (int o = 0; o < operation; ++o) item += ffn::blocks * tiles_of[o];
  return item;
}
inline constexpr int ffn_tasks = task_key(ffn_operations, 0);

class ffn_layer {
 public:
  ffn_layer() {
    for (std::int64_t r = 0; r < ffn::rows; ++r) {
      token_.push_back(r * 733 % ffn::rows);
      weight_.push_back(0.25F + 0.25F * static_cast<float>(r % 4));
    }
  }

  /// How often vector work is done over, at least once; a broken part takes that share of a tile's rows. Doing it again
  /// changes no result.
  double passes = 1;

  template <class Executor>
  void bind(Executor& x) {
    x.bind(dispatch, [](const hp::kernel_call& c) { self(c).run_dispatch(c.item); }, this);
    x.bind(first_product, [](const hp::kernel_call& c) { self(c).run_first_product(c.item); }, this);
    x.bind(activation, [](const hp::kernel_call& c) { self(c).run_activation(c.item); }, this);
    x.bind(second_product, [](const hp::kernel_call& c) { self(c).run_second_product(c.item); }, this);
    x.bind(combine, [](const hp::kernel_call& c) { self(c).run_combine(c.item); }, this);
  }

  const std::vector<float>& out() const { return out_; }
  void forget() {
    for (std::vector<float>* v : {&dispatched_, &packed_, &activated_, &projected_, &out_})
      std::fill(v->begin(), v->end(), std::nanf(""));
  }

  /// Largest error of three tokens against the definition in double, relative to the largest element.
  double error() const {
    double worst = 0, largest = 0;
    for (const std::int64_t r : {std::int64_t{0}, ffn::rows / 2 + 5, ffn::rows - 1}) {
      const std::int64_t expert = r / (ffn::row_tiles * ffn::tile_rows);
      std::vector<double> hidden(ffn::intermediate), expected(ffn::hidden);
      for (std::int64_t i = 0; i < ffn::intermediate; ++i) {
        const std::int64_t tile = i / ffn::tile_columns, column = i % ffn::tile_columns;
        const float* const w =
            first_.data() + (expert * tiles_of[first_product] + tile) * ffn::hidden * 2 * ffn::tile_columns;
        double gate = 0, up = 0;
        for (std::int64_t h = 0; h < ffn::hidden; ++h) {
          const double x = in_[index(token_[index(r)] * ffn::hidden + h)];
          gate += x * w[h * 2 * ffn::tile_columns + column];
          up += x * w[h * 2 * ffn::tile_columns + ffn::tile_columns + column];
        }
        hidden[index(i)] = gate / (1 + std::exp(-gate)) * up;
      }
      for (std::int64_t j = 0; j < ffn::hidden; ++j) {
        const std::int64_t tile = j / ffn::tile_columns, column = j % ffn::tile_columns;
        const float* const w =
            second_.data() + (expert * tiles_of[second_product] + tile) * ffn::intermediate * ffn::tile_columns;
        double sum = 0;
        for (std::int64_t i = 0; i < ffn::intermediate; ++i)
          sum += hidden[index(i)] * w[i * ffn::tile_columns + column];
        sum *= weight_[index(r)];
        largest = std::max(largest, std::abs(sum));
        worst = std::max(worst, std::abs(sum - out_[index(token_[index(r)] * ffn::hidden + j)]));
      }
    }
    return worst / largest;
  }

 private:
  static ffn_layer& self(const hp::kernel_call& c) { return *static_cast<ffn_layer*>(c.user); }
  static constexpr std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static std::vector<float> numbers(std::int64_t n) {
    std::vector<float> v(index(n));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = (static_cast<float>(i % 1009) / 1009 - 0.5F) * 0.1F;
    return v;
  }

  template <class Work>
  void repeat(const Work& work) const {
    for (double left = passes; left > 0; left -= 1)
      work(std::min(ffn::tile_rows, static_cast<std::int64_t>(std::ceil(left * ffn::tile_rows))));
  }

  void run_dispatch(int block) {
    const std::int64_t row = block * ffn::tile_rows;
    repeat([&](std::int64_t rows) {
      for (std::int64_t i = row; i < row + rows; ++i)
        std::copy_n(in_.data() + token_[static_cast<std::size_t>(i)] * ffn::hidden, ffn::hidden,
                    dispatched_.data() + i * ffn::hidden);
    });
  }

  void run_first_product(int item) {
    const std::int64_t block = item / tiles_of[first_product], tile = item % tiles_of[first_product],
                       expert = block / ffn::row_tiles, columns = 2 * ffn::tile_columns;
    multiply(ffn::tile_rows, columns, ffn::hidden, dispatched_.data() + block * ffn::tile_rows * ffn::hidden,
             first_.data() + (expert * tiles_of[first_product] + tile) * ffn::hidden * columns,
             packed_.data() + item * ffn::tile_rows * columns, columns);
  }

  void run_activation(int item) {
    const std::int64_t block = item / tiles_of[activation], tile = item % tiles_of[activation];
    repeat([&](std::int64_t rows) {
      hp::swiglu(rows, ffn::tile_columns, packed_.data() + item * ffn::tile_rows * 2 * ffn::tile_columns,
                 2 * ffn::tile_columns,
                 activated_.data() + block * ffn::tile_rows * ffn::intermediate + tile * ffn::tile_columns,
                 ffn::intermediate);
    });
  }

  void run_second_product(int item) {
    const std::int64_t block = item / tiles_of[second_product], tile = item % tiles_of[second_product],
                       expert = block / ffn::row_tiles;
    multiply(ffn::tile_rows, ffn::tile_columns, ffn::intermediate,
             activated_.data() + block * ffn::tile_rows * ffn::intermediate,
             second_.data() + (expert * tiles_of[second_product] + tile) * ffn::intermediate * ffn::tile_columns,
             projected_.data() + block * ffn::tile_rows * ffn::hidden + tile * ffn::tile_columns, ffn::hidden);
  }

  void run_combine(int block) {
    repeat([&](std::int64_t rows) {
      for (std::int64_t r = block * ffn::tile_rows; r < block * ffn::tile_rows + rows; ++r) {
        const float* const from = projected_.data() + r * ffn::hidden;
        float* const to = out_.data() + token_[index(r)] * ffn::hidden;
        for (std::int64_t h = 0; h < ffn::hidden; ++h) to[h] = weight_[index(r)] * from[h];
      }
    });
  }

  std::vector<std::int64_t> token_;
  std::vector<float> weight_;
  std::vector<float> in_ = numbers(ffn::rows * ffn::hidden),
                     first_ = numbers(ffn::experts * ffn::hidden * 2 * ffn::intermediate),
                     second_ = numbers(ffn::experts * ffn::intermediate * ffn::hidden),
                     dispatched_ = numbers(ffn::rows * ffn::hidden),
                     packed_ = numbers(ffn::rows * 2 * ffn::intermediate),
                     activated_ = numbers(ffn::rows * ffn::intermediate), projected_ = numbers(ffn::rows * ffn::hidden),
                     out_ = numbers(ffn::rows * ffn::hidden);
};

/// operations: one after the other, with a barrier between. row_tiles: one row tile after the other. lagged: likewise,
/// but the second product and the combine of a row tile come after the first product of the next one.
enum class ffn_order { operations, row_tiles, lagged };

/// A builder; `duration` is picoseconds by `task_key`.
struct ffn_flow {
  ffn_order order;
  const std::vector<std::int64_t>& duration;

  template <class Flow>
  void operator()(Flow& f) const {
    hp::add_event(f, 0, order == ffn_order::operations ? ffn_operations - 1 : ffn::blocks * events_of_a_block);
    switch (order) {
      case ffn_order::operations:
        for (int o = 0; o < ffn_operations; ++o)
          for (int b = 0; b < ffn::blocks; ++b) add(f, o, b);
        return;
      case ffn_order::row_tiles:
        for (int b = 0; b < ffn::blocks; ++b)
          for (int o = 0; o < ffn_operations; ++o) add(f, o, b);
        return;
      case ffn_order::lagged:
        add(f, dispatch, 0);
        for (int b = 0; b <= ffn::blocks; ++b) {
          if (b + 1 < ffn::blocks) add(f, dispatch, b + 1);
          for (const int o : {first_product, activation})
            if (b < ffn::blocks) add(f, o, b);
          for (const int o : {second_product, combine})
            if (b > 0) add(f, o, b - 1);
        }
        return;
    }
  }

 private:
  static constexpr int events_of_a_block = 1 + tiles_of[first_product] + 2;

  /// The event that a tile of `operation` signals, of `block`.
  static constexpr int event_after(int operation, int tile, int block) {
    const int first = block * events_of_a_block;
    switch (operation) {
      case dispatch:
        return first;
      case first_product:
        return first + 1 + tile;
      case activation:
        return first + 1 + tiles_of[first_product];
      default:
        return first + 2 + tiles_of[first_product];
    }
  }

  template <class Flow>
  void add(Flow& f, int operation, int block) const {
    const bool barriers = order == ffn_order::operations;
    for (int t = 0; t < tiles_of[operation]; ++t) {
      const int item = block * tiles_of[operation] + t;
      hp::add_task(f, resource_of(operation), 0, duration[static_cast<std::size_t>(task_key(operation, item))],
                   operation, item);
      if (operation > dispatch) hp::add_wait(f, barriers ? operation - 1 : event_after(operation - 1, t, block));
      if (operation < combine) hp::add_signal(f, barriers ? operation : event_after(operation, t, block));
    }
  }
};

}  // namespace bench
