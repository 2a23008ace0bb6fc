// SPDX-License-Identifier: Apache-2.0
// The matrix kernel on small tiles, beside a plain triple loop with the same order of sums, and Eigen's where it is
// installed. Arguments are m, n, k.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include <hyperparallel/kernels/gemm.hpp>
#if __has_include(<Eigen/Core>)
#include <hyperparallel/world/eigen_kernels.hpp>
#endif

namespace {

namespace hp = hyperparallel;

void plain_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lead_a, const float* b,
                std::int64_t lead_b, float* c, std::int64_t lead_c, hp::gemm_mode) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) c[i * lead_c + j] = 0;
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j) c[i * lead_c + j] += a[i * lead_a + p] * b[p * lead_b + j];
  }
}

using gemm_function = void (*)(std::int64_t, std::int64_t, std::int64_t, const float*, std::int64_t, const float*,
                               std::int64_t, float*, std::int64_t, hp::gemm_mode);

template <gemm_function Gemm>
void multiply(benchmark::State& state) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  std::vector<float> a(static_cast<std::size_t>(m * k), 0.5F), b(static_cast<std::size_t>(k * n), 0.25F);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  for (auto _ : state) {
    Gemm(m, n, k, a.data(), k, b.data(), n, c.data(), n, hp::gemm_mode::overwrite);
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
  }
  state.counters["flop/s"] =
      benchmark::Counter(static_cast<double>(2 * m * n * k * state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(multiply<plain_gemm>)->Name("plain_loop")->Args({32, 64, 256})->Args({128, 256, 256});
BENCHMARK(multiply<hp::gemm>)->Name("gemm")->Args({32, 64, 256})->Args({128, 256, 256});
#if __has_include(<Eigen/Core>)
BENCHMARK(multiply<hp::eigen_gemm>)->Name("eigen_gemm")->Args({32, 64, 256})->Args({128, 256, 256});
#endif

}  // namespace
